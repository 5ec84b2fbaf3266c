"""A variant's result: the record of the design, made of its timeline."""

from collections.abc import Mapping, Sequence
from typing import Any

from compare.best import Optimum, optimum
from compare.figures import GroupLoads, counted_figures
from compare.figures.definitions import RETRY
from compare.scenarios.checks import checks_of
from compare.scenarios.living import Lived
from protocols import Allocation, queue_key
from protocols.nodes import Time
from protocols.scenario.places import MemberKey
from protocols.timeline.chains import chain
from protocols.timeline.rebalances import Rebalance
from protocols.timeline.timeline import Timeline


def result(lived: Lived) -> dict[str, Any]:
    """The variant as in the document of `equipoise compare`; times in seconds, nothing rounded."""
    timeline, ending = lived.timeline, lived.ending
    allocations = {group: ending.allocation(group, timeline.owned) for group in ending.groups}
    found = {
        "label": lived.chosen.label,
        "system": lived.chosen.part.system,
        "seed": lived.chosen.seed,
        "owners": {
            ending.names[key]: [list(queue) for queue in timeline.owned.get((key.group, key.member), ())]
            for key in ending.members
        },
        "fairness": together(list(allocations.values())),
        "optimum": _optimum(list(allocations.values())),
        "rebalances": timeline.rebalance_count,
        "moves": timeline.ownership.moves,
        "unowned_queue_s": _s(timeline.ownership.unowned),
        "double_owned_queue_s": _s(timeline.ownership.double_owned),
        "longest_gap_s": _s(timeline.ownership.longest_gap),
        "redelivered": timeline.redelivered,
        "burst": timeline.burst,
        "messages": dict(timeline.messages),
        "settle_s": _s(timeline.settle),
        "checks": [],
        "causes": [_cause(timeline, each) for each in timeline.rebalances],
        "timeline": _intervals(timeline, ending.names),
    }
    found["checks"] = [each.document() for each in checks_of(lived, found)]
    return found


def together(allocations: Sequence[Allocation]) -> dict[str, Any]:
    """The fairness figures of all members of all groups, as `compare.fairness` has them for one; ``topics`` holds the
    same per topic."""
    rows = []
    members = 0
    for number, allocation in enumerate(allocations):
        position = {member: members + at for at, member in enumerate(allocation)}
        read = {topic for member in allocation.group.members for topic in member.subscription}
        for queue, owners in allocation.owners.items():
            if (owners or queue.topic in read) and not queue.topic.startswith(RETRY):
                rows.append((queue.topic, (number, queue), tuple(position[owner] for owner in owners), 1))
        members += len(allocation)
    (figures,) = counted_figures([GroupLoads(members, rows)])
    return {**figures.overall, "topics": figures.topics}


def _optimum(allocations: Sequence[Allocation]) -> dict[str, Any]:
    found = [optimum(allocation.group, allocation) for allocation in allocations]
    of_members = [each for each in found if len(each.allocation)]
    if len(of_members) == 1:
        return _record(of_members[0])
    loads = [len(queues) for each in of_members for queues in each.allocation.values()]
    squares = len(loads) * sum(load * load for load in loads)
    return {
        "max": max(loads, default=None),
        "min": min(loads, default=None),
        "idle_members": loads.count(0) if loads else None,
        "jain": (sum(loads) ** 2 / squares if squares else 1.0) if loads else None,
        "moves": sum(each.moves or 0 for each in of_members),
    }


def _record(found: Optimum) -> dict[str, Any]:
    return {name: getattr(found, name) for name in ("max", "min", "idle_members", "jain", "moves")}


def _cause(timeline: Timeline, rebalance: Rebalance) -> dict[str, Any]:
    return {
        "group": rebalance.group,
        "generation": rebalance.generation,
        "began_s": _s(rebalance.began),
        "ended_s": None if rebalance.ended is None else _s(rebalance.ended),
        "trigger": rebalance.trigger,
        "by": rebalance.by,
        "cause": rebalance.cause.text,
        "cause_s": _s(rebalance.cause.at),
        "changed": rebalance.changed,
        "paused_s": {member: _s(lasted) for member, lasted in rebalance.paused.items()},
        "queue_gaps_s": _s(rebalance.queue_gaps),
        "chain": [[_s(link.at), link.text] for link in chain(timeline, rebalance)],
    }


def _intervals(timeline: Timeline, names: Mapping[MemberKey, str]) -> list[dict[str, Any]]:
    """What members believe, by queue and time."""
    ordered = sorted(timeline.beliefs, key=lambda each: (queue_key(each.queue), each.since, each.group, each.member))
    return [
        {
            "queue": list(each.queue),
            "member": names.get(MemberKey(each.group, each.member), each.member),
            "from_s": _s(each.since),
            "to_s": None if each.until is None else _s(each.until),
            "generation": each.generation,
        }
        for each in ordered
    ]


def _s(time: Time) -> float:
    return time / 1000
