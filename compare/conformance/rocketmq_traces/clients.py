"""What is around the parts of clients in a trace: the client that a step makes, brokers that answer at once, and a
record of all effects."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, cast

from compare.conformance.cases import MalformedCase
from compare.conformance.rocketmq_traces.steps import EPOCH_MS, Answer
from protocols import Queue, sort_queues
from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.catalogue import (
    AVG_BY_CIRCLE,
    CONSISTENT_HASH,
    Averagely,
    AveragelyByCircle,
    ConsistentHash,
    MachineRoomNearby,
    MachineRoomResolver,
    Strategy,
)
from rocketmq_selfbalance.catalogue import AVG_NAME as AVG
from rocketmq_selfbalance.cluster import (
    CHOICES,
    AskMaxOffset,
    AskMembers,
    AskOffsetAt,
    AwaitConsumeLock,
    Call,
    ClientSettings,
    Consumer,
    Failure,
    HeartbeatToAll,
    LockQueues,
    Persist,
    PopProcessQueue,
    ProcessQueue,
    PullSettings,
    QueryOffset,
    RebalanceLockManager,
    RefreshRoute,
    RemoteOffsets,
    RemoveOffset,
    Sleep,
    Step,
    Thread,
    UnlockQueues,
    Version,
)


class CreateClient(NamedTuple):
    """What a step says of a client that it makes."""

    client: str
    group: str
    kind: str
    orderly: bool
    message_model: str
    strategy: str
    consume_from_where: str
    consume_timestamp: str | None
    pull_threshold_for_topic: int
    pull_threshold_size_for_topic: int


def make_consumer(now: Time, given: CreateClient, version: Version) -> Consumer:
    """The client's one consumer."""
    check_choices(given._asdict(), "kind", "message_model", "consume_from_where")
    settings = ClientSettings(
        kind=given.kind,
        orderly=given.orderly,
        message_model=given.message_model,
        consume_from_where=given.consume_from_where,
        pulling=PullSettings(
            pull_threshold_for_topic=given.pull_threshold_for_topic,
            pull_threshold_size_for_topic=given.pull_threshold_size_for_topic,
        ),
        version=version,
    )
    strategy = strategy_named(given.strategy)
    consumer = Consumer(given.group, given.client, given.client, strategy, RemoteOffsets(), settings, now)
    if given.consume_timestamp is not None:
        consumer.consume_timestamp = _moment(given.consume_timestamp)
    return consumer


def check_choices(given: Mapping[str, object], *names: str) -> None:
    """`MalformedCase` for a setting that is none of what it may be."""
    for name in names:
        if given[name] not in CHOICES[name]:
            raise MalformedCase(name, f"one of {', '.join(CHOICES[name])}", given[name])


def strategy_named(name: str) -> Strategy:
    """The strategy as traces name it. Rooms of MACHINE_ROOM_NEARBY: a broker's is what its name begins with, a
    client's what its id ends with; an id without a hyphen has none."""
    inner, _, of = name.rpartition("-")
    simple: dict[str, Strategy] = {
        AVG: Averagely(),
        AVG_BY_CIRCLE: AveragelyByCircle(),
        CONSISTENT_HASH: ConsistentHash(),
    }
    if name in simple:
        return simple[name]
    if inner == "MACHINE_ROOM_NEARBY" and of in simple:
        resolver = MachineRoomResolver(
            lambda queue: queue.broker.split("-")[0], lambda cid: cid.rpartition("-")[2] if "-" in cid else None
        )
        return MachineRoomNearby(simple[of], resolver)  # type: ignore[arg-type]
    raise MalformedCase("strategy", f"one of {', '.join(simple)}, MACHINE_ROOM_NEARBY-<one of these>", name)


def _moment(text: str) -> Time:
    """``yyyyMMddHHmmss`` in UTC, as milliseconds since the start of the trace."""
    try:
        moment = datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        raise MalformedCase("consume_timestamp", "yyyyMMddHHmmss", text) from None
    return moment.timestamp() * 1000 - EPOCH_MS


LOCK_MAX_LIVE_MS = 60_000

_NO_OUTBOX = cast(Outbox, None)
"""The parts reach the outside through their world alone: one that used the outbox itself would fail here."""


class Surroundings(Protocol):
    """The brokers of a trace, as a client meets them."""

    unreachable: set[str]
    """Broker names that clients know no address of."""

    def members_of(self, group: str) -> tuple[str, ...] | None:
        """The client ids of the group, as a broker lists them; None: no answer, or nobody."""

    def query(self, group: str, queue: Queue) -> Answer:
        """The committed offset."""

    def commit(self, group: str, queue: Queue, offset: int) -> None:
        """A committed offset has come in."""

    def end(self, queue: Queue) -> Answer:
        """The end of the queue."""

    def at_time(self, queue: Queue) -> Answer:
        """The offset at the time asked for."""

    def lock(self, now: Time, group: str, queues: tuple[Queue, ...], client_id: str) -> tuple[Queue, ...] | None:
        """Those that the client holds now; None: no answer."""

    def unlock(self, group: str, queues: tuple[Queue, ...], client_id: str) -> None:
        """The client gives these locks back."""

    def heartbeat(self, now: Time, consumer: Consumer) -> None:
        """A heartbeat to all brokers has come in."""


