"""What a share consumer asks the leaders of its partitions, and their answers (spec share 5).

One request to a broker is on its way at a time. A fetch says what became of the records that were given before; a
request of its own does so where records that are there already come first, at a commit, and at the end, and nothing is
fetched from anybody before that is answered.

In Kafka `ShareConsumeRequestManager.poll`, `processAcknowledgements` and `ShareSessionHandler`.
"""

from collections.abc import Iterable

from kafka_coordinator.assignors.inputs import Partition, queue_of
from kafka_coordinator.consumer import metadata, requests
from kafka_coordinator.consumer.share.settings import settings_of
from kafka_coordinator.consumer.share.state import RENEW, Given, ShareNode, ShareState, Verdict
from kafka_coordinator.consumer.state import protocol_member
from kafka_coordinator.errors import NONE
from kafka_coordinator.share.messages import (
    FINAL_EPOCH,
    Acknowledgements,
    ShareAcknowledge,
    ShareAcknowledgeAnswer,
    ShareFetch,
    ShareFetchAnswer,
)
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Noted

RETRY = "share retry"
"""First part of the name of the timer after which a broker is connected to again."""

_GREATEST_EPOCH = 2**31 - 1
_ENDS_SESSION = ("SHARE_SESSION_NOT_FOUND", "INVALID_SHARE_SESSION_EPOCH", "SHARE_SESSION_LIMIT_REACHED")
_ELSEWHERE = ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_ID")


def ask(s: ShareState, now: Time, out: Outbox) -> None:
    """What the network thread does in its turn: acknowledgements first, then fetches."""
    if _acknowledge(s, now, out):
        return
    c = s.base
    if not s.fetches or c.user.closing:
        return
    wanted: dict[str, list[Partition]] = {}
    for partition in protocol_member(c).current.partitions:
        topic, number = partition
        leaders = c.metadata.topics.get(topic, ())
        leader = leaders[number] if number < len(leaders) else ""
        if leader and partition not in s.leaderless:
            wanted.setdefault(leader, []).append(partition)
    for broker in (*wanted, *[name for name, node in s.nodes.items() if node.with_fetch and name not in wanted]):
        node = s.node(broker)
        if not node.busy and node.not_before <= now:
            _fetch(s, now, broker, node, wanted.get(broker, []), out)


def _acknowledge(s: ShareState, now: Time, out: Outbox) -> bool:
    """Whether acknowledgements are on their way, or wait for that."""
    waits = False
    for broker, node in s.nodes.items():
        if not node.alone and not node.closing:
            continue
        waits = True
        if node.busy:
            continue
        if node.epoch == 0:
            _fail(s, node.alone, "NOT_LEADER_OR_FOLLOWER", out)
            node.alone, node.closing = [], False
            continue
        c, verdicts = s.base, node.alone
        node.busy, node.alone = True, []
        request = ShareAcknowledge(
            requests.number(c),
            c.config.group,
            c.membership.member_id,
            FINAL_EPOCH if node.closing else node.epoch,
            _ranges(verdicts),
            any(each.type == RENEW for each in verdicts),
            c.config.client_id,
        )
        requests.send(c, now, broker, request, out, about=tuple(verdicts))
    return waits or any(each.kind is ShareAcknowledge for each in s.base.requests.in_flight.values())


def _fetch(s: ShareState, now: Time, broker: str, node: ShareNode, partitions: list[Partition], out: Outbox) -> None:
    c, settings, verdicts = s.base, settings_of(s.base), node.with_fetch
    node.with_fetch = []
    if node.epoch == 0:
        _fail(s, verdicts, "NOT_LEADER_OR_FOLLOWER", out)
        verdicts = []
        node.partitions = dict.fromkeys(partitions)
        added, forgotten = tuple(partitions), tuple[Partition, ...]()
    else:
        new = dict.fromkeys(partitions)
        added = tuple([each for each in partitions if each not in node.partitions])
        forgotten = tuple([each for each in node.partitions if each not in new])
        if added or forgotten:
            node.partitions = {each: None for each in (*node.partitions, *added) if each in new}
    number, config = requests.number(c), c.config
    request = ShareFetch(
        number,
        config.group,
        c.membership.member_id,
        node.epoch,
        added,
        forgotten,
        _ranges(verdicts) if verdicts else (),
        settings.fetch_max_wait_ms,
        settings.fetch_min_bytes,
        settings.fetch_max_bytes,
        settings.max_poll_records,
        settings.max_poll_records,
        settings.share_acquire_mode == "record_limit",
        False,
        config.client_id,
    )
    if verdicts and any(each.type == RENEW for each in verdicts):
        request = request._replace(max_wait_ms=0, min_bytes=0, max_bytes=0, max_records=0, batch_size=0, renews=True)
    node.busy = True
    requests.send(c, now, broker, request, out, about=tuple(verdicts))


