"""Targets by load: what each queue brings, who should have which queue therefore, and what each step gains.

There are two ways. A strategy of somebody's own (`--to load-aware`): an assignor of Kafka's classic protocol, or a
strategy of RocketMQ's clients, which all have the same table of rates. Or a controller that hands out lists, which
consumers `assign()` themselves (`--to load-aware:assign`). Kafka's consumer protocol has the second way alone: its
assignors run in the broker and see neither rate nor lag.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Literal, NamedTuple, TypeAlias

from compare.auditing.what_if import with_withheld
from compare.optima import LoadAware, QueueLoad, load_aware
from compare.optima.load_aware import drain_time
from compare.reading.group_model import Modelled
from compare.reading.observed import ObservedGroup
from compare.running.lag import lag_of
from compare.running.production import productions
from compare.running.run_variant import records_per_second, run_variant
from compare.running.variants import Variant
from kafka_coordinator import assign
from protocols import Allocation, Group, Queue
from protocols.errors import UserError
from protocols.timeline.trace import queue_name
from rocketmq_selfbalance import allocate

OF_KAFKA, OF_ROCKETMQ = "load-aware", "LOAD_AWARE"
RATES: Mapping[str, str] = {"kafka": "load.aware.rates", "rocketmq": "rates"}
"""System to the setting of the model's members that holds the table of rates."""

DRAIN_S = 300.0
"""What waits shall be gone after so many seconds, as far as no capacity is known: the default of `load_aware`."""

HYSTERESIS = 0.1
"""What is within this part of the least possible largest load stays as it is."""

MOST_QUEUES = 5_000
"""Queues up to which moves are looked for: some seconds' work."""

Basis: TypeAlias = Literal["rate", "lag"]
Capacity: TypeAlias = float | Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class GroupLoad:
    """A group and what its queues bring. ``group``: its members have the names of the plan; ``today``: member to its
    queues; ``loads``: of every queue that is read; ``basis``: whether rates are known (lag, too), or what waits alone;
    ``capacity``: records per second of each member, by name where they differ, None where it is not known; ``best``:
    who should have what therefore, by fewest moves."""

    group: Group
    today: Mapping[str, Sequence[Queue]]
    loads: Mapping[Queue, QueueLoad]
    basis: Basis
    capacity: Capacity
    best: LoadAware

    @classmethod
    def of(
        cls,
        group: Group,
        today: Mapping[str, Sequence[Queue]],
        loads: Mapping[Queue, QueueLoad],
        basis: Basis,
        capacity: Capacity,
    ) -> "GroupLoad":
        """With the best allocation. What ``loads`` lack (RocketMQ's retry queues) is left out; of several owners the
        first one counts."""
        owner = {queue: member for member in reversed(list(today)) for queue in today[member] if queue in loads}
        today = {member: [queue for queue in queues if owner.get(queue) == member] for member, queues in today.items()}
        best = load_aware(group, today, loads, capacity=capacity, drain_s=DRAIN_S, hysteresis=HYSTERESIS)
        return cls(group, today, loads, basis, capacity, best)

    @property
    def table(self) -> dict[str, float]:
        """What a strategy is told: by the name of the queue, records per second that come, and those that wait over
        `DRAIN_S`."""
        return {queue_name(queue): round(float(load.need(DRAIN_S)), 3) for queue, load in self.loads.items()}

    @property
    def produced(self) -> dict[str, float]:
        """By the name of the queue, records per second that come; of the queues that a scenario with as many has."""
        counts = Counter((queue.topic, queue.broker) for queue in self.loads)
        return {
            queue_name(queue): round(load.rate, 3)
            for queue, load in self.loads.items()
            if queue.number < counts[queue.topic, queue.broker]
        }

    def by_strategy(self) -> Allocation:
        """What the strategy makes of it, which knows no capacity. RocketMQ's looks at each topic for itself and does
        not know who owns what."""
        settings = {"rates": self.table}
        if any(queue.broker for queue in self.group.queues):
            return allocate(OF_ROCKETMQ, self.group, settings=settings)
        return with_withheld(assign(OF_KAFKA, self.group, self.today, settings=settings))


class Move(NamedTuple):
    """A queue that goes from one member (empty: nobody) to another."""

    queue: Queue
    before: str
    after: str


class State(NamedTuple):
    """How a group stands by load. ``highest``: the largest utilisation of a member; without capacities the largest load
    over the mean of the members. ``drain_s``: seconds until nothing waits, None: never, or no capacity is known."""

    highest: float
    drain_s: float | None


class Gain(NamedTuple):
    """What a step moves, and how the group stands before and after it by the loads of the plan."""

    moves: tuple[Move, ...]
    before: State
    after: State
    of_capacity: bool
    """Whether utilisations are known, or loads are compared with their mean."""


def observed_load(
    observed: ObservedGroup, modelled: Modelled, names: Sequence[str], capacity: float | None
) -> GroupLoad:
    """What a source shows of a group's load; ``names``: what the plan calls the members. Raises `UserError` where it
    shows neither the rate of every queue nor the lag."""
    ids = [member.id for member in modelled.group.members]
    group = replace(
        modelled.group,
        members=tuple(replace(member, id=name) for member, name in zip(modelled.group.members, names, strict=True)),
    )
    today = {name: tuple(modelled.today.get(id, ())) for name, id in zip(names, ids, strict=True)}
    loads, basis = told_loads(observed, read_queues(group))
    return GroupLoad.of(group, today, loads, basis, capacity)


