"""Where RocketMQ's members differ, and so leave queues to nobody, or to several, for as long as they do.

Kafka's members have a coordinator that decides. What every member of a group would take once it knows all others says
whether a queue waits, or has two owners, for such a reason, or only because the members have not noticed yet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.scenarios.ending import Ending
from compare.scenarios.own_settings import own_part, with_own_settings
from compare.scenarios.systems import member_settings
from compare.scenarios.variants import Variant
from protocols import Allocation, Queue
from protocols.scenario.systems import split_system
from protocols.scenario.topology import Topology
from rocketmq_selfbalance.allocate import allocate
from rocketmq_selfbalance.codes import BROADCASTING
from rocketmq_selfbalance.disagreement import Standing, why_nobody, why_several
from rocketmq_selfbalance.members import Members
from rocketmq_selfbalance.settings import configuration


@dataclass(frozen=True, slots=True)
class Reasons:
    """Sentences without their ends, each once; empty where nothing keeps the members from agreeing."""

    unowned: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


def members_of(variant: Variant) -> Members | None:
    """The members of a variant in which each shares for itself (RocketMQ), as they are in the beginning; None of
    others."""
    scenario, part = variant.scenario, variant.part
    if split_system(part.system)[0] != "rocketmq":
        return None
    own = with_own_settings(scenario, part.system)
    return Members(own, part, Topology.of(own), configuration(part.settings, variant.label))


def broadcasting_groups(variant: Variant) -> frozenset[str]:
    """The groups in which nothing is shared: every member reads every queue (BROADCASTING, spec rocketmq 4.2)."""
    members = members_of(variant)
    models = {} if members is None else members.message_models
    return frozenset(group for group, found in models.items() if found == {BROADCASTING})


def reasons(variant: Variant, then: Ending, allocations: Iterable[tuple[str, Allocation]]) -> Reasons:
    """Why queues have no owner, or several, and will, as long as nothing happens. ``then``: who and what is there;
    ``allocations``: groups, and who owns what in them."""
    faulty = [(group, each) for group, each in allocations if each.unowned or each.double_owned]
    members = members_of(variant) if faulty else None
    if members is None:
        return Reasons()
    own = member_settings(variant.part.system)
    members.parts = {key: own_part(part, own) for key, part in then.members.items()}
    unowned: dict[str, None] = {}
    shared: dict[str, None] = {}
    for name, allocation in faulty:
        standings = {
            key.member: members.standing(key, then.groups[name].topics) for key in then.members if key.group == name
        }
        agreed = _agreed(then, name, standings)
        for queue, having in allocation.owners.items():
            if not having and queue in agreed.unowned:
                why = why_nobody(list(standings.values()), queue.topic)
                unowned |= {} if why is None else {why: None}
            elif len(having) > 1 and _stays_shared(queue, agreed, standings, having):
                why = why_several([standings[member] for member in sorted(having)], list(standings.values()))
                shared |= {} if why is None else {why: None}
    return Reasons(tuple(unowned), tuple(shared))


def _stays_shared(queue: Queue, agreed: Allocation, standings: Mapping[str, Standing], having: Sequence[str]) -> bool:
    everything = any(standings[member].message_model == BROADCASTING for member in having)
    return everything or queue in agreed.double_owned


def _agreed(then: Ending, name: str, standings: Mapping[str, Standing]) -> Allocation:
    """What the members take who all know all of them."""
    group = then.groups[name]
    members = tuple(replace(each, client_id=standings[each.id].client_id, process=None) for each in group.members)
    strategies = {member: standing.strategy for member, standing in standings.items()}
    return allocate(next(iter(strategies.values())), replace(group, members=members), strategies=strategies)
