"""A scenario as data, the same for both systems. `protocols.scenario.reading` makes it from YAML, Python makes it from
plain values; both are checked by the same model. All durations are milliseconds here, written ``5s``, ``300ms``,
``2min`` (a bare number is refused: it has no unit).
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from protocols.scenario.fields import Count, Duration, LatencyRange, Part, Rate, Share


class MemberPart(Part):
    """A member of a group: what it subscribes to and how it works."""

    subscribe: tuple[str, ...] = ()
    """Topics, in the order in which the member lists them; they need not exist."""
    pattern: str | None = None
    """A regular expression that matches whole names of topics, instead of ``subscribe``."""
    instance_id: str | None = None
    """Makes a static member of it (Kafka)."""
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
    """Client settings of this member alone, under the system's own names, which every variant must know."""


class GroupPart(Part):
    """A consumer group."""

    members: dict[str, MemberPart] = Field(default_factory=dict)
    """By name. ``c1..c20`` stands for twenty equal members, a list of topics for a member that subscribes to them."""


class TopicPart(Part):
    """A topic: its queues per broker, in the order written; Kafka numbers partitions 0, 1, ... in that order."""

    queues: dict[str, Count]
    """Per broker, or one number that is dealt over the brokers in turn."""
    replica_racks: tuple[tuple[str, ...], ...] | None = None
    """For each queue the racks of its replicas (Kafka)."""


class LoadPart(Part):
    """What is produced: records per second and queue, evenly, from 0s on."""

    produce: Rate = 0.0
    """Records per second and queue."""


class RunPart(Part):
    """How long, with which seed and latency."""

    for_: Duration = Field(alias="for")
    """Virtual time from the beginning to the end."""
    seed: Annotated[int, Field(strict=True)] = 0
    """Of all that is left to chance: equal seeds give equal runs."""
    latency: LatencyRange = (1.0, 5.0)
    """How long every message travels: evenly spread between least and most."""


class SystemPart(Part):
    """A variant: a system with its strategy and settings. ``system`` is ``kafka:range`` and the like."""

    system: str
    """System and strategy: ``kafka:range``; ``kafka:range+static`` where every member is to be static: one without
    an ``instance_id`` has its name as such."""
    label: str = ""
    """Unique; the system's name where it is left out."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of clients and brokers, under the system's own names."""


class ExpectPart(Part):
    """What must hold, else the command exits with 1."""

    settles_within: Duration | None = None
    """At most this long from the last event to the last change of ownership."""
    max_over_mean: Share | None = None
    """At the end the fullest member has at most this many times the mean."""
    idle_members: Count | None = None
    """At the end at most so many members own nothing."""
    longest_gap: Duration | None = None
    """No queue is without an owner for longer, after its first one."""
    double_owned_queue_s: Share | None = None
    """At most so many queue-seconds with two owners."""
    redelivered: Count | None = None
    """At most so many records are delivered more than once."""


class _Event(Part):
    at: Duration
    """When, from the beginning of the run."""
    group: str | None = None
    """The group of the member, where its name is not unique."""


class Join(_Event):
    """A member starts (first, or again after it left)."""

    join: str
    """The member; what it was before, where it joins again, is repeated where the event leaves it out."""
    subscribe: tuple[str, ...] | None = None
    """Topics, in the order in which the member lists them; they need not exist."""
    pattern: str | None = None
    """A regular expression that matches whole names of topics, instead of ``subscribe``."""
    instance_id: str | None = None
    """Makes a static member of it (Kafka)."""
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
    """Client settings of this member alone, under the system's own names, which every variant must know."""


class Leave(_Event):
    """A member closes properly (Kafka's close(), RocketMQ's shutdown())."""

    leave: str
    """The member."""


class Crash(_Event):
    """A member's process is killed: its connections close, nothing else is told to anybody."""

    crash: str
    """The member; others in its process die with it."""


class Hang(_Event):
    """A member's process is stopped for a while; its connections stay open; then it goes on with its old beliefs."""

    hang: str
    """The member; others in its process stand still with it."""
    for_: Duration = Field(alias="for")
    """How long."""


class StopPolling(_Event):
    """A member's user loop stands still for a while; what its client does in the background goes on."""

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
    """How it ends, where it runs. By a crash the others of its process are started again with it."""
    strategy: str | None = None
    """Its own assignor or strategy from now on; several with commas."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Added to the settings that it had."""


class Disconnect(_Event):
    """A member's connections are cut; the process lives on and connects again. ``broker``: only the one to it."""

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
    """Queue to offset, instead of where the member stands."""
    generation: Annotated[int, Field(strict=True)] | None = None
    """The generation that the commit claims, instead of the member's (Kafka)."""


class Produce(_Event):
    """So many records are written at once, beside those of the load: to a topic, whose queues they are dealt over in
    turn, or to one queue (``topic-number`` or ``topic-broker-number``)."""

    produce: dict[str, Count]
    """Topic or queue to its number of records."""


class Queues(_Event):
    """Topics have more or fewer queues from now on: a number (dealt over the brokers in turn), or per broker."""

    queues: dict[str, dict[str, Count]]
    """Topic to its queues from now on."""


class AddTopic(_Event):
    """Topics come into being."""

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
    """``stop`` says good-bye, ``kill`` does not."""


class Network(_Event):
    """For a while the network between two processes, or between one and all others, lets nothing pass (``cut``),
    loses messages (``loss``) or is slower (``delay``)."""

    network: Literal["cut", "loss", "delay"]
    """What is wrong."""
    between: tuple[str, ...]
    """Two processes (members, brokers, ``namesrv``, ``zookeeper``), or one whose links to all others are meant."""
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
    """The moment of the run whose offsets are set."""
    via: Literal["broker", "client"] = "broker"
    """Which way the new offsets go."""


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


class Scenario(Part):
    """What there is, what happens when, and which systems live through it."""

    name: str
    """A few words."""
    about: str = ""
    """The story: what one can see here."""
    brokers: tuple[str, ...] = ("broker-a",)
    """Names of the brokers."""
    topics: dict[str, TopicPart]
    """By name. ``t1..t9`` stands for nine equal topics, a number for a topic with so many queues."""
    groups: dict[str, GroupPart]
    """By name; ``group`` with a ``name`` inside is short for one. A member is there from 0s on, unless the first that
    happens to it is a join (once read, such a member is only in the event)."""
    load: LoadPart = LoadPart()
    """What is produced."""
    run: RunPart
    """How long, and what is left to chance."""
    systems: tuple[SystemPart, ...] = ()
    """The variants, each as its fields or just as the system's name. Left out: the four classic assignors of Kafka
    and RocketMQ's strategies, as far as the scenario gives them what they need."""
    events: tuple[Event, ...] = ()
    """What happens, in the order of time; at equal times in the order written."""
    expect: ExpectPart | None = None
    """What must hold in every variant."""