def told_loads(observed: ObservedGroup, queues: Sequence[Queue]) -> tuple[dict[Queue, QueueLoad], Basis]:
    """The load of each of these queues as the source shows it; `UserError` where it shows neither rates nor lag."""
    if len(queues) > MOST_QUEUES:
        raise UserError(
            f"group {observed.name} has {len(queues)} queues, expected {MOST_QUEUES} or fewer to look for moves"
        )
    lag, rates = observed.lag, observed.rates
    if all(queue in rates for queue in queues) and any(rates[queue] > 0 for queue in queues):
        return {queue: QueueLoad(max(rates[queue], 0.0), lag=max(lag.get(queue) or 0, 0)) for queue in queues}, "rate"
    if all(lag.get(queue) is not None for queue in queues) and any(lag.get(queue) for queue in queues):
        return {queue: QueueLoad(0.0, lag=max(lag[queue] or 0, 0)) for queue in queues}, "lag"
    raise UserError(
        f"group {observed.name}: the sources show neither the rate nor the lag of every queue, expected a running"
        " cluster (read twice, --rate-over), or the offsets view of a group with lag"
    )


def simulated_load(variant: Variant, name: str, capacity: float | None) -> GroupLoad:
    """The load of a scenario's group as it is when the scenario is over; so it is run once."""
    result = run_variant(variant)
    group, production = result.ending.groups[name], productions(result)
    members = {key: part for key, part in result.ending.members.items() if key.group == name}
    waiting = {each.queue: each.records for each in lag_of(result, production, [result.timeline.end])}
    loads = {
        queue: QueueLoad(production[queue].rate_at_end if queue in production else 0.0, lag=waiting.get(queue, 0))
        for queue in read_queues(group)
    }
    if not any(load.rate or load.lag for load in loads.values()):
        raise UserError(f"group {name}: the scenario writes no records at its end, expected a load")
    can = {key.member: each for key, each in records_per_second(variant, members).items()}
    told: Capacity = capacity or (can if all(map(isfinite, can.values())) else None)
    today = {key.member: result.timeline.owned.get((name, key.member), ()) for key in members}
    return GroupLoad.of(group, today, loads, "rate", told)


def read_queues(group: Group) -> list[Queue]:
    """The queues of topics that somebody subscribes to."""
    return [queue for topic, who in group.subscribers().items() if who for queue in group.topics[topic]]


def whole_gain(load: GroupLoad, after: Mapping[str, Sequence[Queue]]) -> Gain:
    """From today's owners to these, all at once."""
    return next(gains(load, [_moves(load.today, after)]))


def gains(load: GroupLoad, steps: Sequence[Sequence[Move]]) -> Iterator[Gain]:
    """What each of the steps brings, one after the other."""
    owned = {member: list(load.today.get(member, ())) for member in (each.id for each in load.group.members)}
    before = _state(load, owned)
    for moves in steps:
        for move in moves:
            if move.before:
                owned[move.before].remove(move.queue)
            owned[move.after].append(move.queue)
        after = _state(load, owned)
        yield Gain(tuple(moves), before, after, load.capacity is not None)
        before = after


def steps_of(load: GroupLoad, after: Mapping[str, Sequence[Queue]], most: int) -> list[list[Move]]:
    """The moves in ``most`` steps or fewer: of each member what it gives up, the busiest one's first."""
    by_member: dict[str, list[Move]] = {}
    for move in _moves(load.today, after):
        by_member.setdefault(move.before, []).append(move)
    busy = _utilisation(load, load.today)
    ordered = [by_member[member] for member in sorted(by_member, key=lambda each: (-busy.get(each, 0), each))]
    size = max(1, -(-len(ordered) // most))
    return [[move for moves in ordered[at : at + size] for move in moves] for at in range(0, len(ordered), size)]


def _moves(today: Mapping[str, Sequence[Queue]], after: Mapping[str, Sequence[Queue]]) -> list[Move]:
    was = {queue: member for member, queues in today.items() for queue in queues}
    return [
        Move(queue, was.get(queue, ""), member)
        for member, queues in after.items()
        for queue in queues
        if was.get(queue) != member
    ]


def _utilisation(load: GroupLoad, owned: Mapping[str, Sequence[Queue]]) -> dict[str, Fraction]:
    """Of each member; without capacities its load over the mean of all."""
    needs = {member: sum(load.loads[queue].need(DRAIN_S) for queue in queues) for member, queues in owned.items()}
    mean = sum((each.need(DRAIN_S) for each in load.loads.values()), Fraction(0)) / len(needs) or Fraction(1)
    return {member: Fraction(need) / (_capacity(load, member) or mean) for member, need in needs.items()}


def _capacity(load: GroupLoad, member: str) -> Fraction | None:
    told = load.capacity.get(member) if isinstance(load.capacity, Mapping) else load.capacity
    return None if told is None else Fraction(told)


def _state(load: GroupLoad, owned: Mapping[str, Sequence[Queue]]) -> State:
    highest = float(max(_utilisation(load, owned).values()))
    drains = []
    for member, queues in owned.items():
        capacity = _capacity(load, member)
        drains.append(None if capacity is None else drain_time([load.loads[queue] for queue in queues], capacity))
    known = [each for each in drains if each is not None]
    return State(highest, max(known) if len(known) == len(drains) else None)
