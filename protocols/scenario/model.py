"""A scenario as data, the same for both systems. `protocols.scenario.reading` makes it from YAML, Python makes it from
plain values; both are checked by the same model. All durations are milliseconds here, written ``5s``, ``300ms``,
``2min`` (a bare number is refused: it has no unit).
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from protocols.scenario.units import latency_of, milliseconds, per_second

Duration: TypeAlias = Annotated[float, BeforeValidator(milliseconds)]
"""Milliseconds, not negative."""

Rate: TypeAlias = Annotated[float, BeforeValidator(per_second)]
"""Per second, not negative; written ``10/s``, ``600/min``."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class MemberPart(_Part):
    """A member of a group: what it subscribes to and how it works."""

    subscribe: tuple[str, ...] = ()
    pattern: str | None = None
    instance_id: str | None = None
    rack: str | None = None
    client_id: str | None = None
    process: str | None = None
    """Members with equal ``process`` live in one client instance (one process)."""
    strategy: str | None = None
    """The member's own assignor or strategy, where it differs from the variant's: one name, or several with commas."""
    handle: Duration = 0.0
    """How long the user's code takes for one record."""
    settings: dict[str, Any] = {}
    """Client settings of this member alone, under the system's own names."""


class GroupPart(_Part):
    """A consumer group."""

    members: dict[str, MemberPart] = {}


class TopicPart(_Part):
    """A topic: its queues per broker, in the order written; Kafka numbers partitions 0, 1, ... in that order."""

    queues: dict[str, int]
    replica_racks: tuple[tuple[str, ...], ...] | None = None


class LoadPart(_Part):
    """What is produced: records per second and queue, evenly, from 0s on."""

    produce: Rate = 0.0


class RunPart(_Part):
    """How long, with which seed and latency, which detail."""

    for_: Duration = Field(alias="for")
    seed: int = 0
    latency: Annotated[tuple[float, float], BeforeValidator(latency_of)] = (1.0, 5.0)


class SystemPart(_Part):
    """A variant: a system with its strategy and settings. ``system`` is ``kafka:range`` and the like."""

    system: str
    label: str = ""
    """Unique; the system's name where it is left out."""
    settings: dict[str, Any] = {}
    """Settings of clients and brokers, under the system's own names."""


class ExpectPart(_Part):
    """What must hold, else the command exits with 1."""

    settles_within: Duration | None = None
    max_over_mean: float | None = None
    idle_members: int | None = None
    longest_gap: Duration | None = None
    double_owned_queue_s: float | None = None
    redelivered: int | None = None


class _Event(_Part):
    at: Duration
    group: str | None = None
    """The group of the member, where its name is not unique."""


class Join(_Event):
    """A member starts (first, or again after it left)."""

    join: str
    subscribe: tuple[str, ...] | None = None
    pattern: str | None = None
    instance_id: str | None = None
    rack: str | None = None
    client_id: str | None = None
    process: str | None = None
    strategy: str | None = None
    handle: Duration = 0.0
    settings: dict[str, Any] = {}


class Leave(_Event):
    """A member closes properly (Kafka's close(), RocketMQ's shutdown())."""

    leave: str


class Crash(_Event):
    """A member's process is killed: its connections close, nothing else is told to anybody."""

    crash: str


class Hang(_Event):
    """A member's process is stopped for a while; its connections stay open; then it goes on with its old beliefs."""

    hang: str
    for_: Duration = Field(alias="for")


class StopPolling(_Event):
    """A member's user loop stands still for a while; what its client does in the background goes on."""

    stop_polling: str
    for_: Duration = Field(alias="for")


class Restart(_Event):
    """A member that crashed, left or runs starts again as a new process: where it runs it is closed properly first
    (``how: leave``) or killed (``how: crash``). ``strategy`` and ``settings`` change what it runs with."""

    restart: str
    how: Literal["leave", "crash"] = "leave"
    strategy: str | None = None
    settings: dict[str, Any] = {}


class Disconnect(_Event):
    """A member's connections are cut; the process lives on and connects again. ``broker``: only the one to it."""

    disconnect: str
    broker: str | None = None


class Subscribe(_Event):
    """Members change their subscription at run time."""

    subscribe: dict[str, tuple[str, ...]]


class Commit(_Event):
    """A member commits its positions at once; or the offsets given, per ``topic-number`` or ``topic-broker-number``,
    with ``generation`` if the commit is to claim another one (Kafka)."""

    commit: str
    offsets: dict[str, int] | None = None
    generation: int | None = None


class Queues(_Event):
    """Topics have more or fewer queues from now on: a number (dealt over the brokers in turn), or per broker."""

    queues: dict[str, dict[str, int]]


class AddTopic(_Event):
    """Topics come into being."""

    add_topic: dict[str, TopicPart]


class DeleteTopic(_Event):
    """A topic is deleted."""

    delete_topic: str


class BrokerEvent(_Event):
    """A broker stops properly, is killed, or returns."""

    broker: str
    does: Literal["stop", "kill", "return"]


class Network(_Event):
    """Between these processes (members, brokers, ``namesrv``, ``zookeeper``) and all others, or between the two
    of ``between``: messages are lost (``loss``, a share), delayed, or nothing passes (``cut``), for a while."""

    network: Literal["cut", "loss", "delay"]
    between: tuple[str, ...]
    for_: Duration = Field(alias="for")
    loss: float = 0.0
    delay: Duration = 0.0


class Reset(_Event):
    """An administrator sets a group's committed offsets of a topic back to a moment of the run: at the broker's table
    (``via: broker``) or through the running clients (``via: client``; RocketMQ)."""

    reset_offsets: str
    topic: str
    to: Duration
    via: Literal["broker", "client"] = "broker"


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
    | Queues
    | AddTopic
    | DeleteTopic
    | BrokerEvent
    | Network
    | Reset
)


class Scenario(_Part):
    """Everything: see `docs/scenario.md` for the file format."""

    name: str
    about: str = ""
    brokers: tuple[str, ...] = ("broker-a",)
    topics: dict[str, TopicPart]
    groups: dict[str, GroupPart]
    """Members who start by a `Join` event are not in here until then."""
    load: LoadPart = LoadPart()
    run: RunPart
    systems: tuple[SystemPart, ...] = ()
    events: tuple[Event, ...] = ()
    """In the order of their times; equal times in the order written."""
    expect: ExpectPart | None = None
