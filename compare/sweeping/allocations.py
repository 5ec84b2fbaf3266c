"""The rows of a sweep of allocations: a strategy's answer for a cell's group after its event, and what moved for it.

Most of a row's time goes into what neighbouring rows have in common. So queues and members are made once for all groups
that have them, and a variant's answer before the event once for all events of a group (`Answers`); the figures of all
rows of a part are counted at once (`columns_of`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from operator import eq
from typing import NamedTuple

import numpy as np

from compare.auditing.what_if import moves_between, with_withheld
from compare.figures.counting import sums_of_loads
from compare.figures.last_step import last_step
from compare.figures.metrics import COLUMNS
from compare.optima import fairest_allocation
from compare.sweeping.grid import OPTIMUM, Cell, Size
from compare.sweeping.stories import GROWTH, leaving, member_name, subscription, topic_name
from kafka_coordinator import assign
from protocols import Allocation, Group, Member, Queue
from protocols.scenario.model import SystemPart, split_system
from rocketmq_selfbalance import allocate
from rocketmq_selfbalance.catalogue import MACHINE_ROOM_SETTING as ROOMS
from rocketmq_selfbalance.catalogue import SETTING as QUEUE_LIST
from rocketmq_selfbalance.catalogue import Averagely, ByConfig, ByMachineRoom

FIGURES = tuple(metric.column for metric in COLUMNS["allocations"])
"""The columns of a row. The figures are those of `compare.figures`, of the group after the event; ``queues``: of topics
that somebody reads; ``moves``: queues that had an owner before the event and have another one after it.
``max_over_mean`` is null where nobody owns anything."""

KAFKA, ROCKETMQ = "kafka", "rocketmq"


class Answer(NamedTuple):
    """What a strategy's answer comes to. ``loads``: how many queues each member owns, in the members' order;
    ``queues``: of topics that somebody reads."""

    loads: list[int]
    queues: int
    unowned: int
    double_owned: int
    moves: int


class Answers:
    """The answers of one variant. Cells of one size that are asked for one after the other share what was before."""

    def __init__(self, part: SystemPart) -> None:
        self._part = part
        self._system, self._strategy = split_system(part.system)
        self._size: Size | None = None
        self._before: Group
        self._owned: Allocation
        self._was: Mapping[Queue, str]

    def of(self, cell: Cell) -> Answer:
        """The answer after the cell's event. Raises `UserError` for a setting that the strategy refuses, and where it
        fails."""
        if cell.size != self._size:
            self._size, self._before = cell.size, group_of(cell.size, self._system, self._strategy)
            self._owned = self._next(self._before, None)
            self._was = _owners(self._owned)
        group = after_event(cell, self._before, self._system, self._strategy)
        after = self._owned if group is self._before else self._next(group, self._owned)
        read = {topic for member in group.members for topic in member.subscription}
        loads, queues = list(map(len, after.values())), sum(len(group.topics[topic]) for topic in read)
        owners = self._was if after is self._owned else _owners(after)
        if sum(loads) > len(owners) or sum(map(len, self._owned.values())) > len(self._was):
            moves = moves_between(after, self._owned)
            return Answer(loads, queues, len(after.unowned), len(after.double_owned), moves)
        now = list(map(owners.get, self._was))
        moves = len(now) - now.count(None) - sum(map(eq, now, self._was.values()))
        return Answer(loads, queues, queues - len(owners), 0, moves)

    def _next(self, group: Group, owned: Allocation | None) -> Allocation:
        if self._system == OPTIMUM:
            return fairest_allocation(group, owned)
        settings = settings_of(self._strategy, self._part.settings, self._before, group)
        if self._system == ROCKETMQ:
            there = None if owned is None else {id: queues for id, queues in owned.items() if id in group}
            return allocate(self._strategy, group, settings, previous=there)
        assert self._system == KAFKA
        return with_withheld(assign(self._strategy, group, owned, settings))


def answer(cell: Cell, part: SystemPart) -> Mapping[str, object]:
    """One row: `FIGURES` by name, and ``loads``. Raises `UserError` as `Answers.of` does."""
    one = Answers(part).of(cell)
    return {**{name: column[0] for name, column in columns_of([one]).items()}, "loads": one.loads}


def columns_of(answers: Sequence[Answer]) -> Mapping[str, Sequence[object]]:
    """`FIGURES` of all answers, column by column."""
    loads = np.fromiter(chain.from_iterable(found.loads for found in answers), np.int64)
    members = np.array([len(found.loads) for found in answers], np.int64)
    counted = np.array([found[1:] for found in answers], np.int64).reshape(-1, 4)
    queues, unowned, double_owned, moves = counted.T
    figures = last_step(sums_of_loads(loads, members, (queues, unowned, double_owned)))
    found = {"group_members": members, **figures, "moves": moves}
    return {
        metric.column: found[metric.column].astype(np.int64).tolist()
        if metric.is_whole
        else [None if value != value else value for value in found[metric.column].tolist()]
        for metric in COLUMNS["allocations"]
    }


# The group of a cell, before and after its event, as a strategy of either system sees it.


def room(number: int) -> str:
    """The room of a broker or member: as many rooms as brokers, members in turn."""
    return f"r{number:03d}"


def broker_names(brokers: int, strategy: str) -> list[str]:
    """Every broker in a room of its own; the strategies about rooms read a broker's from its name."""
    sign = "@" if strategy == ByMachineRoom.name else "-"
    return [f"{room(number)}{sign}broker" for number in range(brokers)]


