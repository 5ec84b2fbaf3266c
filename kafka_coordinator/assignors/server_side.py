"""The server-side assignors by the names under which members ask for them; own ones can be added.

In Kafka the classes that the setting ``group.consumer.assignors`` names (`ConsumerGroupPartitionAssignor`).
"""

from collections.abc import Callable
from typing import TypeAlias

from kafka_coordinator.assignors.inputs import Assignment, GroupMetadata
from kafka_coordinator.assignors.server_range import server_range
from kafka_coordinator.assignors.uniform import uniform

ServerAssignor: TypeAlias = Callable[[GroupMetadata, bool], Assignment]
"""The group, and whether all its members subscribe alike, to the target assignment. The members' claims are their
targets before. `kafka_coordinator.assignors.inputs.AssignorError` where it cannot."""


def _range(group: GroupMetadata, same_subscriptions: bool) -> Assignment:
    return server_range(group)


SERVER_ASSIGNORS: dict[str, ServerAssignor] = {"uniform": uniform, "range": _range}
"""Name to assignor, in the order in which an unchanged broker has them."""


def register_server_assignor(name: str, assignor: ServerAssignor) -> None:
    """Let brokers use an assignor of one's own, which ``group.consumer.assignors`` names; `ValueError` for a name that
    is taken or has a comma."""
    if name in SERVER_ASSIGNORS or "," in name or name != name.strip() or not name:
        raise ValueError(f"server-side assignor {name!r}: expected a name without commas that is not taken")
    SERVER_ASSIGNORS[name] = assignor
