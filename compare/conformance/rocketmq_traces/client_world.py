"""What is around the parts of clients in a trace: brokers that answer at once, and a record of all effects."""

import json
from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias, cast

from protocols import Queue, sort_queues
from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.cluster import (
    AskMaxOffset,
    AskMembers,
    AskOffsetAt,
    AwaitConsumeLock,
    Call,
    Consumer,
    Failure,
    Handlers,
    HeartbeatToAll,
    LockQueues,
    Persist,
    ProcessQueue,
    QueryOffset,
    RebalanceLockManager,
    RefreshRoute,
    RemoveOffset,
    Sleep,
    Step,
    Thread,
    UnlockQueues,
    answer,
    run,
)
from rocketmq_selfbalance.cluster import client_locks as locks
from rocketmq_selfbalance.cluster import client_message_queue_changed as message_queue_changed
from rocketmq_selfbalance.cluster import client_operator as operator
from rocketmq_selfbalance.cluster import client_persisting as persisting
from rocketmq_selfbalance.cluster import client_process_queue_table as process_queue_table
from rocketmq_selfbalance.cluster import client_pull_from_where as pull_from_where
from rocketmq_selfbalance.cluster import client_rebalance_service as rebalance_service
from rocketmq_selfbalance.cluster import client_removal as removal

PARTS: Handlers = {
    **pull_from_where.HANDLERS,
    **persisting.HANDLERS,
    **removal.HANDLERS,
    **message_queue_changed.HANDLERS,
    **process_queue_table.HANDLERS,
    **rebalance_service.HANDLERS,
    **locks.HANDLERS,
    **operator.HANDLERS,
}

Answer: TypeAlias = int | Failure

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

    def run(self, now: int, *steps: Step) -> object:
        """Do these steps; what the last one leaves."""
        thread = Thread(*steps, _Keep())
        kept: list[object] = []
        handlers: Handlers = {
            **PARTS,
            Persist: self._persist,
            RemoveOffset: self._forget,
            _Keep: lambda world, now, thread, step, out: kept.append(thread.value),
        }
        time: Time = now
        call = run(self, time, thread, handlers, _NO_OUTBOX)
        while call is not None:
            value = self._answer(time, call)
            if isinstance(call, Sleep):
                time += call.duration
            call = answer(self, time, thread, value, handlers, _NO_OUTBOX)
        return kept[0]

    def take_effects(self) -> dict[str, list[object]]:
        """The effects since the last call of this, each kind in text order."""
        effects, self._effects = self._effects, {}
        return in_text_order(effects)

    def effect(self, kind: str, record: object) -> None:
        """Something was done to the surroundings."""
        self._effects.setdefault(kind, []).append(record)

    def _persist(self, world: object, now: Time, thread: Thread, step: Persist, out: Outbox) -> Call | None:
        self.effect("store_persist", list(step.queue))
        return PARTS[Persist](world, now, thread, step, out)

    def _forget(self, world: object, now: Time, thread: Thread, step: RemoveOffset, out: Outbox) -> Call | None:
        self.effect("store_remove_offset", list(step.queue))
        return PARTS[RemoveOffset](world, now, thread, step, out)

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

    def listener(
        self,
        now: Time,
        consumer: Consumer,
        topic: str,
        all_queues: tuple[Queue, ...],
        own: tuple[Queue, ...],
        out: Outbox,
    ) -> None:
        self.effect("listener_topic_all_divided", [topic, queue_lists(all_queues), queue_lists(own)])

    def rebalance_later(self, now: Time, delay: Time, out: Outbox) -> None:
        self.effect("rebalance_later_ms", int(delay))


class _Keep(tuple[()]):
    """The step after the last: its value is what the steps left."""

    __slots__ = ()


def queue_lists(queues: Iterable[Queue]) -> list[list[str | int]]:
    """Queues as traces write them, sorted."""
    return [list(queue) for queue in sort_queues(queues)]


def in_text_order(effects: Mapping[str, list[object]]) -> dict[str, list[object]]:
    """Each kind's records in text order, as traces have them."""
    return {kind: sorted(records, key=_text) for kind, records in effects.items()}


def _text(record: object) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
