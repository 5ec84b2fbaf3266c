"""Commits of positions: by the clock, before a rebalance, at close, or by the user (spec 4.7, 4.9).

Positions are those of records that earlier polls returned and that were handled; also unchanged ones are committed.

In Kafka `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`, `commitOffsetsSync`, `sendOffsetCommitRequest` and
`OffsetCommitResponseHandler`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_coordinator.assignors.inputs import NO_GENERATION
from kafka_coordinator.consumer import lookup, membership, reading, requests, states
from kafka_coordinator.consumer.state import ConsumerState, Offsets
from kafka_coordinator.consumer.states import COMPLETING_REBALANCE, PREPARING_REBALANCE, STABLE
from kafka_coordinator.messages import OffsetCommit, OffsetCommitAnswer
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Noted
from protocols.load import quickly_made

AUTO, PREPARE, CLOSE, USER = "auto", "prepare", "close", "user"
"""What a commit is for."""

RETRIABLE = "retriable"
REBALANCING = "rebalance in progress"
FAILED = "commit failed"
DONE = "done"

REACTIONS: Final[Mapping[str, str]] = {
    "NONE": DONE,
    "COORDINATOR_LOAD_IN_PROGRESS": RETRIABLE,
    "UNKNOWN_TOPIC_OR_PARTITION": RETRIABLE,
    "COORDINATOR_NOT_AVAILABLE": "rediscover",
    "NOT_COORDINATOR": "rediscover",
    "REQUEST_TIMED_OUT": "rediscover",
    "REBALANCE_IN_PROGRESS": "rejoin",
    "UNKNOWN_MEMBER_ID": "reset",
    "ILLEGAL_GENERATION": "reset generation",
    "FENCED_INSTANCE_ID": "fatal",
}
"""Error of a commit to what the client does; every other error is the caller's alone."""

UNDER_KIP848: Final[Mapping[str, str]] = {
    "NONE": DONE,
    "COORDINATOR_LOAD_IN_PROGRESS": RETRIABLE,
    "UNKNOWN_TOPIC_OR_PARTITION": RETRIABLE,
    "COORDINATOR_NOT_AVAILABLE": "rediscover",
    "NOT_COORDINATOR": "rediscover",
    "REQUEST_TIMED_OUT": "rediscover",
    "STALE_MEMBER_EPOCH": "stale",
}
"""The same under the consumer protocol, where a commit ends no membership: heartbeats tell."""


class About(NamedTuple):
    """What a commit's answer needs to know."""

    purpose: str
    generation: int
    member_id: str


_about, _commit = quickly_made(About), quickly_made(OffsetCommit)
_VERSION = OffsetCommit._field_defaults["version"]


def positions(c: ConsumerState, now: Time, out: Outbox) -> Offsets:
    reading.advance(c, now, out)
    stored, read = c.commits.stored, c.subscription.positions
    if stored is not None:
        return tuple([(partition, offset, "") for partition, offset in stored if partition in read])
    return tuple([(partition, each.start, "") for partition, each in read.items()])


def send(
    c: ConsumerState, now: Time, out: Outbox, purpose: str, offsets: Offsets, generation: int | None = None
) -> str:
    """Send a commit. Empty where it is on its way, else why not: refused here already, or no coordinator."""
    if generation is None and c.subscription.assigned_by_user:
        generation = NO_GENERATION
    if generation is None and c.kip848 is not None:
        generation = c.membership.generation if c.membership.generation > 0 else NO_GENERATION
    if generation is None:
        if c.membership.state != STABLE:
            return REBALANCING if c.membership.state in (PREPARING_REBALANCE, COMPLETING_REBALANCE) else FAILED
        generation = c.membership.generation
    if c.lookup.coordinator is None:
        return RETRIABLE
    config, member_id = c.config, c.membership.member_id
    correlation = requests.number(c)
    message = _commit((correlation, config.group, member_id, generation, config.instance_id, offsets, _VERSION, ()))
    requests.send(c, now, c.lookup.coordinator, message, out, about=_about((purpose, generation, member_id)))
    return ""


def auto_commit(c: ConsumerState, now: Time, out: Outbox) -> None:
    """A poll after ``auto.commit.interval.ms``."""
    c.commits.auto_due = False
    wait: float = c.config.settings.auto_commit_interval_ms
    offsets = positions(c, now, out)
    if offsets and send(c, now, out, AUTO, offsets) == RETRIABLE:
        wait = c.config.settings.retry_backoff_ms
    out.set_timer(states.AUTO_COMMIT, now + wait)


def commit_for_user(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The user's commit, first or again."""
    wanted = c.commits.by_user
    if wanted is None:
        return
    offsets = positions(c, now, out) if wanted.offsets is None else wanted.offsets
    outcome = send(c, now, out, USER, offsets, wanted.generation) if offsets else DONE
    if outcome:
        finish_user_commit(c, now, out, outcome)


def finish_user_commit(c: ConsumerState, now: Time, out: Outbox, outcome: str) -> None:
    """The user's commit has this outcome: it is tried again while that may help, else the user gets it."""
    wanted = c.commits.by_user
    if wanted is None:
        return
    again = now + c.config.settings.retry_backoff_ms
    if outcome == RETRIABLE and again < wanted.until:
        out.set_timer(states.COMMIT_AGAIN, again)
        return
    c.commits.by_user = None
    c.commits.outcome = outcome
    if outcome != DONE:
        out.observe(Noted(f"{c.config.name}'s commit: {outcome}"))


def outcome_of(c: ConsumerState, now: Time, answer: OffsetCommitAnswer, about: About, out: Outbox) -> str:
    """React to the answer; returns the outcome: `DONE`, `RETRIABLE`, or why it failed."""
    for _, error in answer.errors:
        if error != "NONE":
            break
    else:
        return DONE
    if c.kip848 is not None:
        return _outcome_under_kip848(c, error, about)
    reaction = REACTIONS.get(error, error)
    if reaction == "rediscover":
        lookup.forget(c)
        return RETRIABLE
    if reaction == "rejoin":
        c.request_rejoin("offset commit failed since group is already rebalancing")
        return REBALANCING
    if reaction in ("reset", "reset generation", "fatal"):
        unchanged = about[1:] == (c.membership.generation, c.membership.member_id)
        if not unchanged and c.membership.state == PREPARING_REBALANCE:
            return REBALANCING
        if reaction == "fatal":
            if unchanged:
                c.user.fatal = error
        elif unchanged and not c.subscription.assigned_by_user:
            membership.reset(c, now, out, error, keep_id=reaction == "reset generation")
        return f"{FAILED}: {error}"
    return reaction


def _outcome_under_kip848(c: ConsumerState, error: str, about: About) -> str:
    """What is committed before a reconciliation is tried again with the member's newer epoch, but not for a topic that
    is gone; other commits fail with an old epoch."""
    reaction = UNDER_KIP848.get(error, error)
    if reaction == "rediscover":
        c.lookup.coordinator = None
        return RETRIABLE
    if reaction == "stale":
        return RETRIABLE if about.purpose == PREPARE and c.membership.generation > 0 else f"{FAILED}: {error}"
    if reaction == RETRIABLE and about.purpose == PREPARE and error == "UNKNOWN_TOPIC_OR_PARTITION":
        return f"{FAILED}: {error}"
    return reaction if reaction == RETRIABLE else f"{FAILED}: {error}"
