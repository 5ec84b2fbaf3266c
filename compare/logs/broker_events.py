"""What Kafka's brokers print, about groups and besides."""

from compare.logs.events import Event, OfGroup, record


@record
class Coordinates(OfGroup):
    """A line of the group coordinator."""


@record
class Preparing(Coordinates):
    """A rebalance begins; ``generation``: the one before it."""

    generation: int
    reason: str


@record
class Stabilized(Coordinates):
    """All have joined, ``members`` of them."""

    generation: int
    members: int


@record
class AssignmentReceived(Coordinates):
    """The leader has assigned the partitions."""

    generation: int
    leader: str = ""


@record
class Emptied(Coordinates):
    """The last member is gone."""

    generation: int


@record
class OfMember(Coordinates):
    """A line about one member; ``instance``: its group.instance.id."""

    member: str
    instance: str = ""


@record
class Left(OfMember):
    """A member left by its own request; ``reason``: the client's words for it."""

    reason: str = ""


@record
class WentAway(OfMember):
    """A static member closed, and keeps its place for its session."""


@record
class Failed(OfMember):
    """Its session is over."""


@record
class Fenced(OfMember):
    """The consumer protocol's coordinator removed a member; ``why``: in its words."""

    why: str


@record
class NotRejoined(Coordinates):
    """Members were removed that did not join again in time."""

    members: tuple[str, ...]


@record
class Announced(OfMember):
    """A member id was drawn for somebody who has to join with it."""


@record
class Added(OfMember):
    """A new member is in the group."""


@record
class Replaced(OfMember):
    """A static member's place was taken; ``old``: the id before, ``member``: the new one, "" where not printed."""

    member: str = ""
    old: str = ""


@record
class InstanceFenced(OfMember):
    """A process asked under the place of a static member that another one has by now."""

    by: str = ""


@record
class InstanceHeld(OfMember):
    """A process may not join, since its group.instance.id is still another's."""

    by: str = ""


@record
class Loaded(Coordinates):
    """A coordinator has read the group; ``members``, ``generation``: where printed."""

    members: int | None = None
    generation: int | None = None


@record
class NotWritten(Coordinates):
    """What the broker had decided about the group did not count; ``why``."""

    why: str


@record
class EpochJoined(OfMember):
    """A member joined a group of the consumer protocol."""


@record
class SubscriptionUpdated(OfMember):
    """A member of the consumer protocol has another subscription, or its first one; ``topics``: as printed."""

    topics: str


@record
class EpochBumped(Coordinates):
    """A rebalance of the consumer protocol begins; ``topics``: the hash of the topics it sees."""

    epoch: int
    topics: str = ""


@record
class TargetComputed(Coordinates):
    """The consumer protocol's assignment is computed."""

    epoch: int
    assignor: str = ""


@record
class Unloaded(Coordinates):
    """The broker gives the group up: another one coordinates it."""


@record
class OtherKind(Coordinates):
    """The group is of another kind; ``kind``: `share` or `streams`."""

    kind: str


# What a broker prints besides.


@record
class PartitionCreated(Event):
    """``name``: topic and number, `orders-3`."""

    name: str

    @property
    def topic(self) -> str:
        """The name before the number."""
        return self.name.rpartition("-")[0]

    @property
    def number(self) -> int:
        """The partition's number, -1 where it has none."""
        number = self.name.rpartition("-")[2]
        return int(number) if number.isdecimal() and len(number) < 9 else -1


@record
class BrokerStopped(Event):
    """A broker was shut down."""


@record
class BrokerStarted(Event):
    """A broker was started."""


@record
class BrokerFenced(Event):
    """The controller takes a broker for gone (``fenced`` 1) or for back (-1); ``shutting`` 1: it is shutting down;
    ``epoch``: of its registration, another one after each start."""

    broker: int
    epoch: int
    fenced: int
    shutting: int