class Brokers:
    """Brokers that know and answer what the script of a trace sets."""

    def __init__(self) -> None:
        self.members: dict[str, tuple[str, ...] | None] = {}
        """Group to client ids; None: the question fails."""
        self.committed: dict[tuple[str, Queue], Answer] = {}
        self.ends: dict[Queue, Answer] = {}
        self.by_time: dict[Queue, Answer] = {}
        self.faults: set[str] = set()
        """``offset_query``, ``admin_query``, ``lock``, ``offset_commit``: these fail."""
        self.unreachable: set[str] = set()
        self.locks = RebalanceLockManager(LOCK_MAX_LIVE_MS)

    def set_unreachable(self, broker: str, on: bool) -> None:
        """Clients know no address of the broker any more, or know it again."""
        (self.unreachable.add if on else self.unreachable.discard)(broker)

    def set_committed(self, group: str, queue: Queue, offset: int | None) -> None:
        """None: there is none any more."""
        if offset is None:
            self.committed.pop((group, queue), None)
        else:
            self.committed[group, queue] = offset

    def members_of(self, group: str) -> tuple[str, ...] | None:
        return self.members.get(group)

    def query(self, group: str, queue: Queue) -> Answer:
        return (
            Failure.FAILED if "offset_query" in self.faults else self.committed.get((group, queue), Failure.NOT_FOUND)
        )

    def commit(self, group: str, queue: Queue, offset: int) -> None:
        if "offset_commit" not in self.faults:
            self.committed[group, queue] = offset

    def end(self, queue: Queue) -> Answer:
        return Failure.FAILED if "admin_query" in self.faults else self.ends.get(queue, 0)

    def at_time(self, queue: Queue) -> Answer:
        return Failure.FAILED if "admin_query" in self.faults else self.by_time.get(queue, 0)

    def lock(self, now: Time, group: str, queues: tuple[Queue, ...], client_id: str) -> tuple[Queue, ...] | None:
        return None if "lock" in self.faults else self.locks.try_lock_batch(now, group, queues, client_id)

    def unlock(self, group: str, queues: tuple[Queue, ...], client_id: str) -> None:
        self.locks.unlock_batch(group, queues, client_id)

    def heartbeat(self, now: Time, consumer: Consumer) -> None:
        """Nobody looks at heartbeats here."""


