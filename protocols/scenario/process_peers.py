"""Who shares the fate of whom: a process that dies takes all its members along, and a process that hears of a change in
one of its groups may look at all of them."""

from typing import NamedTuple

from protocols.scenario.topology import Topology


class ProcessPeers(NamedTuple):
    """``in_process``: the name of a member or process to the names of all members of that process. ``informed``: the
    name of a member to the names of those who may hear when something happens to it: all members of every process in
    which its group has a member."""

    in_process: dict[str, tuple[str, ...]]
    informed: dict[str, frozenset[str]]

    @classmethod
    def of(cls, topology: Topology) -> "ProcessPeers":
        """The peers in a scenario."""
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
