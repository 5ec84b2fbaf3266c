"""The user's loop of a share consumer: poll(), handle what it returned, say what became of it.

With n threads r records take ceil(r / n) x ``handle`` ms; then the loop polls again, which acknowledges them. A record
that the code cannot handle is, as the member's ``on.error`` says, tried in place (``retry``), released or rejected.

In Kafka `ShareConsumerImpl.poll`, `collect` and `acknowledge`, and the user's own loop.
"""

from math import ceil

from kafka_coordinator.assignors.inputs import queue_of
from kafka_coordinator.consumer import states
from kafka_coordinator.consumer.share.settings import settings_of
from kafka_coordinator.consumer.share.state import ACCEPT, REJECT, RELEASE, RENEW, Given, ShareState, Verdict
from protocols.engine.nodes import TICK, Outbox, Time
from protocols.facts import Delivered, PassedOver, StandsStill
from protocols.load import PoisonRecord, poison_ahead, quickly_made

RENEWAL = "renew"
"""The timer with which the user's code renews its locks."""

_delivered = quickly_made(Delivered)


def poll(s: ShareState, now: Time, out: Outbox) -> bool:
    """The user's loop is in poll(): it returns records, if there are any; whether it did."""
    c, hand = s.base, s.hand
    if not s.buffer:
        if not s.fetches:
            s.fetches = True
            _send(s, with_fetch=True)
        return False
    _send(s, with_fetch=False)
    left = c.config.settings.max_poll_records
    while s.buffer and left > 0:
        given = s.buffer.pop(0)
        if given.size > left:
            s.buffer.insert(0, given._replace(first=given.first + left))
            given = given._replace(last=given.first + left - 1)
        left -= given.size
        hand.records.append(given)
    out.set_timer(states.POLL, now + c.config.settings.max_poll_interval_ms)
    if settings_of(c).renew_interval_ms:
        out.set_timer(RENEWAL, now + settings_of(c).renew_interval_ms)
    go_on(s, now, out)
    return True


def _send(s: ShareState, *, with_fetch: bool) -> None:
    verdicts, s.hand.verdicts = s.hand.verdicts, []
    for verdict in verdicts:
        node = s.node(verdict.broker)
        (node.with_fetch if with_fetch else node.alone).append(verdict)


def commit(s: ShareState) -> None:
    """commitSync(): what has been handled is acknowledged; without acknowledgements of its own, all that is in hand."""
    if not settings_of(s.base).acknowledges_explicitly:
        for given in s.hand.records:
            s.hand.verdicts.append(Verdict(given.broker, given.partition, given.first, given.last, ACCEPT))
    _send(s, with_fetch=False)


def renew(s: ShareState, now: Time, out: Outbox) -> None:
    """The user's code renews the locks of what it has in hand (`AcknowledgeType.RENEW`)."""
    if s.hand.records:
        for given in s.hand.records:
            s.node(given.broker).alone.append(Verdict(given.broker, given.partition, given.first, given.last, RENEW))
        out.set_timer(RENEWAL, now + settings_of(s.base).renew_interval_ms)


def go_on(s: ShareState, now: Time, out: Outbox) -> None:
    """The code turns to the next records in hand, which are handled until a timer is due."""
    hand, config = s.hand, s.base.config
    if not hand.records or s.base.user.away or s.base.user.frozen:
        return
    first = hand.records[0]
    poison = poison_ahead(s.base.load.poison, first.partition, first.first)
    if poison is not None and poison.offset <= first.last:
        if poison.offset > first.first:
            hand.records[:1] = [first._replace(last=poison.offset - 1), first._replace(first=poison.offset)]
        elif first.size > 1:
            hand.records[:1] = [first._replace(last=poison.offset), first._replace(first=poison.offset + 1)]
        first, poison = hand.records[0], poison if poison.offset == first.first else None
    else:
        poison = None
    hand.since = now
    if poison is not None:
        lasts = _tries(s, first, poison, out)
    elif config.threads > 1 and first.size < config.threads:
        lasts = config.handle  # others of the same poll are handled beside it
    else:
        lasts = ceil(first.size / config.threads) * config.handle
    hand.until = None if lasts is None else now + lasts
    if hand.until is not None:
        out.set_timer(states.RESUME, hand.until)


