"""A group of real clients at one moment, as the assertions of simulated groups look at it (`compare.testing.world`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from compare.running.run_variant import Ending, ending
from compare.serving.cluster import Served
from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.scenario.model import Scenario
from protocols.scenario.topology import MemberKey, Topology
from protocols.timeline import Lifetimes, Timeline

Ends = Callable[[Queue, Time], int]
"""A queue and a time to the offset of the next record that was written after it."""


@dataclass(frozen=True)
class RealCluster:
    """Who is in which process, and where the queues end."""

    topology: Topology
    end_offset: Ends
    _registered: Mapping[str, frozenset[str]]

    def registered(self, group: str) -> frozenset[str]:
        """The nodes of the members that the servers count in."""
        return self._registered.get(group, frozenset())


@dataclass(frozen=True)
class RealWorld:
    """What was true at ``now`` (milliseconds). ``owned``: member to what it believes to own."""

    now: Time
    group: str
    scenario: Scenario
    owned: Mapping[str, tuple[Queue, ...]]
    rebalancing: bool
    last_change: Time
    lives: Lifetimes
    cluster: RealCluster
    ending: Ending
    make_timeline: Callable[[], Timeline]
    busy_until: Time | None = None

    @classmethod
    def of(cls, served: Served, group: str, end_offset: Ends) -> "RealWorld":
        """The group now; to be called in the servers' thread."""
        history, service = served.history, served.service
        now = served.world.tell_time()
        history.look(now)
        scenario = history.scenario("real clients", now)
        if group not in scenario.groups:
            raise LookupError(f"no member of {group!r} has come so far")
        topology = Topology.of(scenario)
        nodes = frozenset(topology.node[MemberKey(group, member)] for member in service.members(group))
        return cls(
            now=now,
            group=group,
            scenario=scenario,
            owned={member: queues for (of, member), queues in history.owned.items() if of == group},
            rebalancing=history.rebalancing.get(group, False),
            last_change=history.last_change,
            lives=dict(history.lives),
            cluster=RealCluster(topology, end_offset, {group: nodes}),
            ending=ending(scenario, service.numbering),
            make_timeline=lambda: history.timeline(now),
        )

    @cached_property
    def topics(self) -> Mapping[str, tuple[Queue, ...]]:
        """Topic to its queues."""
        return self.ending.groups[self.group].topics

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Those alive."""
        return tuple(key.member for key in self.ending.members if key.group == self.group)
