"""What happens in a scenario: one class per kind of event."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from protocols.scenario.fields import Count, Duration, Part
from protocols.scenario.groups import TopicPart


class _Event(Part):
    at: Duration
    """When, from the beginning of the run."""
    group: str | None = None
    """The group of the member, where its name is not unique."""


class Join(_Event):
    """A member starts (first, or again after it left)."""

    join: str
    """The member; if it joins again, fields that the event omits keep their former values."""
    subscribe: tuple[str, ...] | None = None
    """Topics, in the order in which the member lists them; they need not exist."""
    pattern: str | None = None
    """A regular expression that matches whole names of topics, instead of ``subscribe``."""
    instance_id: str | None = None
    """Makes the member static (Kafka)."""
    rack: str | None = None
    """Kafka's rack, RocketMQ's room."""
    client_id: str | None = None
    """What the client calls itself; two members may have the same, as two containers of one image."""
    process: str | None = None
    """Members with equal ``process`` live in one client instance (one process); a member's name may be used."""
    strategy: str | None = None
    """The member's own assignor or strategy, where it differs from the variant's (one name, in Kafka several with
    commas). Every variant's system must have it."""
    handle: Duration = 0.0
    """How long the user's code takes for one record."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Client settings of this member alone, under the systems' own names; a system passes over those that only others
    have."""


class Leave(_Event):
    """A member closes properly (Kafka's close(), RocketMQ's shutdown())."""

    leave: str
    """The member."""


class Crash(_Event):
    """A member's process is killed: its connections close, without any message to others."""

    crash: str
    """The member; others in its process crash with it."""


class Hang(_Event):
    """A member's process is stopped for a while; its connections stay open; then it resumes with its old beliefs."""

    hang: str
    """The member; others in its process hang with it."""
    for_: Duration = Field(alias="for")
    """How long."""


class StopPolling(_Event):
    """A member's user loop hangs for a while; the client's background work continues."""

    stop_polling: str
    """The member."""
    for_: Duration = Field(alias="for")
    """How long."""


class Restart(_Event):
    """A member that crashed, left or runs starts again as a new process: where it runs it is closed properly first
    (``how: leave``) or killed (``how: crash``). ``strategy`` and ``settings`` change what it runs with."""

    restart: str
    """The member."""
    how: Literal["leave", "crash"] = "leave"
    """How a running member ends. A crash also restarts the others in its process."""
    strategy: str | None = None
    """The member's own assignor or strategy from now on; several with commas."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings added to its former ones."""


class Disconnect(_Event):
    """A member's connections are cut; the process continues and reconnects. ``broker``: only the one to it."""

    disconnect: str
    """The member."""
    broker: str | None = None
    """Cut only the connection to this broker."""


class Subscribe(_Event):
    """Members change their subscription at run time."""

    subscribe: dict[str, tuple[str, ...]]
    """Member to all the topics that it subscribes to from now on."""


class Commit(_Event):
    """A member commits its positions at once; or the offsets given, per ``topic-number`` or ``topic-broker-number``,
    with ``generation`` if the commit is to claim another one (Kafka)."""

    commit: str
    """The member."""
    offsets: dict[str, Count] | None = None
    """Queue to offset, instead of the member's positions."""
    generation: Annotated[int, Field(strict=True)] | None = None
    """The generation that the commit claims, instead of the member's (Kafka)."""


class Produce(_Event):
    """So many records are written at once, beside those of the load: to a topic, whose queues they are dealt over in
    turn, or to one queue (``topic-number`` or ``topic-broker-number``)."""

    produce: dict[str, Count]
    """Topic or queue to its number of records."""


class Queues(_Event):
    """Topics get more or fewer queues: a number (distributed over the brokers in turn), or per broker."""

    queues: dict[str, dict[str, Count]]
    """Topic to its queues from now on."""


class AddTopic(_Event):
    """Topics are created."""

    add_topic: dict[str, TopicPart]
    """New topics, written as under ``topics``."""


class DeleteTopic(_Event):
    """A topic is deleted."""

    delete_topic: str
    """The topic."""


class BrokerEvent(_Event):
    """A broker stops properly, is killed, or returns."""

    broker: str
    """The broker."""
    does: Literal["stop", "kill", "return"]
    """``stop`` closes the broker properly, ``kill`` does not."""


class Network(_Event):
    """For a while the network between two processes, or between one and all others, lets nothing pass (``cut``),
    loses messages (``loss``) or is slower (``delay``)."""

    network: Literal["cut", "loss", "delay"]
    """The kind of fault."""
    between: tuple[str, ...]
    """Two processes (members, brokers, ``namesrv``, ``zookeeper``), or one process for its links to all others."""
    for_: Duration = Field(alias="for")
    """How long."""
    loss: float = 0.0
    """Share of messages that are lost, up to 1."""
    delay: Duration = 0.0
    """How much longer every message takes."""


class Reset(_Event):
    """An administrator sets a group's committed offsets of a topic back to a moment of the run: at the broker's table
    (``via: broker``) or through the running clients (``via: client``; RocketMQ)."""

    reset_offsets: str
    """The group."""
    topic: str
    """The topic."""
    to: Duration
    """The time in the run whose offsets are restored."""
    via: Literal["broker", "client"] = "broker"
    """How the new offsets are applied."""


Event: TypeAlias = (
    Join
    | Leave
    | Crash
    | Hang
    | StopPolling
    | Restart
    | Disconnect
    | Subscribe
    | Commit
    | Produce
    | Queues
    | AddTopic
    | DeleteTopic
    | BrokerEvent
    | Network
    | Reset
)