def queues_per_broker(queues: int, brokers: Sequence[str]) -> dict[str, int]:
    """A topic's queues dealt over the brokers in turn."""
    shares = ((queues + len(brokers) - 1 - at) // len(brokers) for at in range(len(brokers)))
    return {broker: share for broker, share in zip(brokers, shares, strict=True) if share}


def group_of(size: Size, system: str, strategy: str) -> Group:
    """The group before the event. Kafka's topics have partitions 0, 1, ...; RocketMQ's lie on brokers."""
    members = _members(size.subscription, size.members, size.topics, size.brokers)
    return Group(members, _topics(size, system, strategy, size.queues))


def after_event(cell: Cell, group: Group, system: str, strategy: str) -> Group:
    match cell.event.name:
        case "join":
            last = group.members[-1]
            new = Member(member_name(cell.members), last.subscription, rack=room(cell.members % cell.brokers))
            return replace(group, members=(*group.members, new))
        case "leave":
            return group.without(member_name(leaving(cell.members)))
        case "grow":
            return Group(group.members, _topics(cell.size, system, strategy, GROWTH * cell.queues))
    return group


def settings_of(strategy: str, given: Mapping[str, object], before: Group, group: Group) -> Mapping[str, object]:
    """What a strategy needs besides: all rooms; the lists that an operator wrote for the group before the event, who
    shared its queues evenly."""
    if strategy == ByMachineRoom.name and ROOMS not in given:
        return {ROOMS: sorted({member.rack for member in before.members if member.rack}), **given}
    if strategy == ByConfig.name and QUEUE_LIST not in given:
        lists: Allocation = allocate(Averagely.name, before)
        return {QUEUE_LIST: {id: list(queues) for id, queues in lists.items() if id in group}, **given}
    return given


@lru_cache(maxsize=256)
def _members(shape: str, members: int, topics: int, brokers: int) -> tuple[Member, ...]:
    names = [topic_name(number) for number in range(topics)]
    return tuple(
        Member(
            member_name(number),
            tuple(names[topic] for topic in subscription(shape, number, members, topics)),
            rack=room(number % brokers),
        )
        for number in range(members)
    )


def _topics(size: Size, system: str, strategy: str, queues: int) -> dict[str, tuple[Queue, ...]]:
    brokers = {"": queues}
    if system == ROCKETMQ:
        brokers = queues_per_broker(queues, broker_names(size.brokers, strategy))
    names = (topic_name(number) for number in range(size.topics))
    return {
        topic: tuple(chain.from_iterable(_series(topic, broker, count) for broker, count in brokers.items()))
        for topic in names
    }


_SERIES: dict[tuple[str, str], list[Queue]] = {}
"""(topic, broker) to its queues from number 0 on, as many as were asked for: all groups of a process share them."""


def _series(topic: str, broker: str, count: int) -> Sequence[Queue]:
    """The first so many queues of a topic on a broker."""
    queues = _SERIES.setdefault((topic, broker), [])
    queues += [Queue(topic, broker, number) for number in range(len(queues), count)]
    return queues[:count]


def _owners(allocation: Allocation) -> dict[Queue, str]:
    """Queue to its owner, of several owners the last."""
    owners: dict[Queue, str] = {}
    for member, queues in allocation.items():
        owners |= dict.fromkeys(queues, member)
    return owners
