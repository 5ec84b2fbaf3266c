"""Where to read: the committed offsets of newly owned partitions, else where ``auto.offset.reset`` says (spec 4.3).

In Kafka `ConsumerCoordinator.initWithCommittedOffsetsIfNeeded` (formerly `refreshCommittedOffsetsIfNeeded`),
`OffsetFetchResponseHandler` and `OffsetFetcher.resetPositionsIfNeeded`.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Final

from kafka_coordinator.assignors.inputs import Partition, queue_of
from kafka_coordinator.consumer import lookup, reading, requests, states
from kafka_coordinator.consumer.settings import Load
from kafka_coordinator.consumer.state import ConsumerState
from kafka_coordinator.messages import NO_OFFSET, OffsetFetch, OffsetFetchAnswer
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Position
from protocols.load import Reading, quickly_made

_position, _reading = quickly_made(Position), quickly_made(Reading)

REACTIONS: Final[Mapping[str, str]] = {
    "COORDINATOR_LOAD_IN_PROGRESS": "again",
    "UNSTABLE_OFFSET_COMMIT": "again",
    "STALE_MEMBER_EPOCH": "again",
    "COORDINATOR_NOT_AVAILABLE": "rediscover",
    "NOT_COORDINATOR": "rediscover",
}
"""Error of an OffsetFetch to what the client does; every other error makes poll() throw."""


def fetch(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Ask the coordinator for the committed offsets of owned partitions without a position."""
    if c.subscription.awaits_offsets or c.lookup.coordinator is None:
        return
    c.subscription.awaits_offsets = True
    asked = c.subscription.unpositioned
    message = OffsetFetch(requests.number(c), c.config.group, asked)
    if c.kip848 is not None and c.membership.generation > 0:
        message = message._replace(member_id=c.membership.member_id, generation=c.membership.generation)
    requests.send(c, now, c.lookup.coordinator, message, out, about=asked)


def answered(c: ConsumerState, now: Time, answer: OffsetFetchAnswer, about: tuple[Partition, ...], out: Outbox) -> None:
    """The committed offsets: reading begins there."""
    c.subscription.awaits_offsets = False
    c.joining.failures = 0
    error = answer.error
    if error == "NONE":
        error = next((each for _, _, each in answer.offsets if each != "NONE"), "NONE")
    if error == "NONE":
        _begin(c, now, answer, out)
    elif error not in REACTIONS:
        c.user.fatal = error
    else:
        if REACTIONS[error] == "rediscover":
            if c.kip848 is None:
                lookup.forget(c)
            else:
                c.lookup.coordinator = None
        failed(c, now, out)


def failed(c: ConsumerState, now: Time, out: Outbox) -> None:
    c.subscription.awaits_offsets = True
    out.set_timer(states.POSITIONS, now + c.config.settings.retry_backoff_ms)


def retry(c: ConsumerState) -> None:
    c.subscription.awaits_offsets = False


def _begin(c: ConsumerState, now: Time, answer: OffsetFetchAnswer, out: Outbox) -> None:
    missing = set(c.subscription.unpositioned)
    reading.advance(c, now, out)
    for partition, committed, _ in answer.offsets:
        if partition in missing:
            missing.discard(partition)
            if committed != NO_OFFSET:
                _read_from(c, now, partition, committed, "committed", out)
            else:
                _reset(c, now, partition, out)
    c.subscription.unpositioned = tuple([each for each in c.subscription.unpositioned if each in missing])
    reading.resume(c, now, out)


def begin_anew(c: ConsumerState, now: Time, before: Load, out: Outbox) -> None:
    """Topics were created again since ``before`` was written: positions in the deleted ones are out of range.

    A fetch there fails, whereupon the client goes where ``auto.offset.reset`` says without asking the coordinator.
    While a topic does not exist, positions in it stay.
    """
    for partition in c.subscription.positions:
        since = c.load.since.get(partition, 0.0)
        if since != before.since.get(partition, 0.0) and isfinite(since):
            _reset(c, now, partition, out)


def _reset(c: ConsumerState, now: Time, partition: Partition, out: Outbox) -> None:
    if c.config.settings.auto_offset_reset == "earliest":
        _read_from(c, now, partition, 0, "first", out)
    else:
        _read_from(c, now, partition, c.load.production(partition).end_offset(now), "last", out)


def _read_from(c: ConsumerState, now: Time, partition: Partition, offset: int, why: str, out: Outbox) -> None:
    c.subscription.positions[partition] = _reading((offset, now, 0.0, 1))
    out.observe(_position((c.config.group, c.config.name, queue_of(partition), offset, why)))
