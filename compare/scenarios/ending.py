"""Who and what is there when a run is over, as the scenario says: members alive, topics and their queues."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from protocols import Allocation, Group, Member, Queue
from protocols.scenario.events import MemberChange
from protocols.scenario.groups import MemberPart
from protocols.scenario.model import Scenario
from protocols.scenario.topology import MemberKey, Topology, listed_members
from protocols.timeline import Numbering
from protocols.timeline.lifetimes import last_topics


@dataclass(frozen=True, slots=True)
class Ending:
    """``members``: those alive, hung ones among them. ``groups``: each group of the scenario with them as its members.
    ``names``: what each member is called in results: its name, or ``group/name`` where it is in several groups."""

    members: Mapping[MemberKey, MemberPart]
    groups: Mapping[str, Group]
    names: Mapping[MemberKey, str]

    def allocation(self, group: str, owned: Mapping[tuple[str, str], tuple[Queue, ...]]) -> Allocation:
        """What the living members of a group own of the queues that there are. ``owned``: (group, member) to queues."""
        known = frozenset(self.groups[group].queues)
        return Allocation(
            self.groups[group],
            {
                member.id: [queue for queue in owned.get((group, member.id), ()) if queue in known]
                for member in self.groups[group].members
            },
        )

    def expected(self) -> list[tuple[str, Queue]]:
        """(Group, queue) of every queue that somebody alive subscribes to."""
        return [
            (name, queue)
            for name, group in self.groups.items()
            for topic, who in group.subscribers().items()
            if who
            for queue in group.topics[topic]
        ]


def ending(scenario: Scenario, numbering: Numbering) -> Ending:
    """How the scenario ends for a system that numbers queues in this way."""
    topics = last_topics(scenario, numbering)
    there = _alive(scenario)
    groups = {}
    for name in scenario.groups:
        members = {key.member: part for key, part in there.items() if key.group == name}
        plain = Group.of(
            topics={topic: len(queues) for topic, queues in topics.items()},
            members={
                member: {"pattern": part.pattern} if part.pattern else {"subscribe": part.subscribe}
                for member, part in members.items()
            },
        )
        groups[name] = Group(
            tuple(
                Member(
                    each.id,
                    each.subscription,
                    each.pattern,
                    members[each.id].instance_id,
                    members[each.id].rack,
                    members[each.id].client_id,
                    members[each.id].process,
                )
                for each in plain.members
            ),
            topics,
            name=name,
        )
    times = Counter(key.member for key in Topology.of(scenario).node)
    names = {
        key: key.member if times[key.member] == 1 else f"{key.group}/{key.member}" for key in Topology.of(scenario).node
    }
    return Ending(there, groups, names)


def _alive(scenario: Scenario) -> dict[MemberKey, MemberPart]:
    topology = Topology.of(scenario, one_node_per_member=True)
    parts = listed_members(scenario)
    there = dict.fromkeys(parts)
    of_node = {node: key for key, node in topology.node.items()}

    for event in scenario.events:
        if event.at > scenario.run.for_:
            break
        for name in event.members():
            key = topology.key(event.group, name)
            after = event.part_after(name, parts.get(key))
            if after is not None:
                parts[key] = after
            if event.member_change in (MemberChange.JOINS, MemberChange.RESTARTS):
                there[key] = None
            elif event.member_change is MemberChange.ENDS:
                for node in topology.together[key] if event.strikes_process() else (topology.node[key],):
                    there.pop(of_node[node], None)
    return {key: parts[key] for key in there}
