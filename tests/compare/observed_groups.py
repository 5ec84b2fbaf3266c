"""Observed groups made by hand or by a strategy, and those of all captures, judged."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from compare.auditing.group_figures import AuditedGroup, judge
from compare.explaining.diagnosis import diagnose
from compare.explaining.finding import Finding
from compare.reading.gather import gather
from compare.reading.observed import ObservedGroup, ObservedMember, System
from protocols import Allocation, Queue, sort_queues

CAPTURES = Path(__file__).parent.parent / "captures"
FOLDERS = {
    "kafka": ("groups", "rebalancing", "cluster-a", "cluster-c", "kafka-2.8.2"),
    "rocketmq": ("groups", "same_client_id", "mixed_clients"),
}


@lru_cache(maxsize=1)
def captured() -> dict[str, AuditedGroup]:
    """Every group of every capture as ``folder/name``."""
    found = {}
    for system, folders in FOLDERS.items():
        for folder in folders:
            for group in judge(gather([str(CAPTURES / system / folder)]).groups):
                found[f"{system}/{folder}/{group.observed.name}"] = group
    return found


def observed(
    owned: Mapping[str, Sequence[Queue]] | Allocation,
    strategy: str | None = None,
    *,
    system: System = "kafka",
    subscribe: Mapping[str, Sequence[str]] | None = None,
    instances: Mapping[str, str] | None = None,
    more_queues: Sequence[Queue] = (),
    **fields: Any,
) -> ObservedGroup:
    """A group whose members own these queues; a member ``id#2`` is a second process under the client id ``id``."""
    queues = {*(queue for each in owned.values() for queue in each), *more_queues}
    return ObservedGroup(
        system=system,
        name="g",
        mode="shared",
        state=fields.pop("state", "Stable" if system == "kafka" else "ONLINE"),
        strategy=strategy,
        members=tuple(
            ObservedMember(
                id.partition("#")[0],
                tuple(each),
                instance_id=(instances or {}).get(id),
                subscription=None if subscribe is None else tuple(subscribe[id]),
            )
            for id, each in owned.items()
        ),
        queues=sort_queues(queues),
        **fields,
    )


def subscribed(allocation: Allocation) -> dict[str, tuple[str, ...]]:
    """What an allocation's members subscribe to, as `observed` takes it."""
    return {member.id: member.subscription for member in allocation.group.members}


def findings(group: ObservedGroup) -> dict[str, Finding]:
    """Kind to finding, the most expensive first."""
    (audited,) = judge([group])
    return {finding.kind: finding for finding in diagnose(audited)}


def partitions(topic: str, *numbers: int) -> tuple[Queue, ...]:
    """Kafka's partitions of a topic."""
    return tuple(Queue(topic, "", number) for number in numbers)
