"""What a share consumer knows beside what every consumer knows (`kafka_coordinator.consumer.state`).

In Kafka `ShareConsumeRequestManager` with its `ShareSessionHandler` objects, `ShareFetchBuffer`, and ``currentFetch``
of `ShareConsumerImpl`.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer.state import ConsumerState
from protocols.engine.nodes import Time
from protocols.node_state import NodeState

ACCEPT: Final = "ACCEPT"
RELEASE: Final = "RELEASE"
REJECT: Final = "REJECT"
RENEW: Final = "RENEW"
"""Types of an acknowledgement (in Kafka `AcknowledgeType`)."""


class Given(NamedTuple):
    """Records ``first`` to ``last`` that a broker has given to this member, for the ``attempt``-th time."""

    broker: str
    partition: Partition
    first: int
    last: int
    attempt: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class Verdict(NamedTuple):
    """What the user's code says of records; the next poll() or commit sends it."""

    broker: str
    partition: Partition
    first: int
    last: int
    type: str


@dataclass(slots=True)
class ShareNode(NodeState):
    """The session with one broker. ``epoch`` is that of the next request: 0 begins a session."""

    epoch: int = 0
    partitions: dict[Partition, None] = field(default_factory=dict)
    busy: bool = False
    """A request is on its way; there is one at a time."""
    not_before: Time = 0.0
    """Until when the client does not connect again."""
    failures: int = 0
    """Lost connections in a row."""
    with_fetch: list[Verdict] = field(default_factory=list)
    """What the next fetch says of records."""
    alone: list[Verdict] = field(default_factory=list)
    """What a request of its own says, before anything is fetched from anybody."""
    closing: bool = False
    """The session is to end."""


@dataclass(slots=True)
class UserHand(NodeState):
    """What the user's code has in hand since its last poll()."""

    records: list[Given] = field(default_factory=list)
    """Not handled yet, in order; the code is at the first ones since ``since``, until ``until``."""
    since: Time = 0.0
    until: Time | None = None
    left: Time | None = None
    """For how long it would go on, while it is stopped."""
    verdicts: list[Verdict] = field(default_factory=list)


@dataclass(slots=True)
class ShareState(NodeState):
    """A share consumer. ``base``: requests, metadata, the coordinator, the membership."""

    base: ConsumerState
    nodes: dict[str, ShareNode] = field(default_factory=dict)
    hand: UserHand = field(default_factory=UserHand)
    buffer: list[Given] = field(default_factory=list)
    """Given, and not returned by poll() yet."""
    fetches: bool = False
    """More records are wanted (in Kafka ``fetchMoreRecords``)."""
    leaderless: dict[Partition, None] = field(default_factory=dict)
    """Partitions whose leader is another one than the metadata say."""

    def node(self, broker: str) -> ShareNode:
        found = self.nodes.get(broker)
        if found is None:
            found = self.nodes[broker] = ShareNode()
        return found
