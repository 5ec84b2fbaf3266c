"""A recording as its JSON file has it, checked (captures/rocketmq/traces/README.md), and its settings under RocketMQ's
own names.

Times are milliseconds from the scenario's start. A queue is written ``topic|broker|number``. What is not compared is
not read.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from compare.conformance.cases import Line, MalformedCase, rocketmq_version, validated
from compare.conformance.recordings import MOST_MS, Count, Part
from protocols.java import Queue
from rocketmq_selfbalance.cluster import RETRY_PREFIX, ClientSettings, with_settings


def _queue(given: object) -> Queue:
    parts = given.rsplit("|", 2) if isinstance(given, str) else []
    if len(parts) != 3 or not all(parts) or not parts[2].isdecimal():
        raise ValueError("expected a queue written topic|broker|number")
    return Queue(parts[0], parts[1], int(parts[2]))


def is_retry(queue: Queue) -> bool:
    """Whether it is a queue of a retry topic."""
    return queue.topic.startswith(RETRY_PREFIX)


def queue_name(queue: Queue) -> str:
    """The queue as recordings write it."""
    return "|".join(map(str, queue))


def queue_names(queues: Iterable[Queue]) -> list[str]:
    """Queues as recordings write them, sorted."""
    return [queue_name(queue) for queue in sorted(queues)]


MessageQueue = Annotated[Queue, BeforeValidator(_queue)]

MOST_RECORDS = 100_000_000
"""A recording with more is damaged rather than recorded."""

Milliseconds = Annotated[float, Field(ge=0, le=MOST_MS)]

Records = Annotated[int, Field(ge=0, le=MOST_RECORDS)]

Row = tuple[Milliseconds, str, int, str]


class _At(Part):
    t_ms: Milliseconds


class Member(Part):
    """A consumer that takes part."""

    id: str
    subs: tuple[str, ...]
    strategy: str
    orderly: bool = False


class Action(_At):
    """What the script did. Which of the other fields are there depends on ``action``."""

    action: str
    member: str = ""
    broker: str = ""
    topic: str = ""
    topics: tuple[str, ...] = ()
    queues: dict[str, Count] = Field(default_factory=dict)
    seconds: Annotated[float, Field(ge=0, le=MOST_MS)] = 0.0
    gap_ms: Annotated[float, Field(gt=0, le=MOST_MS)] = Field(1000.0, alias="gapMs")
    addrs: tuple[str, ...] = ()
    signal: str = ""


class Lifecycle(_At):
    """What a member said of itself."""

    event: str
    member: str
    client_id: str = Field("", alias="clientId")


class Ownership(_At):
    """What is in a member's process queue table from now on; ``process``: whether its process is gone."""

    member: str
    owned: tuple[MessageQueue, ...]
    process: str = ""


class Unowned(Part):
    """Nobody owned the queue."""

    queue: MessageQueue
    from_ms: Milliseconds
    to_ms: Milliseconds
    ms: Milliseconds


class DoubleOwned(Unowned):
    """More than one member owned the queue."""

    owners: tuple[str, ...]


class Move(_At):
    """A queue came to another member than the one that had it before."""

    queue: MessageQueue
    frm: str
    to: str


class Produced(Part):
    """What a producer sent, in all and per queue."""

    ok: Records
    failed: Records = 0
    per: dict[str, Records] = Field(default_factory=dict)


class Again(Part):
    """A record that was delivered more than once: when and to whom."""

    queue: MessageQueue
    offset: Records
    seen: tuple[tuple[Milliseconds, str], ...]


class Messages(Part):
    """Records: of those consumed more than once the list is cut."""

    produced: tuple[Produced, ...] = ()
    distinct_consumed: Records = Field(alias="distinctConsumed")
    deliveries: Records
    consumed_more_than_once: Records = Field(alias="consumedMoreThanOnce")
    duplicates: tuple[Again, ...] = ()


