"""Transactions of a served broker's producers: the first half of one, its end, and what becomes of those that nobody
ends (``TransactionalMessageServiceImpl``; spec grpc 7). Every 30 s a broker looks at the halves that are open: the
clients of a producer's group are asked for what is older than 6 s, at most 15 times, and then it is dropped.
"""

from collections import deque

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.wire.messages import CheckHalf, EndHalf, Reply, SendHalf
from rocketmq_selfbalance.wire.sending import PREPARED, refusal, write
from rocketmq_selfbalance.wire.served import HalfMessage, Served
from rocketmq_selfbalance.wire.stored_messages import Record, Stored, host_of, parse_properties, properties_text

CHECK = "check halves"
"""Name of a timer."""

_TRANSACTION = "TRAN_MSG\x01true\x02"
_MOST_HALVES = 10_000


def send_half(served: Served, now: Time, sender: str, message: SendHalf, out: Outbox) -> None:
    """The first half of a transaction: nobody sees it before `end_half`."""
    given, store = message.message, served.store
    plain = given._replace(sys_flag=given.sys_flag & ~PREPARED, properties=given.properties.replace(_TRANSACTION, ""))
    refused = refusal(served, now, plain, [(given.flag, given.body, given.properties)], out)
    if refused is not None:
        out.send(sender, Reply(message.correlation, refused[0], remark=refused[1]))
        return
    number = store.half_count
    store.half_count += 1
    record = Record(
        given.topic,
        given.queue_number,
        given.flag,
        plain.sys_flag,
        given.born,
        host_of(sender),
        0,
        given.properties,
        given.body,
    )
    store.halves[number] = HalfMessage(record, served.epoch(now), sender)
    if len(store.halves) > _MOST_HALVES:
        del store.halves[next(iter(store.halves))]
    fields = {"half": str(number), "queueOffset": str(number), "queueId": str(given.queue_number)}
    out.send(sender, Reply(message.correlation, codes.SUCCESS, fields))


def end_half(served: Served, now: Time, sender: str, message: EndHalf, out: Outbox) -> None:
    """A transaction is committed, rolled back, or still open (None)."""
    halves = served.store.halves
    half = halves.get(message.half)
    if half is not None and message.commit is not None:
        del halves[message.half]
        if message.commit:
            record = half.record
            text = record.properties + properties_text({"__transactionId__": message.id})
            deque(write(served, now, record, [(record.flag, record.body, text)], out), maxlen=0)
            served.arrived(now, record.topic, record.queue_number, out)
    out.send(sender, Reply(message.correlation, codes.SUCCESS if half is not None else codes.SYSTEM_ERROR))


def check(served: Served, now: Time, out: Outbox) -> None:
    """One look at all halves. The queue of halves is read from its front: what was asked for goes to its end, and a
    young one without a time of its own ends the look."""
    wire, halves, wall = served.wire, served.store.halves, served.epoch(now)
    out.set_timer(CHECK, now + wire.transaction_check_interval_ms)
    for number, half in list(halves.items()):
        if half.checks >= wire.transaction_check_max:
            del halves[number]
            continue
        properties, age = parse_properties(half.record.properties), wall - half.record.born
        immune = properties.get("CHECK_IMMUNITY_TIME_IN_SECONDS")
        if immune is not None and immune.isdecimal():
            if age <= int(immune) * 1000:
                continue
        elif 0 <= age <= wire.transaction_timeout_ms:
            break
        del halves[number]
        id = properties.get("UNIQ_KEY", "")
        properties |= {"__transactionId__": id, "TRANSACTION_CHECK_TIMES": str(half.checks + 1)}
        record = half.record._replace(properties=properties_text(properties))
        halves[number] = half._replace(record=record, checks=half.checks + 1)
        group = properties.get("PGROUP", "")
        if half.asker in served.producers.get(group, ()):  # by a heartbeat of the proxy
            stored = Stored(record, number, 0, 0, half.stored, served.store.host)
            out.send(half.asker, CheckHalf(number, group, id, stored))
