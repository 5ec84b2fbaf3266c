"""The two ways to share by load (`by_load`): what a strategy of somebody's own brings in the steps that lead to it, and
the steps to lists that consumers `assign()` themselves.

Consumers that call assign() are no members: the broker takes their commits only while the group has none (spec kafka
2.2), so all members stop before the first of them commits. Nobody sees then who reads which partition; that somebody
does is shown by its committed offset.
"""

from collections.abc import Sequence
from dataclasses import replace

from compare.formatting import ratio, several
from compare.optima import load_aware
from compare.planning.by_load import (
    HYSTERESIS,
    RATES,
    GroupLoad,
    Move,
    gains,
    read_queues,
    steps_of,
    told_loads,
    whole_gain,
)
from compare.planning.kafka_routes import describe, members, progress
from compare.planning.promises import Promise, Shown, has_members
from compare.planning.subject import Route, Step, Subject, own_settings_of
from compare.reading.group_model import model_of
from compare.reading.observed import ObservedGroup
from protocols import Group, Queue
from protocols.errors import UserError
from protocols.scenario.fields import listed_members
from protocols.timeline.trace import queue_name

MOST_STEPS = 9
"""Steps of a plan at most."""


def with_gain(subject: Subject, way: Route, capacity: float | None) -> Route:
    """The way to a strategy by load, after whose first step it is in use: with what that brings, and what the checks
    ask."""
    load = subject.by_load
    steps = [replace(step, promises=(*step.promises, shares_by_load(capacity))) for step in way.steps]
    steps[0] = replace(steps[0], gain=None if load is None else whole_gain(load, load.by_strategy()))
    of_strategy = _OF_ROCKETMQ if subject.system == "rocketmq" else _OF_KAFKA
    return replace(way, steps=steps, notes=[*way.notes, of_strategy, _FROM_TODAY, *_certificate(load)])


_OF_KAFKA = (
    "load-aware is no assignor of a release: it takes a ConsumerPartitionAssignor of your own (in other libraries what"
    " they have in its place) whose name is load-aware. Members send it the partitions that they own; the leader needs"
    " the rates, so every member has the same table of them (key load of --format json), and a restart of the members,"
    " or a place that all read it from, brings a newer one."
)
_OF_ROCKETMQ = (
    "LOAD_AWARE is no strategy of a release: it takes an AllocateMessageQueueStrategy of your own. It is given one"
    " topic at a time and does not learn who owns what, so every client needs the same table of rates (key load of"
    " --format json) at the same time: with two tables, queues have two owners or none."
)


_FROM_TODAY = (
    "Moves and gain are those from today's owners to the strategy's answer. Restarts move queues, too, and the strategy"
    " goes on from what it finds then: the check asks whether a move would still help, not for these owners."
)


def _certificate(load: GroupLoad | None) -> list[str]:
    """What is proven of the best allocation."""
    if load is None:
        return []
    found = load.best
    if not found.cost:
        return ["By load, nothing has to move."]
    return [f"By load, {several(found.cost, 'move')} from today's owners would do. {found.proof()}"]


def by_lists(subject: Subject) -> Route:
    """The way to lists. Of a group whose load is not known (`plan --check`) as many steps as there may be."""
    load = subject.by_load
    promises = (has_members(0),) if subject.system == "kafka" else ()
    switch = Step(
        f"Stop {members(subject)}, and start again with what each owns today as a list: {_call(subject)} in place of a"
        f" subscription, with the same group and its committed offsets. Nothing moves yet. {_COMMITS[subject.system]}",
        _check(subject),
        f"Stop all, and start them with their subscription and {subject.strategy}.",
        promises=promises,
        reads_on=True,
    )
    if load is None:
        moved = [Step("", "", "", promises=promises, reads_on=True)] * (MOST_STEPS - 1)
        return Route([switch, *moved])
    moves = steps_of(load, load.best.allocation, MOST_STEPS - 1)
    steps = [
        Step(
            f"Hand over {several(len(gain.moves), 'queue')}: {moves_text(gain.moves)}. Whoever gives one up commits"
            " what it has handled and takes it off its list; only then the other one puts it on its own, and begins at"
            " the committed offset.",
            _check(subject),
            "The same the other way round.",
            promises=promises,
            gain=gain,
            reads_on=True,
        )
        for gain in gains(load, moves)
    ]
    return Route([switch, *steps], notes=[_NO_COST, _WATCH, *_certificate(load)])


_NO_COST = (
    "What the steps cost is not simulated, because the model has no consumers that call assign(): while all are"
    " stopped nobody reads, and each queue that is handed over has no reader between the two commands."
)
_WATCH = (
    "Nobody takes over what a consumer that ended had on its list: the controller has to notice that, and hand out its"
    " queues."
)
_COMMITS = {
    "kafka": "While one member that subscribes is left, commits of the others are refused with UNKNOWN_MEMBER_ID"
    " (spec kafka 2.2).",
    "rocketmq": "Push consumers cannot do that: it takes DefaultLitePullConsumer.",
}


