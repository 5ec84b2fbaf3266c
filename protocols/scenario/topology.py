"""Which process each member of a scenario lives in, and what the processes are called.

Who shares the fate of whom: a process that dies takes all its members along, and a process that hears of a change in
one of its groups may look at all of them.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from protocols.errors import UserError
from protocols.scenario.events.base import Event, MemberChange
from protocols.scenario.events.servers import Network
from protocols.scenario.fields import MemberPart
from protocols.scenario.model import Scenario

INFRASTRUCTURE = ("namesrv", "zookeeper", "proxy")
"""Processes that events may name beside brokers and members, where the system has them."""

ADMIN = "admin"
"""The administrator, whom no event names: resets of offsets and the like go through this process."""


class MemberKey(NamedTuple):
    """A member of the scenario: its name is unique within its group only."""

    group: str
    member: str


def listed_members(scenario: Scenario) -> dict[MemberKey, MemberPart]:
    """The members that the groups list, in that order: they are there from the beginning."""
    return {
        MemberKey(group, member): part
        for group, each in scenario.groups.items()
        for member, part in each.members.items()
    }


@dataclass(frozen=True, slots=True)
class Topology:
    """Members to processes and back, over the whole run (members that join later are in it from the start).

    A member's process has the member's name (``group/member`` where that name is in several groups), or the name that
    the scenario gives it with ``process``. A system that runs one node per process uses `node`; one that runs one
    node per member (``one_node_per_member=True``) finds all that live and die together with a member in `together`.
    """

    node: dict[MemberKey, str]
    """Member to the name of its node."""
    members: dict[str, tuple[MemberKey, ...]]
    """Node to its members, in the order of the scenario."""
    together: dict[MemberKey, tuple[str, ...]]
    """Member to the nodes of its process, its own among them."""
    processes: dict[str, tuple[str, ...]]
    """Process (under the name that ``process`` gives it, or its only member's) to its nodes."""
    brokers: tuple[str, ...]
    faults: list[Network]
    """What is wrong with the network now, in the order in which it began."""
    one_node_per_member: bool

    @classmethod
    def of(cls, scenario: Scenario, *, one_node_per_member: bool = False) -> "Topology":
        process_of = {key: part.process for key, part in listed_members(scenario).items()}
        for event in scenario.events:
            if event.member_change is MemberChange.JOINS:
                for name in event.members():
                    key = MemberKey(event.group or _only_group(scenario, name), name)
                    process_of[key] = process_of.get(key) or event.process_of_members()
        times = Counter(key.member for key in process_of)
        node: dict[MemberKey, str] = {}
        living: dict[str, list[MemberKey]] = {}
        for key, process in process_of.items():
            own = key.member if times[key.member] == 1 else f"{key.group}/{key.member}"
            node[key] = own if process is None or one_node_per_member else process
            living.setdefault(own if process is None else process, []).append(key)
        members: dict[str, list[MemberKey]] = {}
        for key, name in node.items():
            members.setdefault(name, []).append(key)
        together = {key: tuple(dict.fromkeys(node[each] for each in keys)) for keys in living.values() for key in keys}
        return cls(
            node,
            {name: tuple(keys) for name, keys in members.items()},
            together,
            {name: together[keys[0]] for name, keys in living.items()},
            scenario.brokers,
            [],
            one_node_per_member,
        )

    def learn(self, scenario: Scenario) -> None:
        """The scenario has gone on: more events are known. Members that were there keep their processes."""
        after = Topology.of(scenario, one_node_per_member=self.one_node_per_member)
        self.node.update(after.node)
        self.members.update(after.members)
        self.together.update(after.together)
        self.processes.update(after.processes)

    def key(self, group: str | None, member: str) -> MemberKey:
        """The member that an event means; ``group`` may be None where the member's name is in one group only."""
        if group is not None:
            found = [key for key in (MemberKey(group, member),) if key in self.node]
        else:
            found = [key for key in self.node if key.member == member]
        if len(found) != 1:
            what = "is in several groups, say which" if found else "is in no group"
            raise UserError(f"member {member!r} {what}")
        return found[0]

    def starting(self, event: Event) -> MemberKey:
        (name,) = event.members()
        return self.key(event.group, name)

    def names(self) -> frozenset[str]:
        times = Counter(key.member for key in self.node)
        alone = (name for name, count in times.items() if count == 1)
        return frozenset((*self.processes, *self.brokers, *INFRASTRUCTURE, *alone))

    def named(self, name: str) -> tuple[str, ...]:
        """The nodes that an event means by a name: of a member, a process, a broker, or of the infrastructure."""
        if name in self.processes:
            return self.processes[name]
        if name in self.brokers or name in INFRASTRUCTURE:
            return (name,)
        return self.together[self.key(None, name)]

    def others(self, nodes: Iterable[str]) -> tuple[str, ...]:
        """Every node but these, in a fixed order."""
        left_out = set(nodes)
        return tuple(name for name in (*self.brokers, *INFRASTRUCTURE, *self.members) if name not in left_out)


def _only_group(scenario: Scenario, member: str) -> str:
    holding = [name for name, group in scenario.groups.items() if member in group.members]
    found = holding or list(scenario.groups)
    if len(found) != 1:
        raise UserError(f"member {member!r} joins: say which group, expected one of {', '.join(scenario.groups)}")
    return found[0]


class ProcessPeers(NamedTuple):
    """``in_process``: the name of a member or process to the names of all members of that process. ``informed``: the
    name of a member to the names of those who may hear when something happens to it: all members of every process in
    which its group has a member."""

    in_process: dict[str, tuple[str, ...]]
    informed: dict[str, frozenset[str]]

    @classmethod
    def of(cls, topology: Topology) -> "ProcessPeers":
        of_node: dict[str, list[str]] = {}
        for key, node in topology.node.items():
            of_node.setdefault(node, []).append(key.member)
        in_process: dict[str, tuple[str, ...]] = {}
        in_group: dict[str, set[str]] = {}
        named = [*((key.member, nodes) for key, nodes in topology.together.items()), *topology.processes.items()]
        for name, nodes in named:
            peers = [member for node in nodes for member in of_node[node]]
            in_process[name] = tuple(dict.fromkeys((*in_process.get(name, ()), *peers)))
        for key, nodes in topology.together.items():
            in_group.setdefault(key.group, set()).update(member for node in nodes for member in of_node[node])
        informed: dict[str, frozenset[str]] = {}
        for key in topology.node:
            informed[key.member] = informed.get(key.member, frozenset()) | in_group[key.group]
        return cls(in_process, informed)
