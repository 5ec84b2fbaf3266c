"""Who decides: Kafka's assignors, what others published, ours, and one who knows the future.

The first-fit variants are those of Landau et al. (2022), from their rules: consumers in descending order of their
rates; of each, the smallest partitions first go to bins that are open already as long as they fit; then its own bin
opens and takes the largest of the rest that fit; what is left goes to any bin, largest first. Their number of consumers
is free; here the members are given, and what fits nowhere goes to whoever has least.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil

from compare import QueueLoad, load_aware, moves_that_pay
from kafka_coordinator import assign
from protocols import Allocation, Group, Queue
from tools.loads.day import MOVE_S, Contender, Seen
from tools.loads.families import Load

AHEAD_S = 60
"""How far the clairvoyant sees."""

HYSTERESIS = 0.1

DRAIN_S = 30.0
"""The limit that load-aware works to."""

BELIEVED_S = 60.0
"""How long the moves that pay believe what was measured."""

Ask = Callable[[Seen], Sequence[int]]


def of_kafka(name: str) -> Ask:
    """One of Kafka's assignors, at whose turn nothing changes unless members do."""

    def ask(seen: Seen) -> list[int]:
        group, today = _group(seen)
        return _members(group, assign(name, group, previous=today))

    return ask


def lag_greedy(seen: Seen) -> list[int]:
    """The lag-based assignor: largest lag first, to who has fewest partitions, of these to who has least lag."""
    lag = dict.fromkeys(seen.capacity, 0.0)
    count = dict.fromkeys(seen.capacity, 0)
    at = [-1] * len(seen.lag)
    for queue in sorted(range(len(at)), key=lambda queue: (-seen.lag[queue], queue)):
        member = min(seen.capacity, key=lambda each: (count[each], lag[each], each))
        at[queue] = member
        lag[member] += seen.lag[queue]
        count[member] += 1
    return at


def modified_fit(best: bool) -> Ask:
    """Landau et al.'s modified worst fit or best fit."""

    def ask(seen: Seen) -> list[int]:
        room = dict(seen.capacity)
        opened: list[int] = []
        at = [-1] * len(seen.rate)
        own = {member: [queue for queue, each in enumerate(seen.owner) if each == member] for member in room}
        rest = [queue for queue, member in enumerate(seen.owner) if member == -1]

        def put(queue: int, members: Sequence[int]) -> bool:
            fitting = [member for member in members if room[member] >= seen.rate[queue]]
            if not fitting:
                return False
            chosen = (min if best else max)(fitting, key=lambda each: (room[each], each))
            at[queue] = chosen
            room[chosen] -= seen.rate[queue]
            return True

        for member in sorted(room, key=lambda each: (-sum(seen.rate[queue] for queue in own[each]), each)):
            queues = sorted(own[member], key=lambda queue: seen.rate[queue])
            while queues and put(queues[0], opened):
                queues.pop(0)
            opened.append(member)
            rest += [queue for queue in queues[::-1] if not put(queue, [member])]
        for queue in sorted(rest, key=lambda queue: -seen.rate[queue]):
            if not put(queue, list(room)):
                at[queue] = max(room, key=lambda each: (room[each], each))
                room[at[queue]] -= seen.rate[queue]
        return at

    return ask


def keda_like(seen: Seen) -> list[int]:
    """An autoscaler beside Kafka's sticky assignor: as many of the members as the lag asks for, one for each 200
    records that wait, half of them at least; it has no more members than the others."""
    most = len(seen.capacity)
    wanted = min(most, max(ceil(most / 2), ceil(sum(seen.lag) / 200)))
    chosen = dict(list(seen.capacity.items())[:wanted])
    owner = tuple(member if member in chosen else -1 for member in seen.owner)
    return list(of_kafka("sticky")(replace(seen, capacity=chosen, owner=owner)))


