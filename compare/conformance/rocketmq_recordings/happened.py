"""What happened in a recording, and what happens in a run of it, in the same words. Retry queues are left out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from protocols.java import Queue
from rocketmq_selfbalance.cluster import RETRY_PREFIX


class Change(NamedTuple):
    """From ``at`` on the member holds exactly these queues."""

    at: float
    member: str
    owned: frozenset[Queue]


class Interval(NamedTuple):
    """A time in which a queue had no owner or, with several ``owners``, more than one."""

    queue: Queue
    since: float
    until: float
    owners: tuple[str, ...] = ()

    @property
    def lasted(self) -> float:
        """Milliseconds."""
        return self.until - self.since


class Moved(NamedTuple):
    """A queue came to another member than the one that was the last to begin to own it."""

    at: float
    queue: Queue
    before: str
    after: str


class Request(NamedTuple):
    """A request of a member, or a broker's notice to it: its code, and the broker (or ``namesrv``)."""

    at: float
    member: str
    code: int
    peer: str


class Ownership(NamedTuple):
    """Who owned the queues when. A member that is gone owns nothing; one that is stopped owns what it had."""

    double: tuple[Interval, ...]
    waiting: tuple[Interval, ...]
    """From the beginning to the first owner, or to the end where there is none."""
    unowned: tuple[Interval, ...]
    """After the first owner."""
    moves: tuple[Moved, ...]
    final: Mapping[str, frozenset[Queue]]


@dataclass(frozen=True, slots=True)
class Happened:
    """Times are milliseconds in the time of the recording, or of the run."""

    ownership: Ownership
    again: int
    """Records that were delivered more than once."""
    requests: tuple[Request, ...] | None
    """By time; None where nobody listened."""


def is_retry(queue: Queue) -> bool:
    """Whether it is a queue of a retry topic."""
    return queue.topic.startswith(RETRY_PREFIX)


def ownership(changes: Sequence[Change], queues: Iterable[Queue], began: float, end: float) -> Ownership:
    """What the changes (by time) mean. ``queues``: those that wait for an owner from ``began`` on."""
    alone = dict.fromkeys(queues, began)
    """Queue without an owner to since when."""
    crowded: dict[Queue, tuple[float, set[str]]] = {}
    """Queue with several owners to since when, and everybody who has been one of them."""
    owned: dict[str, frozenset[Queue]] = {}
    owners: dict[Queue, set[str]] = {}
    last: dict[Queue, str] = {}
    double: list[Interval] = []
    waiting: list[Interval] = []
    unowned: list[Interval] = []
    moves: list[Moved] = []
    for at, member, now in changes:
        before = owned.get(member, frozenset())
        for queue in sorted(now - before):
            of = owners.setdefault(queue, set())
            of.add(member)
            if queue in alone:
                (unowned if queue in last else waiting).append(Interval(queue, alone.pop(queue), at))
            if len(of) > 1:
                crowded.setdefault(queue, (at, set()))[1].update(of)
            if last.get(queue, member) != member:
                moves.append(Moved(at, queue, last[queue], member))
            last[queue] = member
        for queue in sorted(before - now):
            of = owners[queue]
            of.discard(member)
            if len(of) == 1:
                since, everybody = crowded.pop(queue)
                double.append(Interval(queue, since, at, tuple(sorted(everybody))))
            elif not of:
                alone[queue] = at
        owned[member] = now
    double += [Interval(queue, at, end, tuple(sorted(everybody))) for queue, (at, everybody) in crowded.items()]
    for queue, at in alone.items():
        (unowned if queue in last else waiting).append(Interval(queue, at, end))
    # What lasted no time was not seen.
    seen = [tuple(sorted(each for each in listed if each.lasted > 0)) for listed in (double, waiting, unowned)]
    return Ownership(seen[0], seen[1], seen[2], tuple(moves), owned)


def queues_of(topics: Mapping[str, Mapping[str, int]]) -> list[Queue]:
    """The queues of topics with so many per broker."""
    return [
        Queue(topic, broker, number)
        for topic, counts in topics.items()
        for broker, count in counts.items()
        for number in range(count)
    ]