def _tries(s: ShareState, given: Given, poison: PoisonRecord, out: Outbox) -> Time | None:
    """How long the code is at a record that it cannot handle; None: for ever."""
    config = s.base.config
    if settings_of(s.base).on_error != "retry":
        return config.handle
    out.observe(StandsStill(config.group, config.name, queue_of(given.partition), poison.offset))
    return poison.lasts(config.handle)


def _together(s: ShareState) -> int:
    """How many ranges in hand the code handles at once: those that its threads have room for."""
    records, threads = s.hand.records, s.base.config.threads
    count, size = 1, records[0].size
    while count < len(records) and size < threads and size + records[count].size <= threads:
        if poison_ahead(s.base.load.poison, records[count].partition, records[count].first) is not None:
            break
        size += records[count].size
        count += 1
    return count


def handled(s: ShareState, now: Time, out: Outbox) -> None:
    """The first records in hand are handled, or have failed."""
    hand = s.hand
    first = hand.records[0]
    poison = poison_ahead(s.base.load.poison, first.partition, first.first)
    if poison is not None and poison.offset == first.first:
        hand.records.pop(0)
        _failed(s, first, poison, out)
    else:
        count = _together(s)
        done, hand.records = hand.records[:count], hand.records[count:]
        for given in done:
            _tell(s, now, given, out)
            hand.verdicts.append(Verdict(given.broker, given.partition, given.first, given.last, ACCEPT))
    hand.until = None
    go_on(s, now, out)


def _tell(s: ShareState, now: Time, given: Given, out: Outbox) -> None:
    config = s.base.config
    what = queue_of(given.partition), given.first, given.last + 1, s.hand.since, now, config.threads
    out.observe(_delivered((config.group, config.name, *what, config.handle or TICK, config.handle, 0.0)))


def _failed(s: ShareState, given: Given, poison: PoisonRecord, out: Outbox) -> None:
    config = s.base.config
    attempts = poison.attempts
    retries = settings_of(s.base).on_error == "retry"
    if retries or (attempts is not None and given.attempt >= attempts):
        type = ACCEPT
        queue = queue_of(given.partition)
        out.observe(PassedOver(config.group, config.name, queue, poison.offset, poison.skipped))
    else:
        type = RELEASE if settings_of(s.base).on_error == "release" else REJECT
    s.hand.verdicts.append(Verdict(given.broker, given.partition, given.first, given.last, type))


def report(s: ShareState, now: Time, out: Outbox) -> None:
    """Tell what has been handled so far of the records in hand; they are still to be acknowledged together."""
    hand, config = s.hand, s.base.config
    if not hand.records or hand.until is None or not config.handle:
        return
    first = hand.records[0]
    done = int((now - hand.since) / config.handle) * config.threads
    if 0 < done < first.size:
        part = first._replace(last=first.first + done - 1)
        _tell(s, now, part, out)
        hand.verdicts.append(Verdict(part.broker, part.partition, part.first, part.last, ACCEPT))
        hand.records[0] = first._replace(first=part.last + 1)
        hand.since += ceil(done / config.threads) * config.handle


def hold(s: ShareState, now: Time, out: Outbox) -> None:
    """The code itself stops: it will go on where it was."""
    report(s, now, out)
    hand = s.hand
    if hand.until is not None:
        hand.left, hand.until = hand.until - now, None
        out.cancel_timer(states.RESUME)


def release(s: ShareState, now: Time, out: Outbox) -> None:
    hand = s.hand
    if hand.left is None:
        go_on(s, now, out)
        return
    hand.until, hand.left = now + hand.left, None
    hand.since = now
    out.set_timer(states.RESUME, hand.until)


def clear(s: ShareState) -> None:
    """Whatever is in hand is dropped."""
    s.buffer, s.hand.records, s.hand.verdicts, s.hand.until, s.hand.left = [], [], [], None, None