def by_load(seen: Seen, hysteresis: float = HYSTERESIS) -> list[int]:
    """What load-aware says to what is seen: fewest moves to a level."""
    group, today = _group(seen)
    capacity = {str(member): each for member, each in seen.capacity.items()}
    loads = _loads(seen, group)
    found = load_aware(group, today, loads, capacity=capacity, drain_s=DRAIN_S, hysteresis=hysteresis, steps=2_000)
    return _members(group, found.allocation)


def by_waiting(seen: Seen) -> list[int]:
    """What the rule for controllers says to what is seen: the moves that pay."""
    group, today = _group(seen)
    capacity = {str(member): each for member, each in seen.capacity.items()}
    found = moves_that_pay(group, today, _loads(seen, group), capacity=capacity, move_s=MOVE_S, horizon_s=BELIEVED_S)
    return _members(group, found.allocation)


def _loads(seen: Seen, group: Group) -> dict[Queue, QueueLoad]:
    measured = zip(group.queues, zip(*seen.parts, strict=True), seen.lag, strict=True)
    return {queue: QueueLoad.measured(rates, round(lag)) for queue, rates, lag in measured}


def knowing(load: Load, ask: Ask, *, free: bool = False, told: bool = False) -> Ask:
    """One who asks the same, but knows the rates and capacities of the next `AHEAD_S` seconds; ``told``: only up to the
    next change, of which it learns as it happens. ``free``: it starts from nobody's owning anything."""

    def asked(seen: Seen) -> Sequence[int]:
        changes = (load.changes or ()) if told else ()
        end = min([each for each in changes if each > seen.second], default=len(load.rates))
        ahead = slice(seen.second, min(seen.second + AHEAD_S, end))
        rate = tuple(sum(each) / len(load.rates[ahead]) for each in zip(*load.rates[ahead], strict=True))
        capacity = {member: min(each[member] for each in load.capacity[ahead]) for member in seen.capacity}
        owner = (-1,) * len(rate) if free else seen.owner
        return ask(replace(seen, rate=rate, parts=(rate,), owner=owner, capacity=capacity))

    return asked


FREE, FEWEST, FORESEEN = "clairvoyant, moves are free", "clairvoyant, fewest moves", "clairvoyant, moves that pay"
TOLD, OURS = "told of changes, moves that pay", "moves that pay"
EVERY_15, UNWEIGHED = "moves that pay, asked every 15 s alone", "load-aware, fewest moves"


def of_ours(load: Load) -> dict[str, Contender]:
    """Ours and those that it is measured by. Nobody can be told of changes that nobody knows."""
    told = Contender(knowing(load, by_waiting, told=True), alert=True)
    return {
        FREE: Contender(knowing(load, lambda seen: by_load(seen, hysteresis=0.0), free=True), move_s=0),
        FEWEST: Contender(knowing(load, by_load)),
        FORESEEN: Contender(knowing(load, by_waiting)),
        **({} if load.changes is None else {TOLD: told}),
        OURS: Contender(by_waiting, alert=True),
        EVERY_15: Contender(by_waiting),
        UNWEIGHED: Contender(by_load, alert=True),
    }


def contenders(load: Load) -> dict[str, Contender]:
    """By the names of the page."""
    return {
        **of_ours(load),
        "kafka: sticky": Contender(of_kafka("sticky")),
        "kafka: uniform": Contender(of_kafka("uniform")),
        "lag-based, greedy": Contender(lag_greedy),
        "modified worst fit": Contender(modified_fit(best=False)),
        "modified best fit": Contender(modified_fit(best=True)),
        "KEDA-like, sticky": Contender(keda_like),
    }


def _group(seen: Seen) -> tuple[Group, dict[str, list[Queue]]]:
    group = Group.of({"orders": len(seen.rate)}, {str(member): ["orders"] for member in seen.capacity})
    today: dict[str, list[Queue]] = {str(member): [] for member in seen.capacity}
    for queue, member in zip(group.queues, seen.owner, strict=True):
        if member != -1:
            today[str(member)].append(queue)
    return group, today


def _members(group: Group, allocation: Allocation) -> list[int]:
    return [int(allocation.owners[queue][0]) for queue in group.queues]
