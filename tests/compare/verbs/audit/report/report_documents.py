"""Audit documents for the report's tests: real captures with figures counted the plain way, and made ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compare.reading.gather import gather

CAPTURES = Path(__file__).parents[4] / "captures" / "kafka"

Owners = Mapping[str, Sequence[Sequence[Any]]]


def figures(owners: Owners, queues: int) -> dict[str, Any]:
    """A few figures, by their definitions."""
    loads = [len(owned) for owned in owners.values()]
    squares = sum(load * load for load in loads)
    seen = [tuple(queue) for owned in owners.values() for queue in owned]
    return {
        "members": len(loads),
        "idle_members": loads.count(0),
        "queues": queues,
        "unowned_queues": queues - len(set(seen)),
        "double_owned_queues": sum(seen.count(queue) > 1 for queue in set(seen)),
        "min": min(loads, default=None),
        "max": max(loads, default=None),
        "mean": sum(loads) / len(loads) if loads else None,
        "spread": max(loads) - min(loads) if loads else None,
        "jain": sum(loads) ** 2 / (len(loads) * squares) if squares else None,
        "max_over_mean": max(loads) * len(loads) / sum(loads) if sum(loads) else None,
        "lag": None,
    }


def dealt(owners: Owners) -> dict[str, list[Any]]:
    """The same queues dealt in turn."""
    queues = sorted({tuple(queue) for owned in owners.values() for queue in owned})
    members = sorted(owners)
    return {member: [list(queue) for queue in queues[at :: len(members)]] for at, member in enumerate(members)}


def group(name: str, owners: Owners, queues: int | None = None, system: str = "kafka", **more: Any) -> dict[str, Any]:
    """A group of the document; the best strategy and the optimum both deal the queues in turn."""
    names = sorted({queue[0] for owned in owners.values() for queue in owned})
    of_topic = {
        topic: {member: [queue for queue in owned if queue[0] == topic] for member, owned in owners.items()}
        for topic in names
    }
    owned = {tuple(queue) for queues_of in owners.values() for queue in queues_of}
    today = figures(owners, len(owned) if queues is None else queues)
    fair = dealt(owners)
    after = figures(fair, len(owned))
    best = {name: after[name] for name in ("max", "min", "idle_members", "jain")} | {"moves": 3}
    return {
        "system": system,
        "group": name,
        "mode": "shared",
        "state": "Stable",
        "strategy": "range",
        **today,
        "owners": owners,
        "topics": {
            topic: figures(part, len({tuple(queue) for owned in part.values() for queue in owned}))
            for topic, part in of_topic.items()
        },
        "cause": "The remainder of each topic piles on the same members.",
        "remedy": "Set partition.assignment.strategy to the cooperative sticky assignor.",
        "findings": [
            {
                "cause": "The remainder of each topic piles on the same members.",
                "remedies": [
                    {
                        "text": "Set partition.assignment.strategy to the cooperative sticky assignor.",
                        "restart": "rolling",
                        "reversible": True,
                        "risks": ["a consumer that joins topics by key relies on range"],
                    }
                ],
            }
        ],
        "score": 40.0,
        "score_after": 95.0,
        "optimum": best,
        "what_if": [{"system": system, "strategy": "roundrobin", **best}],
        "best_strategy": "roundrobin",
        "best_owners": fair,
        "optimum_owners": fair,
        "notes": [],
        "sources": ["made"],
    } | more


def document(*groups: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"headline": f"{len(groups)} groups.", "groups": list(groups), "skipped": []} | more


def uneven(name: str = "uneven", members: int = 4, topics: int = 3, queues: int = 6, uuid: str = "") -> dict[str, Any]:
    """The first half of the members owns everything, the second half is idle."""
    ids = [f"{name}-client-{at}{uuid}" for at in range(members)]
    busy = ids[: max(1, members // 2)]
    owners: dict[str, list[Any]] = {member: [] for member in ids}
    for topic in range(topics):
        for number in range(queues):
            owners[busy[number % len(busy)]].append([f"topic-{topic}.of.{name}", "", number])
    return group(name, owners)


def captured() -> dict[str, Any]:
    """Every group of the Kafka captures."""
    gathered = gather([str(CAPTURES)])
    groups = []
    for observed in gathered.groups:
        owners = {member.id: [list(queue) for queue in member.owned or ()] for member in observed.members or ()}
        groups.append(group(observed.name, owners, len(observed.queues or ()), state=observed.state))
    skipped = [{"source": Path(each.source).name, "line": each.line, "why": each.why} for each in gathered.skipped]
    return document(*groups, skipped=skipped)
