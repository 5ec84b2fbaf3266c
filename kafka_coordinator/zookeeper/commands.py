"""Commands of the user, the administrator and the scenario to a 0.8 consumer or ZooKeeper, without any network.

In Kafka 0.8 `ConsumerConnector.shutdown` and `commitOffsets`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_coordinator.zookeeper.messages import NodeData
from kafka_coordinator.zookeeper.settings import ConsumerSettings
from protocols.load import Production
from protocols.poison import PoisonRecords
from protocols.queues import Queue


class Shutdown(NamedTuple):
    """Close the consumer properly."""


class Reopen(NamedTuple):
    """Close the consumer properly and begin anew with this (0.8 cannot change a running one)."""

    topics: tuple[str, ...]
    pattern: str | None
    settings: ConsumerSettings


class Freeze(NamedTuple):
    """The user's loop stands still from now on."""


class Thaw(NamedTuple):
    """The user's loop continues."""


class CommitNow(NamedTuple):
    """Commit the positions, or these offsets."""

    offsets: tuple[tuple[str, int, int], ...] | None
    """Topic, number, offset."""


class NewLoad(NamedTuple):
    """What producers write from now on."""

    production: Mapping[Queue, Production]
    poison: PoisonRecords[Queue]
    """Those among the records that the user's code cannot handle. Neither is changed once it was sent."""


class ReportDelivered(NamedTuple):
    """Report what the user has handled so far."""


class SetPersistent(NamedTuple):
    """To ZooKeeper: write a persistent node."""

    path: str
    data: NodeData


class RemoveNode(NamedTuple):
    """To ZooKeeper: remove a node, if it is there."""

    path: str
