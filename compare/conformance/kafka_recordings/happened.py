"""What happened in a recording, and what happens in a run of it, in the same words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from protocols.java import Queue


class Called(NamedTuple):
    """A rebalance callback. ``generation``: as the client tells it, None where it does not."""

    at: float
    member: str
    kind: str
    queues: tuple[Queue, ...]
    generation: int | None


class Change(NamedTuple):
    """From ``at`` on the member believes to own what it gained, and no longer what it lost."""

    at: float
    member: str
    gained: tuple[Queue, ...]
    lost: tuple[Queue, ...]


class Delivery(NamedTuple):
    """Records ``first`` to before ``end`` of a partition, handed out evenly from ``since`` to ``until``."""

    since: float
    until: float
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Happened:
    """Times are milliseconds in the time of the recording, or of the run."""

    end: float
    callbacks: tuple[Called, ...]
    changes: tuple[Change, ...]
    generations: Mapping[int, float]
    """Each completed generation to when it was."""
    sizes: Mapping[int, int]
    """Each completed generation to how many members it had."""
    beginnings: Mapping[int, float]
    """Each generation to when the rebalance began that ended it."""
    state: str
    """Of the group in its last description; empty: it was not found."""
    described: Mapping[str, tuple[Queue, ...]]
    """Client id to the partitions of its members in the last description, where there are any."""
    again: Mapping[Queue, int]
    """Records delivered again."""
    silence: Mapping[Queue, float] = field(default_factory=dict)
    """The longest time between two records; queues without any are left out."""
    delivered: Mapping[Queue, tuple[Delivery, ...]] = field(default_factory=dict)
    """Of a run: what ``again`` and ``silence`` are made of, by time."""


@dataclass(slots=True)
class Ownership:
    """Of one partition. An owner counts from when it believes to own until it does not, or is gone."""

    first: float | None = None
    """When it had its first owner."""
    owners: list[str] = field(default_factory=list)
    """Everyone who began to own it, in this order."""
    unowned: float = 0.0
    """How long it had no owner, after the first."""
    longest: float = 0.0
    """The longest stretch of this."""
    doubly: float = 0.0
    """How long it had more than one."""


def ownership(changes: Iterable[Change], end: float) -> dict[Queue, Ownership]:
    """Every partition that ever had an owner."""
    found: dict[Queue, Ownership] = {}
    now: dict[Queue, dict[str, None]] = {}
    since: dict[Queue, float] = {}

    def passes(queue: Queue, until: float) -> None:
        owners, about = now[queue], found[queue]
        lasted = until - since[queue]
        if not owners:
            about.unowned += lasted
            about.longest = max(about.longest, lasted)
        elif len(owners) > 1:
            about.doubly += lasted

    for change in changes:
        for queue in change.lost:
            owners = now.get(queue, {})
            if change.member in owners:
                passes(queue, change.at)
                # A gap begins when the last owner goes; two owners are two until one goes.
                del owners[change.member]
                since[queue] = change.at
        for queue in change.gained:
            about = found.setdefault(queue, Ownership(first=change.at))
            owners = now.setdefault(queue, {})
            if change.member in owners:
                continue
            if about.owners:
                passes(queue, change.at)
            since[queue] = change.at
            owners[change.member] = None
            about.owners.append(change.member)
    for queue in found:
        passes(queue, end)
    return found


def finally_owned(changes: Iterable[Change]) -> dict[str, set[Queue]]:
    """Member to what it believes to own at the end."""
    owned: dict[str, set[Queue]] = {}
    for change in changes:
        mine = owned.setdefault(change.member, set())
        mine.difference_update(change.lost)
        mine.update(change.gained)
    return owned


def delivered_again(deliveries: Sequence[Delivery]) -> list[tuple[float, int]]:
    """When how many records of a partition were delivered once more; ``deliveries`` by time."""
    found: list[tuple[float, int]] = []
    reached = 0
    for since, _, first, end in deliveries:
        found.append((since, max(0, min(reached, end) - first)))
        reached = max(reached, end)
    return found


def silences(deliveries: Sequence[Delivery]) -> list[tuple[float, float]]:
    """When a silence of a partition ended and how long it was; the first delivery ends one of no length."""
    found: list[tuple[float, float]] = []
    reached: float | None = None
    for since, until, _, _ in deliveries:
        found.append((since, 0.0 if reached is None else max(0.0, since - reached)))
        reached = until if reached is None else max(reached, until)
    return found
