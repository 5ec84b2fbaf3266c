"""One row of a sweep of allocations: a strategy's answer for a cell's group after its event, and what moved for it."""

from collections.abc import Mapping
from typing import NamedTuple

from compare.measure.figures.definitions import Loads, figures_of
from compare.measure.groups.what_if import moves_between, with_withheld
from compare.measure.optimum import optimum
from compare.sweeping.grid import OPTIMUM, Cell
from compare.sweeping.groups import KAFKA, ROCKETMQ, after_event, group_of, settings_of
from kafka_coordinator import assign
from protocols import Allocation, Group, Queue
from protocols.scenario.model import SystemPart
from protocols.scenario.systems import split_system
from rocketmq_selfbalance import allocate

COUNTS = ("group_members", "idle_members", "queues", "unowned_queues", "double_owned_queues", "min", "max", "spread")
RATIOS = ("mean", "cv", "jain", "gini", "max_over_mean")
FIGURES = (*COUNTS, "moves", *RATIOS)
"""The columns of a row: whole numbers, then float64. The figures are those of `compare.measure.figures`, of the group
after the event; ``queues``: of topics that somebody reads; ``moves``: queues that had an owner before the event and
have another one after it. ``max_over_mean`` is null where nobody owns anything."""


class Answer(NamedTuple):
    """A row: its figures by name, and how many queues each member owns, in the members' order."""

    figures: Mapping[str, int | float | None]
    loads: tuple[int, ...]


def answer(cell: Cell, part: SystemPart) -> Answer:
    """The row of a variant. Raises `UserError` for a setting that the strategy refuses, and where it fails."""
    system, strategy = split_system(part.system)
    before = group_of(cell, system, strategy)
    group = after_event(cell, before, system, strategy)
    owned = _next(part, before, before, None)
    after = owned if group is before else _next(part, before, group, owned)
    loads = tuple(len(queues) for queues in after.values())
    read = {topic for member in group.members for topic in member.subscription}
    found = figures_of(
        Loads(
            loads=sorted(loads),
            idle=loads.count(0),
            queues=sum(len(group.topics[topic]) for topic in read),
            unowned=len(after.unowned),
            double_owned=len(after.double_owned),
        )
    )
    moves = 0 if after is owned else moves_between(after, owned)
    figures = {"group_members": found["members"], "moves": moves, **{name: found.get(name) for name in FIGURES[1:8]}}
    return Answer({**figures, **{name: found[name] for name in RATIOS}}, loads)


def _next(part: SystemPart, before: Group, group: Group, owned: Allocation | None) -> Allocation:
    system, strategy = split_system(part.system)
    if system == OPTIMUM:
        return optimum(group, owned, moves=owned is not None).allocation
    settings = settings_of(strategy, part.settings, before, group)
    if system == ROCKETMQ:
        return allocate(strategy, group, settings, previous=_of_those_there(owned, group))
    assert system == KAFKA
    return with_withheld(assign(strategy, group, owned, settings))


def _of_those_there(owned: Allocation | None, group: Group) -> Mapping[str, tuple[Queue, ...]] | None:
    return None if owned is None else {id: queues for id, queues in owned.items() if id in group}