class Recording(Part):
    """One recorded scenario. ``topics``: queues per broker at its beginning."""

    scenario: str
    settings: dict[str, object]
    topics: dict[str, dict[str, Count]]
    members: tuple[Member, ...]
    length_ms: Milliseconds = Field(alias="lengthMs")
    actions: tuple[Action, ...]
    lifecycle: tuple[Lifecycle, ...] = ()
    ownership: tuple[Ownership, ...]
    final: dict[str, tuple[MessageQueue, ...]]
    double_ownership: tuple[DoubleOwned, ...] = Field(alias="doubleOwnership")
    unowned: tuple[Unowned, ...]
    moves: tuple[Move, ...]
    messages: Messages
    offset_commits: tuple[tuple[Milliseconds, str, MessageQueue, int], ...] = Field((), alias="offsetCommits")
    rpc_codes: dict[str, str] = Field(default_factory=dict, alias="rpcCodes")
    rpc: tuple[Row, ...] = ()
    """Time, member, request code, broker."""

    @property
    def began(self) -> float:
        """When anybody looked at what members own for the first time."""
        return self.ownership[0].t_ms if self.ownership else 0.0

    def is_about(self, member: str, kind: str, since: float) -> float | None:
        """When the member first said this of itself, from this time on."""
        times = (each.t_ms for each in self.lifecycle if (each.member, each.event) == (member, kind))
        return min((at for at in times if at >= since), default=None)


def recognises(line: Line) -> bool:
    """Whether the line is meant to be a recording of a RocketMQ cluster."""
    return {"actions", "ownership", "final"} <= line.keys()


def read(line: Line) -> Recording:
    """The recording. Raises `MalformedCase` naming the field at fault."""
    recording = validated(Recording, line)
    members = [member.id for member in recording.members]
    if not members or len(set(members)) < len(members):
        raise MalformedCase("members", "members, each of which has its own id", members)
    named = {
        "actions": [action.member for action in recording.actions if action.member],
        "lifecycle": [each.member for each in recording.lifecycle],
        "ownership": [each.member for each in recording.ownership],
        "final": list(recording.final),
        "offsetCommits": [member for _, member, *_ in recording.offset_commits],
        "rpc": [member for _, member, *_ in recording.rpc],
    }
    for where, names in named.items():
        if strangers := [name for name in names if name not in members]:
            raise MalformedCase(where, f"only the members {', '.join(members)}", strangers[0])
    return recording


_SHORTEST_INTERVAL = "rocketmq.client.rebalance.minInterval"

_SETTINGS: Mapping[str, str] = {
    "rebalanceIntervalMs": "rocketmq.client.rebalance.waitInterval",
    "rebalanceMinIntervalMs": _SHORTEST_INTERVAL,
    "heartbeatIntervalMs": "heartbeatBrokerInterval",
    "pollNameServerIntervalMs": "pollNameServerInterval",
    "persistOffsetIntervalMs": "persistConsumerOffsetInterval",
    "consumeFromWhere": "consumeFromWhere",
    "consumeThreads": "consumeThreadMax",
    "orderlyLockIntervalMs": "rocketmq.client.rebalance.lockInterval",
    "orderlyBrokerLockExpiryMs": "rocketmq.broker.rebalance.lockMaxLiveTime",
    "channelExpiryMs": "channelExpiredTimeout",
}
"""What the recording calls a setting to what RocketMQ calls it."""

_VERSION = "version"


def settings_of(recording: Recording) -> dict[str, object]:
    """The settings of clients and brokers. Raises `MalformedCase` for a release that is not modelled."""
    given = recording.settings
    settings = {real: given[name] for name, real in _SETTINGS.items() if name in given}
    settings[_VERSION] = rocketmq_version(given.get(_VERSION), "settings.version").name
    return settings


def shortest_interval(recording: Recording) -> float:
    """From one pass of a client to the next, and from its making to the first: so many milliseconds at least."""
    given = {name: value for name, value in settings_of(recording).items() if name in (_SHORTEST_INTERVAL, _VERSION)}
    return with_settings(ClientSettings(), given, "settings").rebalance.rebalance_min_interval_ms