class TraceWorld:
    """The world of one client's parts. All answers come at once; what the parts do is recorded in ``effects``."""

    def __init__(self, consumer: Consumer, brokers: Surroundings) -> None:
        self._consumer, self._brokers = consumer, brokers
        self._effects: dict[str, list[object]] = {}
        self.passed = 0
        """Milliseconds that the last steps took."""

    def run(self, now: int, *steps: Step) -> object:
        """Do these steps; what the last one leaves."""
        thread = Thread(*steps)
        time: Time = now
        while thread.left:
            step = thread.left.pop()
            if isinstance(step, Persist | RemoveOffset):
                self.effect("store_persist" if isinstance(step, Persist) else "store_remove_offset", list(step.queue))
            call = step.do(self, time, thread, _NO_OUTBOX)
            if call is not None:
                thread.value = self._answer(time, call)
                if isinstance(call, Sleep):
                    time += call.duration
        self.passed = int(time - now)
        return thread.value

    def take_effects(self) -> dict[str, list[object]]:
        """The effects since the last call of this, each kind in text order."""
        effects, self._effects = self._effects, {}
        return in_text_order(effects)

    def effect(self, kind: str, record: object) -> None:
        """Something was done to the surroundings."""
        self._effects.setdefault(kind, []).append(record)

    def _answer(self, now: Time, call: Call) -> object:
        brokers = self._brokers
        match call:
            case AskMembers(group, _):
                members = brokers.members_of(group)
                return Failure.FAILED if members is None else members
            case QueryOffset(group, queue, _):
                return self._told("broker_offset_query", [list(queue)], brokers.query(group, queue))
            case AskMaxOffset(queue, _):
                return self._told("broker_max_offset", [list(queue)], brokers.end(queue))
            case AskOffsetAt(queue, _, timestamp):
                return self._told("broker_search_offset", [list(queue), int(timestamp)], brokers.at_time(queue))
            case LockQueues(group, queues, _):
                granted = brokers.lock(now, group, queues, self._consumer.client_id)
                self.effect("broker_lock", [queue_lists(queues), "error" if granted is None else queue_lists(granted)])
                return Failure.FAILED if granted is None else granted
            case UnlockQueues(_, queues, address):
                self.unlock(self._consumer, queues, address, _NO_OUTBOX)
            case RefreshRoute(topic):
                self.effect("route_refresh_asked", topic)
            case HeartbeatToAll():
                self.effect("heartbeat_to_all_brokers_is_rebalance", True)
                brokers.heartbeat(now, self._consumer)
            case Sleep():
                pass
            case AwaitConsumeLock():
                return False
            case _:
                raise TypeError(f"nobody in a trace answers {call!r}")
        return None

    def _told(self, kind: str, asked: list[object], value: Answer) -> Answer:
        recorded = {Failure.NOT_FOUND: None, Failure.FAILED: "error"}
        self.effect(kind, [*asked, recorded[value] if isinstance(value, Failure) else value])
        return value

    # What the parts ask of their world.

    def consumer(self, group: str) -> Consumer:
        return self._consumer

    def master(self, broker: str) -> str | None:
        return None if broker in self._brokers.unreachable else broker

    def replica(self, broker: str) -> str | None:
        return self.master(broker)

    def has_route(self, topic: str) -> bool:
        return True

    def commit(self, consumer: Consumer, queue: Queue, offset: int, address: str, out: Outbox) -> None:
        self.effect("broker_offset_commit", [list(queue), offset])
        self._brokers.commit(consumer.group, queue, offset)

    def unlock(self, consumer: Consumer, queues: tuple[Queue, ...], address: str, out: Outbox) -> None:
        self.effect("broker_unlock", queue_lists(queues))
        self._brokers.unlock(consumer.group, queues, consumer.client_id)

    def unlock_later(self, now: Time, consumer: Consumer, queue: Queue, delay: Time, out: Outbox) -> None:
        raise TypeError("the recorded release unlocks at once")

    def computed(self, consumer: Consumer, topic: str, target: tuple[Queue, ...], out: Outbox) -> None:
        """Nothing is recorded of it."""

    def drop(self, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, why: str, out: Outbox) -> None:
        process_queue.dropped = True

    def life(self, consumer: Consumer, queue: Queue, event: str, out: Outbox, guard: str = "") -> None:
        """Nothing is recorded of it."""

    def added(self, consumer: Consumer, queue: Queue, offset: int, why: str, out: Outbox) -> None:
        """Nothing is recorded of it."""

    def pull(self, now: Time, consumer: Consumer, queue: Queue, offset: int, delay: Time, out: Outbox) -> None:
        self.effect("pull_request_next_offset_and_delay_ms", [list(queue), offset, int(delay)])

    def pop(self, now: Time, consumer: Consumer, queue: Queue, delay: Time, out: Outbox) -> None:
        raise TypeError("no broker of these traces lets anybody pop")

    def drop_popped(self, consumer: Consumer, queue: Queue, popped: PopProcessQueue, out: Outbox) -> None:
        raise TypeError("no broker of these traces lets anybody pop")

    def listener(
        self,
        now: Time,
        consumer: Consumer,
        topic: str,
        all_queues: tuple[Queue, ...] | None,
        own: tuple[Queue, ...],
        out: Outbox,
    ) -> None:
        self.effect(
            "listener_topic_all_divided",
            [topic, None if all_queues is None else queue_lists(all_queues), queue_lists(own)],
        )

    def rebalance_later(self, now: Time, delay: Time, out: Outbox) -> None:
        self.effect("rebalance_later_ms", int(delay))


def entries(offsets: Mapping[Queue, int | Failure]) -> list[list[object]]:
    """Offsets as traces write them."""
    return [[list(queue), offsets[queue]] for queue in sort_queues(offsets)]


def owners_of(owned: Iterable[tuple[str, Iterable[Queue]]]) -> list[list[object]]:
    """Queues with everybody who owns them; clients in order."""
    owners: dict[Queue, list[str]] = {}
    for client, queues in owned:
        for queue in queues:
            owners.setdefault(queue, []).append(client)
    return [[list(queue), owners[queue]] for queue in sort_queues(owners)]


def in_order(order: list[str], subscribed: Iterable[str]) -> tuple[str, ...]:
    """The order in which the topics were worked on; they have to be those subscribed to."""
    topics = sorted(subscribed)
    if sorted(order) != topics:
        raise MalformedCase("topic_order", f"the topics {topics} in some order", order)
    return tuple(order)


def queue_lists(queues: Iterable[Queue]) -> list[list[str | int]]:
    """Queues as traces write them, sorted."""
    return [list(queue) for queue in sort_queues(queues)]


def in_text_order(effects: Mapping[str, list[object]]) -> dict[str, list[object]]:
    """Each kind's records in text order, as traces have them."""
    return {kind: sorted(records, key=_text) for kind, records in effects.items()}


def _text(record: object) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