def _call(subject: Subject) -> str:
    return "assign()" if subject.system == "kafka" else "DefaultLitePullConsumer.assign()"


def _check(subject: Subject) -> str:
    if subject.system == "kafka":
        view, shown = describe(subject, "--offsets"), "no member, and committed offsets that go on"
    else:
        view, shown = progress(subject), "committed offsets that go on"
    return f"`{view}` shows {shown} for every queue with lag."


def moves_text(moves: Sequence[Move]) -> str:
    """The moves by who gives up what to whom, for sentences."""
    found: dict[tuple[str, str], list[str]] = {}
    for move in moves:
        found.setdefault((move.before, move.after), []).append(queue_name(move.queue))
    return "; ".join(
        f"{listed_members(queues)} from {before or 'nobody'} to {after}" for (before, after), queues in found.items()
    )


def refuse_by_strategy(subject: Subject, target: str) -> None:
    """Raises `UserError` where no member chooses who owns what."""
    if subject.consumer_protocol:
        raise UserError(
            f"--to {target}: {subject.group} is a group of the consumer protocol, whose assignors run in the broker and"
            f" see neither rate nor lag, expected {target}:assign (lists for assign()), or first --to"
            " cooperative-sticky"
        )


def reads_on(before: ObservedGroup | None) -> Promise:
    """Every queue with lag has a committed offset above that of ``before``: somebody reads it."""

    def shown(observed: ObservedGroup) -> Shown:
        if before is None:
            return Shown(None, "whether queues are read (--before, with what it showed before the step, tells)")
        earlier, now = _committed(before), _committed(observed)
        behind = [queue for queue, lag in observed.lag.items() if lag]
        known = [queue for queue in behind if queue in earlier and queue in now]
        if not observed.lag or len(known) < len(behind):
            return Shown(None, "the committed offset of every queue before and after (the offsets view does)")
        stand = [queue_name(queue) for queue in known if now[queue] <= earlier[queue]]
        if stand:
            return Shown(False, f"{listed_members(stand)} with lag and no commit since")
        return Shown(True, f"of {several(len(observed.lag), 'queue')} each without lag, or with commits since")

    return shown


def _committed(observed: ObservedGroup) -> dict[Queue, int]:
    return {queue: end - lag for queue, end in observed.ends.items() if (lag := observed.lag.get(queue)) is not None}


def shares_by_load(capacity: float | None) -> Promise:
    """By the rates (or lags) that the source shows now, no move is needed: everybody keeps up, where it is known what
    a member can handle; else none would bring the largest load nearer to the least possible one than the strategy cares
    for. RocketMQ's strategy looks at each topic for itself."""

    def shown(observed: ObservedGroup) -> Shown:
        modelled = model_of(observed)
        if modelled is None or modelled.today.double_owned:
            return Shown(None, "who owns every queue")
        group = modelled.group
        try:
            loads, basis = told_loads(observed, read_queues(group))
        except UserError:
            return Shown(None, "rates (a running cluster does, read twice: --rate-over)")
        topics = [[topic] for topic in group.topics] if observed.system == "rocketmq" else [list(group.topics)]
        cost, highest = 0, 0.0
        for each in topics:
            part = Group(group.members, {topic: group.topics[topic] for topic in each}, name=group.name)
            found = load_aware(part, modelled.today, loads, capacity=capacity, hysteresis=HYSTERESIS)
            cost, highest = cost + found.cost, max(highest, found.highest or 0.0)
        if cost:
            text = f"{several(cost, 'move')} would even out the {basis}s that the source shows"
            return Shown(False, f"{text}: the members' table is another")
        level = f"{ratio(highest)} times the mean" if capacity is None else f"{highest:.0%} of what a member can handle"
        if capacity is not None and highest > 1:
            return Shown(False, f"largest {basis} {level}, and moves alone do not help: it takes more members")
        return Shown(True, f"largest {basis} {level}, for which no queue has to move")

    return shown


def settings_with_rates(subject: Subject, load: GroupLoad) -> Subject:
    """The group with the table of rates in its members' settings, where the model's strategies look for it, and with
    these rates as its load."""
    name = RATES[subject.system]
    told = {
        member: {**fields, "settings": {**own_settings_of(fields), name: load.table}}
        for member, fields in subject.members.items()
    }
    if load.basis == "lag":
        return replace(subject, members=told, by_load=load, assumptions=(*subject.assumptions, _LAG_ALONE))
    # Keys would give the queues other rates than these.
    rest = {name: value for name, value in subject.load.items() if name not in ("produce", "keys")}
    return replace(subject, members=told, by_load=load, load={**rest, "rates": load.produced})


_LAG_ALONE = "No source shows rates: what waits is taken for the load, and who is behind for who is busy."
