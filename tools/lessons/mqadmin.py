"""The output of mqadmin for the simulated cluster, in the layout of 5.3.3 (spec 9).

Each command is a function of what brokers and clients hold now. Where the real tool asks one broker at random, the
caller says which. Hosts are the names of nodes and ports do not exist here: an address reads ``c1:0``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.java import Queue, entry_order, string_entry_order, string_hash
from rocketmq_selfbalance.broker.state import Broker
from rocketmq_selfbalance.broker.store import StoredQueue
from rocketmq_selfbalance.messages.nameserver import Route, subscribe_queues
from rocketmq_selfbalance.strategies import Averagely

VERSION = "V5_3_3"
NOBODY = "N/A"


class _Row(NamedTuple):
    queue: Queue
    broker_offset: int
    consumer_offset: int
    in_flight: int
    last_time: str


def consumer_progress(
    group: str, brokers: Iterable[Broker], now: Time, owners: Mapping[Queue, str] | None = None, epoch_ms: Time = 0.0
) -> str:
    """``consumerProgress -g GROUP``; with ``owners`` (queue to client id) as with ``-s true``.

    ``now``: milliseconds of virtual time; ``epoch_ms``: milliseconds from 1970 to the start of the run, for the
    times of records. The tool's records per second are not modelled and read 0.00.
    """
    shown = [] if owners is None else ["#Client IP"]
    headings = ["#Broker Offset", "#Consumer Offset", *shown, "#Diff", "#Inflight"]
    lines = [f"{'#Topic':<64}  {'#Broker Name':<32}  {'#QID':<4}  {_cells(headings)}#LastTime"]
    rows = sorted(row for broker in brokers for row in _rows(group, broker, now, epoch_ms))
    for row in rows:
        queue, end, offset, in_flight, last_time = row
        address = [] if owners is None else [_address(owners.get(queue))]
        cells = _cells([end, offset, *address, end - offset, in_flight])
        lines.append(f"{queue.topic[:64]:<64}  {queue.broker[:32]:<32}  {queue.number:<4}  {cells} {last_time}")
    behind = sum(row.broker_offset - row.consumer_offset for row in rows)
    lines += ["", "Consume TPS: 0.00", f"Consume Diff Total: {behind}"]
    lines += [f"Consume Inflight Total: {sum(row.in_flight for row in rows)}", ""]
    return "\n".join(lines)


def _rows(group: str, broker: Broker, now: Time, epoch_ms: Time) -> Iterator[_Row]:
    """Queues of the topics of which the group has offsets here and, while it is online, to which it subscribes."""
    members = broker.consumers.groups.get(group)
    for topic in broker.offsets.topics_of(group):
        config = broker.disk.topics.configs.get(topic)
        if config is None or (members is not None and topic not in members.topics):
            continue
        for number in range(config.read):
            offset = max(broker.offsets.query(group, topic, number), 0)
            stored = broker.disk.store.queue(topic, number)
            end = 0 if stored is None else stored.max_offset(now)
            in_flight = max(broker.offsets.query_pull(group, topic, number) - offset, 0)
            last_time = NOBODY if stored is None else _time(stored, offset - 1, epoch_ms)
            yield _Row(Queue(topic, broker.name, number), end, offset, in_flight, last_time)


def _time(stored: StoredQueue, offset: int, epoch_ms: Time) -> str:
    written = stored.written_at(offset)
    if written is None:
        return NOBODY
    return datetime.fromtimestamp((epoch_ms + written) // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _cells(values: Sequence[object]) -> str:
    """Columns of 20 characters: two blanks behind the two offsets, one behind the others, none behind the last."""
    *first, last = (f"{value!s:<20}" for value in values)
    return "".join(each + ("  " if number < 2 else " ") for number, each in enumerate(first)) + last


def _address(client_id: str | None) -> str:
    return NOBODY if client_id is None else client_id.partition("@")[0]


def consumer_connection(group: str, broker: Broker) -> str | None:
    """``consumerConnection -g GROUP`` as this broker answers it; None where it knows nobody of the group."""
    members = broker.consumers.groups.get(group)
    if members is None:
        return None
    lines = [f"{'#ClientId':<36} {'#ClientAddr':<22} {'#Language':<10} #Version"]
    for channel, known in members.channels.items():
        lines.append(f"{known.client_id:<36} {f'{channel}:0':<22} {'JAVA':<10} {VERSION}")
    lines += ["", "Below is subscription:", f"{'#Topic':<20} #SubExpression"]
    lines += [f"{topic.topic:<20} {topic.expression}" for topic in members.topics.values()]
    lines += ["", f"ConsumeType: {members.consume_type}", f"MessageModel: {members.message_model}"]
    lines += [f"ConsumeFromWhere: {members.consume_from_where}", ""]
    return "\n".join(lines)


def allocate_mq(topic: str, route: Route, ids: Sequence[str]) -> str:
    """``allocateMQ -t TOPIC -i ID,ID``: a preview by AVG which sorts neither the ids nor the queues.

    Its queues come in the order of a Java hash set, which for equal hashes follows the name server's (a hash table's,
    too), so that it mostly is not what consumers will compute.
    """
    by_broker = {data.broker: data for data in route.queues}
    as_answered = Route(tuple(by_broker[name] for name in string_entry_order(list(by_broker))), route.brokers)
    queues = entry_order(subscribe_queues(topic, as_answered), _hash_code)
    shares: dict[str, list[dict[str, str | int]]] = {}
    for id in ids:
        taken = Averagely().positions(id, queues, ids)
        shares[id] = [_json(queues[position]) for position in taken]
    result = {id: shares[id] for id in string_entry_order(list(shares))}
    return json.dumps({"result": result}, ensure_ascii=False, separators=(",", ":")) + "\n"


def _json(queue: Queue) -> dict[str, str | int]:
    return {"brokerName": queue.broker, "queueId": queue.number, "topic": queue.topic}


def _hash_code(queue: Queue) -> int:
    return (31 * (31 * (31 + string_hash(queue.broker)) + queue.number) + string_hash(queue.topic)) & 0xFFFFFFFF
