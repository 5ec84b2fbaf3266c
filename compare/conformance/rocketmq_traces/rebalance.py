"""Plays traces of clients that rebalance through the parts of `rocketmq_selfbalance.client`, and of a process queue."""

from collections.abc import Iterable

from compare.conformance.cases import MalformedCase
from compare.conformance.fields import Count
from compare.conformance.rocketmq_traces.clients import (
    Brokers,
    CreateClient,
    TraceWorld,
    entries,
    in_order,
    make_consumer,
    owners_of,
)
from compare.conformance.rocketmq_traces.steps import NOTHING, Answer, Outcome
from protocols import Queue, sort_queues
from protocols.java import sorted_as_java
from rocketmq_selfbalance.cluster import NOTHING as NO_OFFSET
from rocketmq_selfbalance.cluster import (
    PUSH,
    ClientSettings,
    Consumer,
    DoRebalance,
    LockAll,
    PersistAll,
    ProcessQueue,
    RemoveProcessQueue,
    ResetOffsets,
    Step,
    UnlockAll,
    Version,
)

_FAULTS = ("offset_query", "admin_query", "lock", "offset_commit")


class Clients:
    """The clients behind a trace, and the brokers that they share."""

    outcome = Outcome

    def __init__(self, version: Version) -> None:
        self.version = version
        self.brokers = Brokers()
        self.worlds: dict[str, TraceWorld] = {}
        self.seen: dict[tuple[str, Queue], ProcessQueue] = {}
        """(Client, queue) to the process queue that the client had last: it may have left the table."""

    # What surrounds the clients.

    def create_client(self, now: int, given: CreateClient) -> None:
        self.worlds[given.client] = TraceWorld(make_consumer(now, given, self.version), self.brokers)

    def subscribe(self, now: int, client: str, topic: str) -> None:
        self._consumer(client).subscribe(topic, now)

    def unsubscribe(self, client: str, topic: str) -> None:
        self._consumer(client).unsubscribe(topic)

    def set_consumer_ids(self, group: str, client_ids: list[str] | None) -> None:
        self.brokers.members[group] = None if client_ids is None else tuple(client_ids)

    def set_route(self, clients: list[str], topic: str, queues: list[Queue] | None) -> None:
        for client in clients:
            routes = self._consumer(client).routes
            if queues is None:
                routes.pop(topic, None)
            else:
                routes[topic] = sort_queues(set(queues))

    def set_broker_offset(self, group: str, queue: Queue, offset: int | None) -> None:
        self.brokers.set_committed(group, queue, offset)

    def set_queue_answers(self, queue: Queue, max_offset: Answer, search_offset: Answer) -> None:
        self.brokers.ends[queue], self.brokers.by_time[queue] = max_offset, search_offset

    def set_fault(self, what: str, on: bool) -> None:
        if what not in _FAULTS:
            raise MalformedCase("what", f"one of {', '.join(_FAULTS)}", what)
        (self.brokers.faults.add if on else self.brokers.faults.discard)(what)

    def set_broker_unreachable(self, broker: str, on: bool) -> None:
        self.brokers.set_unreachable(broker, on)

    # What happens to process queues without the parts under test.

    def pull(self, now: int, client: str, queue: Queue, owned: bool) -> None:
        process_queue = self._consumer(client).table.get(queue)
        _expect("owned", owned, process_queue is not None)
        if process_queue is not None:
            process_queue.last_pull = now

    def set_consuming(self, client: str, queue: Queue, on: bool) -> None:
        process_queue = self.seen.get((client, queue))
        if process_queue is not None:
            process_queue.listeners = int(on)

    def messages_arrive(
        self, client: str, queue: Queue, first_offset: int, count: Count, queue_dropped: bool
    ) -> object:
        process_queue = self.seen.get((client, queue))
        _expect("queue_dropped", queue_dropped, process_queue is not None and process_queue.dropped)
        return process_queue is not None and process_queue.put([(first_offset, first_offset + count)])

    def messages_consumed(self, client: str, queue: Queue, offsets: list[int], queue_dropped: bool) -> Outcome:
        process_queue, table = self.seen.get((client, queue)), self._consumer(client).store.table
        if process_queue is None:
            raise MalformedCase("queue", "a queue that the client had", list(queue))
        _expect("queue_dropped", queue_dropped, process_queue.dropped)
        next_offset = process_queue.remove(_ranges(offsets))
        stored = next_offset != NO_OFFSET and not process_queue.dropped
        if stored:
            table.update(queue, next_offset, True)
        state = {"local_offsets": entries(table.offsets), "messages_left": process_queue.count}
        return Outcome({"next_offset": next_offset, "stored": stored}, state=state)

    # The parts under test.

    def rebalance(self, now: int, client: str, topic_order: list[str]) -> Outcome:
        consumer = self._consumer(client)
        self._world(client).run(now, DoRebalance(consumer.group, in_order(topic_order, consumer.subscriptions)))
        return self._after(client, consumer.rebalancing.balanced)

    def update_local_offset(self, client: str, queue: Queue, offset: int, increase_only: bool) -> Outcome:
        table = self._consumer(client).store.table
        table.update(queue, offset, increase_only)
        return Outcome(state={"local_offsets": entries(table.offsets)})

    def persist_all_owned(self, now: int, client: str) -> Outcome:
        consumer, world = self._consumer(client), self._world(client)
        world.run(now, PersistAll(consumer.group))
        return Outcome(effects=world.take_effects(), state={"local_offsets": entries(consumer.store.table.offsets)})

    def lock_all(self, now: int, client: str) -> Outcome:
        return self._run(now, client, LockAll(self._consumer(client).group))

    def unlock_all(self, now: int, client: str) -> Outcome:
        return self._run(now, client, UnlockAll(self._consumer(client).group))

    def destroy(self, client: str) -> Outcome:
        self._consumer(client).destroy()
        return self._after(client)

    def remove_process_queue(self, now: int, client: str, queue: Queue) -> Outcome:
        return self._run(now, client, RemoveProcessQueue(self._consumer(client).group, queue, "offset illegal"))

    def reset_offset_on_client(
        self, now: int, client: str, topic: str, offsets: list[tuple[Queue, int]], topic_order: list[str]
    ) -> Outcome:
        consumer = self._consumer(client)
        order = in_order(topic_order, consumer.subscriptions)
        if consumer.kind != PUSH:
            # Only push consumers react (spec rocketmq 2.8).
            return self._after(client)
        outcome = self._run(now, client, ResetOffsets(consumer.group, topic, tuple(offsets), order))
        return outcome._replace(passed=self.worlds[client].passed)

    def owners(self) -> object:
        return owners_of((client, self._consumer(client).table) for client in sorted(self.worlds))

    def _run(self, now: int, client: str, step: Step) -> Outcome:
        self._world(client).run(now, step)
        return self._after(client)

    def _after(self, client: str, result: object = None) -> Outcome:
        consumer = self._consumer(client)
        self.seen.update(((client, held), each) for held, each in consumer.table.items())
        state: dict[str, object] = {
            "process_queues": [_process_queue(each, consumer.table[each]) for each in sort_queues(consumer.table)],
            "subscription_versions_ms": [
                [topic, int(consumer.subscriptions[topic])] for topic in sorted_as_java(consumer.subscriptions)
            ],
            "local_offsets": entries(consumer.store.table.offsets),
        }
        if consumer.kind == PUSH:
            state["pull_threshold_for_queue"] = consumer.pull_threshold_for_queue
            state["pull_threshold_size_for_queue"] = consumer.pull_threshold_size_for_queue
        return Outcome(result, self._world(client).take_effects(), state)

    def _world(self, client: str) -> TraceWorld:
        if client not in self.worlds:
            raise MalformedCase("client", "a client that was created", client)
        return self.worlds[client]

    def _consumer(self, client: str) -> Consumer:
        return self._world(client).consumer("")


