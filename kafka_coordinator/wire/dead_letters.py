"""Dead letters of share groups (KIP-1191, from 4.4 on): a record each in the topic that the group names, with headers
that say where the dead record is and why it is dead. Its key and value come along where the group wants them, its own
headers do not (so did 4.4.0, asked).

Nothing is written to a topic that does not exist or has not ``errors.deadletterqueue.group.enable``; the record is
archived all the same. Brokers here create no such topic (``errors.deadletterqueue.auto.create.topics.enable``, off by
default in Kafka). In Kafka `ShareGroupDLQManager`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.share.partition import EXHAUSTED, REJECTED, DeadLetter
from kafka_coordinator.share.settings import DEAD_LETTERS
from kafka_coordinator.wire.records.batches import NewRecord, batch, header_of
from kafka_coordinator.wire.records.contents import UnreadableError, keys_and_values
from kafka_coordinator.wire.records.fetch import wake
from kafka_coordinator.wire.records.storage import GROUP_CONFIG, TOPIC_CONFIG
from kafka_coordinator.wire.state import BrokerState
from protocols.engine.nodes import Outbox, Time

COPIES: Final = "errors.deadletterqueue.copy.record.enable"
ENABLED: Final = "errors.deadletterqueue.group.enable"
"""A setting of the group's, beside `DEAD_LETTERS`, and one of the topic's."""

MESSAGES: Final[Mapping[str, str]] = {
    REJECTED: "Offset rejected by client.",
    EXHAUSTED: "Offset delivery count exceeded the threshold.",
}


class LettersWritten(NamedTuple):
    """A broker has written dead letters to partitions that others lead: fetches may wait for them."""

    partitions: tuple[Partition, ...]


def bury(
    state: BrokerState, now: Time, group: str, partition: Partition, letter: DeadLetter, out: Outbox
) -> Partition | None:
    """Write the records to the group's topic; to which partition, None where it cannot be done."""
    configs = state.storage.config(GROUP_CONFIG, group)
    topic = configs.get(DEAD_LETTERS, "")
    leaders = state.cluster.topics.get(topic, ())
    if not leaders or state.storage.config(TOPIC_CONFIG, topic).get(ENABLED) != "true":
        return None
    piece, number = letter.piece, partition[1] % len(leaders)
    copies = _copies(state, partition, piece.first, piece.last) if configs.get(COPIES) == "true" else {}
    time = state.storage.unix_ms(now)
    none = NewRecord(None)
    records = []
    for offset in range(piece.first, piece.last + 1):
        copied = copies.get(offset, none)
        headers: list[tuple[str, bytes | None]] = [
            ("__dlq.errors.topic", partition[0].encode()),
            ("__dlq.errors.partition", b"%d" % partition[1]),
            ("__dlq.errors.offset", b"%d" % offset),
            ("__dlq.errors.group", group.encode()),
            ("__dlq.errors.delivery.count", b"%d" % piece.entry.deliveries),
            ("__dlq.errors.message", MESSAGES[letter.cause].encode()),
        ]
        records.append(NewRecord(copied.value, copied.key, headers, time))
    log, content = state.storage.log(topic, number), batch(records)
    before = log.cost
    log.append(content, header_of(content))
    state.storage.change(log, before)
    state.storage.trim(topic, log)
    leader, written = leaders[number], LettersWritten(((topic, number),))
    if leader == state.name:
        wake(state, now, written.partitions, out)
    elif leader:
        out.send(leader, written)
    return topic, number


def _copies(state: BrokerState, partition: Partition, first: int, last: int) -> Mapping[int, NewRecord]:
    """Offset to record, of those that can be read."""
    found: dict[int, NewRecord] = {}
    for each in state.storage.log(*partition).batches_from(first, None, last):
        try:
            for delta, record in keys_and_values(each.content, header_of(each.content)):
                found[each.base_offset + delta] = record
        except UnreadableError:
            continue
    return found
