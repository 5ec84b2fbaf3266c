"""What varies from seed to seed beside latencies and random choices: when members start, when events happen, and where
in their periods the servers' clocks are.

Every number is a function of the seed and the name of what is shifted (`protocols.engine.randomness`), so one seed
gives the same run alone and among many. A scenario's times are shifted so:

| what | how |
|---|---|
| events at 0s, and moments that events refer to (``to`` of a reset) | stay |
| events at one time, and those that begin as others end | shifted together: they mean "at once" |
| an event that lasts, a broker's outage | keeps its length; where its end lies before the end of the run, it stays so |
| every other event | up to `MOST_EVENT_SHIFT` later, at most half of the time to what comes next |
| members that are there from 0s on | up to `MOST_START_SHIFT` later, at most half of the time to the first event |

So the order of everything that begins or ends stays, and at least half of every distance.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from protocols.engine.nodes import Time
from protocols.engine.randomness import number_below
from protocols.scenario.model import Scenario
from protocols.scenario.topology import MemberKey, Topology, listed_members

MOST_START_SHIFT: Time = 5_000.0
"""Longer than the interval of Kafka's heartbeats (3 s) and of both systems' commits (5 s)."""

MOST_EVENT_SHIFT: Time = 30_000.0
"""As long as RocketMQ's route query, the longest period of those that decide when an event is noticed; the pass takes
20 s, Kafka's heartbeat 3 s."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """How what is there from the beginning starts: at 0s and in step, unless a seed says otherwise."""

    seed: int | None = None
    starts: Mapping[MemberKey, Time] = field(default_factory=dict)
    """Member to its start, in milliseconds, where that is not 0."""

    @classmethod
    def of(cls, scenario: Scenario, seed: int) -> "Beginning":
        """How this seed lets the scenario, as written, begin."""
        topology = Topology.of(scenario)
        at_once = {
            topology.node[topology.key(event.group, name)]
            for event in scenario.events
            if event.at == 0
            for name in event.members()
        }
        window = start_window(scenario)
        return cls(
            seed,
            {
                key: _below(window, seed, "start", topology.node[key])
                for key in listed_members(scenario)
                if topology.node[key] not in at_once
            },
        )

    def first(self, usual: Time, period: Time, *clock: str) -> Time:
        """When a server's clock that ticks every ``period`` ticks first: ``usual`` where everything begins in step,
        else as if the server had run for long. ``clock``: names of server and clock."""
        return usual if self.seed is None else 1.0 + _below(period - 1.0, self.seed, "clock", *clock)


IN_STEP = Beginning()
"""Everything that is there from the beginning starts at 0s."""


def shifted(scenario: Scenario, seed: int) -> Scenario:
    components, most = _components(scenario), event_windows(scenario)
    shifts = {at: _below(most[at], seed, "event", at) for at in most}
    events = tuple(
        event.model_copy(update={"at": event.at + shift}) if (shift := shifts[components[event.at]]) else event
        for event in scenario.events
    )
    return scenario.model_copy(update={"events": events})


def start_window(scenario: Scenario) -> Time:
    """The latest start of a member that is there from the beginning, in milliseconds."""
    first = min((event.at for event in scenario.events if event.at > 0), default=scenario.run.for_)
    return float(min(MOST_START_SHIFT, first / 2) // 1)


def event_windows(scenario: Scenario) -> dict[Time, Time]:
    """How far events may be shifted, in milliseconds: the first time of those that are shifted together (see
    `_components`) to the most."""
    components, end = _components(scenario), scenario.run.for_
    most = dict.fromkeys(components.values(), MOST_EVENT_SHIFT)
    nearest: tuple[Time, Time] = (end, -1.0)
    beyond = nearest  # the nearest later time that belongs to another component than the nearest one
    for time in sorted((component for component in components if component <= end), reverse=True):
        own = components[time]
        following = beyond if nearest[1] == own else nearest
        most[own] = min(most[own], (following[0] - time) / 2)
        beyond, nearest = following, (time, own)
    for time in _fixed(scenario):
        most[components[time]] = 0.0
    return {own: float(room // 1) for own, room in most.items()}


def _components(scenario: Scenario) -> dict[Time, Time]:
    """Every time at which something begins or ends, or that something refers to, to the first time of those with which
    it is shifted together."""
    first: dict[Time, Time] = {}

    def find(time: Time) -> Time:
        while first.setdefault(time, time) != time:
            first[time] = time = first[first[time]]
        return time

    def together(one: Time, other: Time) -> None:
        begin, end = find(one), find(other)
        first[max(begin, end)] = min(begin, end)

    ended: dict[str, Time] = {}
    for event in scenario.events:
        together(event.at, event.at + event.lasts())
        for broker, runs in event.broker_changes().items():
            if runs:
                together(ended.pop(broker, event.at), event.at)
            else:
                ended[broker] = event.at
    for time in _fixed(scenario):
        find(time)
    return {time: find(time) for time in first}


def _fixed(scenario: Scenario) -> list[Time]:
    """Times that stay: the beginning, and what events refer to."""
    return [0.0, *(time for event in scenario.events for time in event.refers_to())]


def _below(most: Time, *what: object) -> Time:
    """A whole number of milliseconds from 0 to ``most``."""
    return float(number_below(int(most) + 1, *what))