def _process_queue(held: Queue, process_queue: ProcessQueue) -> dict[str, object]:
    return {
        "queue": list(held),
        "dropped": process_queue.dropped,
        "locked": process_queue.locked,
        "last_pull_ms": int(process_queue.last_pull),
        "last_lock_ms": int(process_queue.last_lock),
        "try_unlock_times": process_queue.try_unlock_times,
    }


def _expect(name: str, told: bool, value: bool) -> None:
    """An argument tells what the real client had then."""
    if told != value:
        raise MalformedCase(name, str(value).lower(), told)


class Messages:
    """The process queue behind a trace."""

    def __init__(self, body_size: int) -> None:
        self.queue = ProcessQueue(0.0, record_bytes=body_size)
        self.settings = ClientSettings()

    def put(self, offsets: list[int], max_offset_of_last: int | None) -> object:
        return self.queue.put(_ranges(offsets), max_offset_of_last)

    def remove(self, offsets: list[int]) -> object:
        return self.queue.remove(_ranges(offsets))

    def take(self, count: Count) -> object:
        return _singles(self.queue.take(count))

    def commit(self) -> object:
        offset = self.queue.commit()
        return {"error": "NoSuchElementException"} if offset is None else offset

    def rollback(self) -> None:
        self.queue.rollback()

    def make_message_to_consume_again(self, offsets: list[int]) -> None:
        self.queue.consume_again(_ranges(offsets))

    def clear(self) -> None:
        self.queue.clear()

    def contains(self, offset: int) -> object:
        return offset in self.queue.waiting

    def has_waiting_message(self) -> object:
        return bool(self.queue.waiting)

    def advance(self, now: int, ms: object) -> Outcome:
        return self._expired(now)

    def pull_and_lock_now(self, now: int) -> Outcome:
        self.queue.last_pull = self.queue.last_lock = now
        return self._expired(now)

    def _expired(self, now: int) -> Outcome:
        pull = self.queue.pull_expired(now, self.settings.rebalance.pull_max_idle_time_ms)
        lock = self.queue.lock_expired(now, self.settings.ordered.lock_max_live_time_ms)
        return Outcome({"pull_expired": pull, "lock_expired": lock})

    def outcome(self, result: object = NOTHING, /) -> Outcome:
        queue = self.queue
        state = {
            "waiting": _singles(queue.waiting.ranges()),
            "taken": _singles(queue.taken.ranges()),
            "message_count": queue.count,
            "message_bytes": queue.bytes,
            "queue_offset_max": queue.highest,
            "consuming": queue.consuming,
            "accumulated": queue.accumulated,
            "max_span": queue.max_span,
        }
        return Outcome(result, state=state)


def _ranges(offsets: Iterable[int]) -> list[tuple[int, int]]:
    return [(offset, offset + 1) for offset in offsets]


def _singles(ranges: Iterable[tuple[int, int]]) -> list[int]:
    return [offset for first, end in ranges for offset in range(first, end)]
