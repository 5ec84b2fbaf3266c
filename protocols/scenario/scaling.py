"""An autoscaler: it looks at a group's lag while the scenario runs, and lets members join and leave.

It decides as Kubernetes' HorizontalPodAutoscaler does for a metric that KEDA's scaler for Kafka reports:

| rule | here |
|---|---|
| lag | log end minus committed offset, over all queues that the group reads; one without a committed offset counts 1 |
| wanted | ceil(lag / ``lag``), no change while lag / (``lag`` x members) is within ``tolerance`` of 1 |
| bounds | ``between``; not more members than queues unless ``allow_idle`` |
| up | at once, in 15 s by 4 members or to twice as many, whichever is more |
| down | to the most that was wanted within ``stabilization``, the newest members first |

A member that it starts is like the first one of its group, in a process of its own, and joins ``starts_in`` later; one
that it ends closes properly. Where nobody can tell the lag (no coordinator), nothing changes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from math import ceil
from typing import NamedTuple, Protocol

from protocols.engine.nodes import Time
from protocols.engine.simulation import Simulation
from protocols.errors import UserError
from protocols.scenario.events import Event, Join, Leave, MemberChange
from protocols.scenario.fields import MemberPart, next_name
from protocols.scenario.jitter import Beginning
from protocols.scenario.model import ScalePart, Scenario
from protocols.scenario.topology import Topology

AUTOSCALER = "autoscaler"
"""Labels of decisions begin with it."""
LOOKS = "an autoscaler looks"
"""Label of the calls in which it does."""

UP_PERIOD_MS: Time = 15_000.0
UP_MEMBERS, UP_FACTOR = 4, 2
"""In such a time at most so many more, or so many times as many: the default policies for scaling up."""


class Backlog(NamedTuple):
    """What waits for a group: ``records`` as the tools tell it, in so many ``queues`` that it reads."""

    records: int
    queues: int


class Scalable(Protocol):
    """A cluster whose groups an autoscaler may look at."""

    topology: Topology

    def backlog(self, group: str) -> Backlog | None:
        """None where nobody can tell at the moment."""

    def apply(self, event: Event) -> None: ...

    def learn(self, scenario: Scenario) -> None: ...


class Decision(NamedTuple):
    """An autoscaler wants ``after`` members instead of ``before``. ``at`` in milliseconds."""

    at: Time
    group: str
    lag: int
    before: int
    after: int


class Scaling:
    """The autoscalers of one run. ``decisions`` and ``events`` are what they did so far.

    ``scenario``: as the cluster knows it; ``learned`` hears of it whenever it has gone on. Raises `UserError` for a
    system whose lag nobody can tell.
    """

    def __init__(
        self,
        scenario: Scenario,
        cluster: object,
        simulation: Simulation,
        calls: dict[int, Event | None],
        beginning: Beginning,
        learned: Callable[[Scenario], None],
    ) -> None:
        self.decisions: list[Decision] = []
        self.events: list[Event] = []
        self.calls, self.simulation = calls, simulation
        self._scenario, self._learned = scenario, learned
        if scenario.scale and not hasattr(cluster, "backlog"):
            raise UserError("scale: no lag is told that an autoscaler could look at, expected kafka or rocketmq")
        for rule in scenario.scale:
            Autoscaler(rule, scenario, cluster, self, beginning)  # type: ignore[arg-type]  # it has a backlog

    def decided(self, decision: Decision, events: Sequence[Event], cluster: Scalable) -> None:
        """The members of these events come and go."""
        self.decisions.append(decision)
        self.events += events
        going_on = in_order(self._scenario.events, events)
        self._scenario = self._scenario.model_copy(update={"events": going_on})
        cluster.learn(self._scenario)
        self._learned(self._scenario)
        simulation = self.simulation
        text = f"{AUTOSCALER}: {decision.lag:,} records of {decision.group} wait: {decision.after} members"
        simulation.at(simulation.now, _nothing, f"{text} instead of {decision.before}")
        for event in events:
            self.calls[simulation.at(event.at, partial(cluster.apply, event), event.describe())] = event


def in_order(*events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(sorted(chain(*events), key=lambda event: event.at))


def _nothing() -> None:
    """A decision is told, and does nothing by itself."""


class Autoscaler:
    """The one of a group."""

    def __init__(
        self, rule: ScalePart, scenario: Scenario, cluster: Scalable, scaling: Scaling, beginning: Beginning
    ) -> None:
        self._rule, self._cluster, self._scaling = rule, cluster, scaling
        members = scenario.groups[rule.group].members
        self._like = next(iter(members.values()))
        self._members: dict[str, Time] = dict.fromkeys(members, 0.0)
        """Member to when it joins, the oldest first; those whose pods are starting are counted."""
        self._own: dict[str, None] = {}
        """Names that it has made."""
        self._coming = [event for event in scenario.events if event.group == rule.group and event.members()]
        self._wanted: list[tuple[Time, int]] = [(rule.at, len(members))]
        self._added: list[tuple[Time, int]] = []
        first = rule.at + beginning.first(rule.every, rule.every, "autoscaler", rule.group)
        scaling.simulation.at(first, self._look, LOOKS)

    def _look(self) -> None:
        simulation, rule = self._scaling.simulation, self._rule
        now = simulation.now
        simulation.at(now + rule.every, self._look, LOOKS)
        self._follow(now)
        backlog = self._cluster.backlog(rule.group)
        if backlog is None or not self._members:
            return
        before = len(self._members)
        after = self._target(now, backlog, before)
        events = self._more(now, after - before) if after > before else self._fewer(now, before - after)
        if events:
            decision = Decision(now, rule.group, backlog.records, before, len(self._members))
            self._scaling.decided(decision, events, self._cluster)

    def _follow(self, now: Time) -> None:
        """Members that the scenario's own events start and end."""
        while self._coming and self._coming[0].at <= now:
            event = self._coming.pop(0)
            for name in event.members():
                if event.member_change in (MemberChange.JOINS, MemberChange.RESTARTS):
                    self._members.setdefault(name, event.at)
                elif event.member_change is MemberChange.ENDS:
                    self._members.pop(name, None)

    def _target(self, now: Time, backlog: Backlog, before: int) -> int:
        rule = self._rule
        least, most = rule.between
        wanted = before
        if abs(backlog.records / (rule.lag * before) - 1) > rule.tolerance:
            wanted = ceil(backlog.records / rule.lag)
        if not rule.allow_idle:
            wanted = min(wanted, backlog.queues)
        self._wanted = [each for each in self._wanted if each[0] > now - rule.stabilization]
        self._wanted.append((now, wanted))
        target = max(before, wanted) if wanted > before else min(before, max(count for _, count in self._wanted))
        self._added = [each for each in self._added if each[0] > now - UP_PERIOD_MS]
        base = before - sum(count for _, count in self._added)
        return max(least, min(most, target, max(base + UP_MEMBERS, base * UP_FACTOR)))

    def _more(self, now: Time, count: int) -> list[Event]:
        self._added.append((now, count))
        joins: list[Event] = []
        for name in [self._free_name() for _ in range(count)]:
            joins.append(joining(name, self._like, self._rule.group, now + self._rule.starts_in))
        return joins

    def _free_name(self) -> str:
        """One of its own that is gone; else the next number after the last one."""
        name = next((each for each in self._own if each not in self._members), None)
        if name is None:
            taken = self._cluster.topology.names()
            name = next(reversed(self._own or self._members))
            while name in taken or name in self._own or name in self._members:
                name = next_name(name) or f"{name}-2"
        self._own[name] = None
        self._members[name] = self._scaling.simulation.now + self._rule.starts_in
        return name

    def _fewer(self, now: Time, count: int) -> list[Event]:
        """The newest go, of those that run."""
        running = [name for name, since in self._members.items() if since < now]
        leaves: list[Event] = []
        for name in list(reversed(running))[:count]:
            del self._members[name]
            leaves.append(Leave(at=now, group=self._rule.group, leave=name))
        return leaves


def joining(name: str, like: MemberPart, group: str, at: Time) -> Join:
    """A member that is like another one, in a process of its own."""
    fields: Mapping[str, object] = {field: getattr(like, field) for field in MemberPart.model_fields}
    own = {"process": None, "client_id": None, "instance_id": name if like.instance_id is not None else None}
    return Join(at=at, group=group, join=name).model_copy(update={**fields, **own})
