"""Plays traces of clients that rebalance through the parts of `rocketmq_selfbalance.client`, and of a process queue."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from compare.conformance.cases import MalformedCase
from compare.conformance.fields import NO_FIELD, counted, get, numbers, only, queue, queues, texts
from compare.conformance.rocketmq_traces.clients import (
    CREATE_CLIENT,
    Answer,
    Brokers,
    TraceWorld,
    entries,
    in_order,
    make_consumer,
    owners_of,
)
from compare.conformance.rocketmq_traces.steps import Operation, Outcome, Step, does
from compare.json_types import Json
from protocols import Queue, sort_queues
from protocols.java import sorted_as_java
from rocketmq_selfbalance.cluster import NOTHING as NO_OFFSET
from rocketmq_selfbalance.cluster import (
    PUSH,
    ClientSettings,
    Consumer,
    DoRebalance,
    Failure,
    LockAll,
    PersistAll,
    ProcessQueue,
    RemoveProcessQueue,
    ResetOffsets,
    UnlockAll,
    Version,
)
from rocketmq_selfbalance.cluster import Step as ThreadStep

_FAULTS = ("offset_query", "admin_query", "lock", "offset_commit")


class Clients:
    """The clients behind a trace, and the brokers that they share."""

    def __init__(self, config: Mapping[str, Json], version: Version) -> None:
        only(config, "config", ("seed_index",))
        self.version = version
        self.brokers = Brokers()
        self.worlds: dict[str, TraceWorld] = {}
        self.seen: dict[tuple[str, Queue], ProcessQueue] = {}
        """(Client, queue) to the process queue that the client had last: it may have left the table."""

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        does_ = partial(does, Outcome)
        return {
            "create_client": (CREATE_CLIENT, does_(self._create)),
            "subscribe": (
                ("client", "topic"),
                does_(lambda step: self._consumer(step).subscribe(step.text("topic"), step.now)),
            ),
            "unsubscribe": (
                ("client", "topic"),
                does_(lambda step: self._consumer(step).unsubscribe(step.text("topic"))),
            ),
            "set_consumer_ids": (("group", "client_ids"), does_(self._set_members)),
            "set_route": (("clients", "topic", "queues"), does_(self._set_route)),
            "set_broker_offset": (("group", "queue", "offset"), does_(self._set_offset)),
            "set_queue_answers": (("queue", "max_offset", "search_offset"), does_(self._set_answers)),
            "set_fault": (("what", "on"), does_(self._set_fault)),
            "set_broker_unreachable": (("broker", "on"), does_(self.brokers.set_unreachable)),
            "pull": (("client", "queue", "owned"), does_(self._pull)),
            "set_consuming": (("client", "queue", "on"), does_(self._set_consuming)),
            "messages_arrive": (("client", "queue", "first_offset", "count", "queue_dropped"), self._arrive),
            "messages_consumed": (("client", "queue", "offsets", "queue_dropped"), self._consumed),
            "rebalance": (("client", "topic_order"), self._rebalance),
            "update_local_offset": (("client", "queue", "offset", "increase_only"), self._update),
            "persist_all_owned": (("client",), self._persist),
            "lock_all": (("client",), self._stepwise(LockAll)),
            "unlock_all": (("client",), self._stepwise(UnlockAll)),
            "destroy": (("client",), self._destroy),
            "remove_process_queue": (("client", "queue"), self._take_out),
            "reset_offset_on_client": (("client", "topic", "offsets", "topic_order"), self._reset),
            "owners": ((), self._owners),
        }

    # What surrounds the clients.

    def _create(self, step: Step) -> None:
        self.worlds[step.text("client")] = TraceWorld(make_consumer(step, self.version), self.brokers)

    def _set_members(self, step: Step) -> None:
        listed_ids = texts(step.arguments, "client_ids", nullable=True)
        self.brokers.members[step.text("group")] = None if listed_ids is None else tuple(listed_ids)

    def _set_route(self, step: Step) -> None:
        known = queues(step.arguments, "queues")
        for client in texts(step.arguments, "clients") or ():
            routes = self._world(client).consumer("").routes
            if known is None:
                routes.pop(step.text("topic"), None)
            else:
                routes[step.text("topic")] = sort_queues(set(known))

    def _set_offset(self, step: Step) -> None:
        key, offset = (step.text("group"), _queue(step)), step.optional_number("offset")
        if offset is None:
            self.brokers.committed.pop(key, None)
        else:
            self.brokers.committed[key] = offset

    def _set_answers(self, step: Step) -> None:
        for name, answers in (("max_offset", self.brokers.ends), ("search_offset", self.brokers.by_time)):
            answers[_queue(step)] = _answer(step, name)

    def _set_fault(self, step: Step) -> None:
        if step.text("what") not in _FAULTS:
            raise MalformedCase("what", f"one of {', '.join(_FAULTS)}", step.text("what"))
        change = self.brokers.faults.add if step.truth("on") else self.brokers.faults.discard
        change(step.text("what"))

    # What happens to process queues without the parts under test.

    def _pull(self, step: Step) -> None:
        process_queue = self._consumer(step).table.get(_queue(step))
        _expect(step, "owned", process_queue is not None)
        if process_queue is not None:
            process_queue.last_pull = step.now

    def _set_consuming(self, step: Step) -> None:
        process_queue = self._process_queue(step)
        if process_queue is not None:
            process_queue.listeners = int(step.truth("on"))

    def _arrive(self, step: Step) -> Outcome:
        process_queue = self._process_queue(step)
        _expect(step, "queue_dropped", process_queue is not None and process_queue.dropped)
        first = step.number("first_offset")
        return Outcome(process_queue is not None and process_queue.put([(first, first + step.count("count"))]))

    def _consumed(self, step: Step) -> Outcome:
        process_queue, consumer = self._process_queue(step), self._consumer(step)
        if process_queue is None:
            raise MalformedCase("queue", "a queue that the client had", step.arguments.get("queue"))
        _expect(step, "queue_dropped", process_queue.dropped)
        next_offset = process_queue.remove([(offset, offset + 1) for offset in numbers(step.arguments, "offsets")])
        stored = next_offset != NO_OFFSET and not process_queue.dropped
        if stored:
            consumer.store.table.update(_queue(step), next_offset, True)
        state = {"local_offsets": entries(consumer.store.table.offsets), "messages_left": process_queue.count}
        return Outcome({"next_offset": next_offset, "stored": stored}, state=state)

    def _process_queue(self, step: Step) -> ProcessQueue | None:
        return self.seen.get((step.text("client"), _queue(step)))

    # The parts under test.

    def _rebalance(self, step: Step) -> Outcome:
        consumer = self._consumer(step)
        self._world(step.text("client")).run(
            step.now,
            DoRebalance(consumer.group, in_order(texts(step.arguments, "topic_order"), consumer.subscriptions)),
        )
        return self._outcome(step, consumer.rebalancing.balanced)

    def _update(self, step: Step) -> Outcome:
        table = self._consumer(step).store.table
        table.update(_queue(step), step.number("offset"), step.truth("increase_only"))
        return Outcome(state={"local_offsets": entries(table.offsets)})

    def _persist(self, step: Step) -> Outcome:
        consumer, world = self._consumer(step), self._world(step.text("client"))
        world.run(step.now, PersistAll(consumer.group))
        return Outcome(effects=world.take_effects(), state={"local_offsets": entries(consumer.store.table.offsets)})

    def _stepwise(self, make: Callable[[str], ThreadStep]) -> Operation:
        def perform(step: Step) -> Outcome:
            self._world(step.text("client")).run(step.now, make(self._consumer(step).group))
            return self._outcome(step, None)

        return perform

    def _destroy(self, step: Step) -> Outcome:
        self._consumer(step).destroy()
        return self._outcome(step, None)

    def _take_out(self, step: Step) -> Outcome:
        group = self._consumer(step).group
        self._world(step.text("client")).run(step.now, RemoveProcessQueue(group, _queue(step), "offset illegal"))
        return self._outcome(step, None)

    def _reset(self, step: Step) -> Outcome:
        consumer, world = self._consumer(step), self._world(step.text("client"))
        offsets = tuple(
            (queue("offsets", each), offset) for each, offset in counted(step.arguments, "offsets", "queue")
        )
        reset = ResetOffsets(
            consumer.group,
            step.text("topic"),
            offsets,
            in_order(texts(step.arguments, "topic_order"), consumer.subscriptions),
        )
        if consumer.kind != PUSH:
            # Only push consumers react (spec rocketmq 2.8).
            return self._outcome(step, None)
        world.run(step.now, reset)
        return self._outcome(step, None)._replace(passed=world.passed)

    def _owners(self, step: Step) -> Outcome:
        owned = ((client, self._world(client).consumer("").table) for client in sorted(self.worlds))
        return Outcome(owners_of(owned))

    def _outcome(self, step: Step, result: object) -> Outcome:
        consumer = self._consumer(step)
        self.seen.update(((step.text("client"), held), each) for held, each in consumer.table.items())
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
        return Outcome(result, self._world(step.text("client")).take_effects(), state)

    def _world(self, client: str) -> TraceWorld:
        if client not in self.worlds:
            raise MalformedCase("client", "a client that was created", client)
        return self.worlds[client]

    def _consumer(self, step: Step) -> Consumer:
        return self._world(step.text("client")).consumer("")


def _process_queue(held: Queue, process_queue: ProcessQueue) -> dict[str, object]:
    return {
        "queue": list(held),
        "dropped": process_queue.dropped,
        "locked": process_queue.locked,
        "last_pull_ms": int(process_queue.last_pull),
        "last_lock_ms": int(process_queue.last_lock),
        "try_unlock_times": process_queue.try_unlock_times,
    }


def _expect(step: Step, name: str, value: bool) -> None:
    """An argument that tells what the real client had then."""
    if step.truth(name) != value:
        raise MalformedCase(name, str(value).lower(), step.arguments[name])


def _queue(step: Step) -> Queue:
    return queue("queue", step.arguments.get("queue"))


def _answer(step: Step, name: str) -> Answer:
    value = step.arguments.get(name, NO_FIELD)
    if value == "error":
        return Failure.FAILED
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedCase(name, "a number or error", value)
    return value


class Messages:
    """The process queue behind a trace."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", ("body_size", "seed_index"))
        self.queue = ProcessQueue(0.0, record_bytes=get(config, "body_size", int))
        self.settings = ClientSettings()

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        return {
            "put": (("offsets", "max_offset_of_last"), self._put),
            "remove": (("offsets",), self._with_state(lambda step: self.queue.remove(_offsets(step)))),
            "take": (("count",), self._with_state(lambda step: _singles(self.queue.take(step.count("count"))))),
            "commit": ((), self._with_state(self._commit)),
            "rollback": ((), self._rollback),
            "make_message_to_consume_again": (("offsets",), self._again),
            "clear": ((), self._clear),
            "contains": (("offset",), self._with_state(lambda step: step.number("offset") in self.queue.waiting)),
            "has_waiting_message": ((), self._with_state(lambda step: bool(self.queue.waiting))),
            "advance": (("ms",), self._expired),
            "pull_and_lock_now": ((), self._pull_and_lock),
        }

    def _put(self, step: Step) -> Outcome:
        began = self.queue.put(_offsets(step), step.optional_number("max_offset_of_last"))
        return Outcome(began, state=self._state())

    def _commit(self, step: Step) -> int | dict[str, str]:
        offset = self.queue.commit()
        return {"error": "NoSuchElementException"} if offset is None else offset

    def _rollback(self, step: Step) -> Outcome:
        self.queue.rollback()
        return Outcome(state=self._state())

    def _again(self, step: Step) -> Outcome:
        self.queue.consume_again(_offsets(step))
        return Outcome(state=self._state())

    def _clear(self, step: Step) -> Outcome:
        self.queue.clear()
        return Outcome(state=self._state())

    def _expired(self, step: Step) -> Outcome:
        pull = self.queue.pull_expired(step.now, self.settings.rebalance.pull_max_idle_time_ms)
        lock = self.queue.lock_expired(step.now, self.settings.ordered.lock_max_live_time_ms)
        return Outcome({"pull_expired": pull, "lock_expired": lock})

    def _pull_and_lock(self, step: Step) -> Outcome:
        self.queue.last_pull = self.queue.last_lock = step.now
        return self._expired(step)

    def _with_state(self, perform: Callable[[Step], object]) -> Operation:
        return lambda step: Outcome(perform(step), state=self._state())

    def _state(self) -> dict[str, object]:
        queue = self.queue
        return {
            "waiting": _singles(queue.waiting.ranges()),
            "taken": _singles(queue.taken.ranges()),
            "message_count": queue.count,
            "message_bytes": queue.bytes,
            "queue_offset_max": queue.highest,
            "consuming": queue.consuming,
            "accumulated": queue.accumulated,
            "max_span": queue.max_span,
        }


def _offsets(step: Step) -> list[tuple[int, int]]:
    return [(offset, offset + 1) for offset in numbers(step.arguments, "offsets")]


def _singles(ranges: Iterable[tuple[int, int]]) -> list[int]:
    return [offset for first, end in ranges for offset in range(first, end)]