def _ranges(verdicts: Iterable[Verdict]) -> Acknowledgements:
    """By partition; neighbours of one type are one range."""
    found: dict[Partition, list[tuple[int, int, tuple[str, ...]]]] = {}
    for _, partition, first, last, type in sorted(verdicts, key=lambda each: (each.partition, each.first)):
        ranges = found.setdefault(partition, [])
        if ranges and ranges[-1][1] + 1 == first and ranges[-1][2] == (type,):
            ranges[-1] = ranges[-1][0], last, (type,)
        else:
            ranges.append((first, last, (type,)))
    return tuple([(partition, tuple(ranges)) for partition, ranges in found.items()])


def _fail(s: ShareState, verdicts: Iterable[Verdict], error: str, out: Outbox) -> None:
    """Acknowledgements that did not count; Kafka's client tells them to a callback alone."""
    for partition, ranges in _ranges(verdicts):
        queue = queue_of(partition)
        words = ", ".join([f"{first} to {last}" if last > first else str(first) for first, last, _ in ranges])
        out.observe(
            Noted(f"{s.base.config.name}'s acknowledgement of {queue.topic}-{queue.number} {words} fails: {error}")
        )


# Answers.


def fetched(
    s: ShareState, now: Time, broker: str, answer: ShareFetchAnswer, verdicts: tuple[Verdict, ...], out: Outbox
) -> None:
    node = s.node(broker)
    node.busy, node.failures = False, 0
    if answer.error != NONE:
        _next_epoch(node, answer.error)
        _fail(s, verdicts, answer.error, out)
        return
    _next_epoch(node, NONE)
    for partition, error, acknowledge_error, acquired in answer.partitions:
        if acknowledge_error != NONE:
            _fail(s, [each for each in verdicts if each.partition == partition], acknowledge_error, out)
        if error in _ELSEWHERE:
            _is_elsewhere(s, now, partition, out)
        for first, last, attempt in acquired:
            s.fetches = False
            s.buffer.append(Given(broker, partition, first, last, attempt))


def acknowledged(
    s: ShareState, now: Time, broker: str, answer: ShareAcknowledgeAnswer, verdicts: tuple[Verdict, ...], out: Outbox
) -> None:
    node = s.node(broker)
    node.busy, node.failures = False, 0
    if node.closing:
        node.closing, node.epoch, node.partitions = False, 0, {}
    else:
        _next_epoch(node, answer.error)
    if answer.error != NONE:
        _fail(s, verdicts, answer.error, out)
    for partition, error in answer.partitions:
        if error != NONE:
            _fail(s, [each for each in verdicts if each.partition == partition], error, out)
            if error in _ELSEWHERE:
                _is_elsewhere(s, now, partition, out)


def _next_epoch(node: ShareNode, error: str) -> None:
    if error in _ENDS_SESSION:
        node.epoch = 0
    else:
        node.epoch = 1 if node.epoch == _GREATEST_EPOCH else node.epoch + 1


def _is_elsewhere(s: ShareState, now: Time, partition: Partition, out: Outbox) -> None:
    """Newer metadata are asked for, after a pause where such a request was not long ago."""
    s.leaderless[partition] = None
    if not s.base.metadata.refreshing:
        metadata.failed(s.base, now, out)


def lost(s: ShareState, now: Time, broker: str, verdicts: tuple[Verdict, ...], out: Outbox) -> None:
    """The connection ended before the answer came: the session is to be made anew."""
    node = s.node(broker)
    node.busy, node.closing, node.epoch = False, False, 0
    _fail(s, verdicts, "DISCONNECT", out)
    disconnected(s, now, broker, out)


def disconnected(s: ShareState, now: Time, broker: str, out: Outbox) -> None:
    """The broker is asked again after a pause, and whether it still leads."""
    node = s.nodes.get(broker)
    if node is None or node.not_before > now:
        return
    node.epoch = 0
    node.failures += 1
    node.not_before = now + s.base.config.settings.reconnect_backoff(node.failures)
    out.set_timer((RETRY, broker), node.not_before)
    if not s.base.metadata.refreshing:
        metadata.refresh(s.base, now, out)
