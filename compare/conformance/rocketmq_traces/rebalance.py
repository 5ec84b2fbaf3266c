"""Plays traces of clients that rebalance through the parts of `rocketmq_selfbalance.client`."""

from collections.abc import Callable, Mapping

from compare.conformance.cases import Difference, Line, MalformedCase
from compare.conformance.rocketmq_fields import NO_FIELD, counted, numbers, only, queue, queues, texts
from compare.conformance.rocketmq_traces.client_config import CREATE_CLIENT, make_consumer
from compare.conformance.rocketmq_traces.client_world import Answer, Brokers, TraceWorld
from compare.conformance.rocketmq_traces.steps import Operation, Outcome, Step, play_steps
from compare.json_types import Json
from protocols import Queue, sort_queues
from protocols.java import sorted_as_java
from rocketmq_selfbalance.client.calls import Failure
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.locks import LockAll, UnlockAll
from rocketmq_selfbalance.client.persisting import PersistAll
from rocketmq_selfbalance.client.process_queue import NOTHING as NO_OFFSET
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.rebalance_service import DoRebalance
from rocketmq_selfbalance.client.removal import RemoveProcessQueue
from rocketmq_selfbalance.client.resetting import ResetOffsets
from rocketmq_selfbalance.client.threads import Step as ThreadStep

_FAULTS = ("offset_query", "admin_query", "lock", "offset_commit")


def play(line: Line) -> list[Difference]:
    """Perform the trace on clients of the model."""
    return play_steps(line, Clients)


class Clients:
    """The clients behind a trace, and the brokers that they share."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", ("seed_index",))
        self.brokers = Brokers()
        self.worlds: dict[str, TraceWorld] = {}
        self.seen: dict[tuple[str, Queue], ProcessQueue] = {}
        """(Client, queue) to the process queue that the client had last: it may have left the table."""

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        return {
            "create_client": (CREATE_CLIENT, self._create),
            "subscribe": (("client", "topic"), self._subscribe),
            "unsubscribe": (("client", "topic"), self._unsubscribe),
            "set_consumer_ids": (("group", "client_ids"), self._set_members),
            "set_route": (("clients", "topic", "queues"), self._set_route),
            "set_broker_offset": (("group", "queue", "offset"), self._set_offset),
            "set_queue_answers": (("queue", "max_offset", "search_offset"), self._set_answers),
            "set_fault": (("what", "on"), self._set_fault),
            "set_broker_unreachable": (("broker", "on"), self._set_unreachable),
            "pull": (("client", "queue", "owned"), self._pull),
            "set_consuming": (("client", "queue", "on"), self._set_consuming),
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

    def _create(self, step: Step) -> Outcome:
        self.worlds[step.text("client")] = TraceWorld(make_consumer(step), self.brokers)
        return Outcome()

    def _subscribe(self, step: Step) -> Outcome:
        self._consumer(step).subscribe(step.text("topic"), step.now)
        return Outcome()

    def _unsubscribe(self, step: Step) -> Outcome:
        self._consumer(step).unsubscribe(step.text("topic"))
        return Outcome()

    def _set_members(self, step: Step) -> Outcome:
        listed_ids = texts(step.arguments, "client_ids", nullable=True)
        self.brokers.members[step.text("group")] = None if listed_ids is None else tuple(listed_ids)
        return Outcome()

    def _set_route(self, step: Step) -> Outcome:
        known = queues(step.arguments, "queues")
        for client in texts(step.arguments, "clients") or ():
            routes = self._world(client).consumer("").routes
            if known is None:
                routes.pop(step.text("topic"), None)
            else:
                routes[step.text("topic")] = sort_queues(set(known))
        return Outcome()

    def _set_offset(self, step: Step) -> Outcome:
        key, offset = (step.text("group"), _queue(step)), step.optional_number("offset")
        if offset is None:
            self.brokers.committed.pop(key, None)
        else:
            self.brokers.committed[key] = offset
        return Outcome()

    def _set_answers(self, step: Step) -> Outcome:
        for name, answers in (("max_offset", self.brokers.ends), ("search_offset", self.brokers.by_time)):
            answers[_queue(step)] = _answer(step, name)
        return Outcome()

    def _set_fault(self, step: Step) -> Outcome:
        if step.text("what") not in _FAULTS:
            raise MalformedCase("what", f"one of {', '.join(_FAULTS)}", step.text("what"))
        change = self.brokers.faults.add if step.truth("on") else self.brokers.faults.discard
        change(step.text("what"))
        return Outcome()

    def _set_unreachable(self, step: Step) -> Outcome:
        change = self.brokers.unreachable.add if step.truth("on") else self.brokers.unreachable.discard
        change(step.text("broker"))
        return Outcome()

    # What happens to process queues without the parts under test.

    def _pull(self, step: Step) -> Outcome:
        process_queue = self._consumer(step).table.get(_queue(step))
        _expect(step, "owned", process_queue is not None)
        if process_queue is not None:
            process_queue.last_pull = step.now
        return Outcome()

    def _set_consuming(self, step: Step) -> Outcome:
        process_queue = self._process_queue(step)
        if process_queue is not None:
            process_queue.listeners = int(step.truth("on"))
        return Outcome()

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
        state = {"local_offsets": _entries(consumer.store.table.offsets), "messages_left": process_queue.count}
        return Outcome({"next_offset": next_offset, "stored": stored}, state=state)

    def _process_queue(self, step: Step) -> ProcessQueue | None:
        return self.seen.get((step.text("client"), _queue(step)))

    # The parts under test.

    def _rebalance(self, step: Step) -> Outcome:
        consumer = self._consumer(step)
        self._world(step.text("client")).run(step.now, DoRebalance(consumer.group, _order(step, consumer)))
        return self._outcome(step, consumer.rebalancing.balanced)

    def _update(self, step: Step) -> Outcome:
        table = self._consumer(step).store.table
        table.update(_queue(step), step.number("offset"), step.truth("increase_only"))
        return Outcome(state={"local_offsets": _entries(table.offsets)})

    def _persist(self, step: Step) -> Outcome:
        consumer, world = self._consumer(step), self._world(step.text("client"))
        world.run(step.now, PersistAll(consumer.group))
        return Outcome(effects=world.take_effects(), state={"local_offsets": _entries(consumer.store.table.offsets)})

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
        reset = ResetOffsets(consumer.group, step.text("topic"), offsets, _order(step, consumer))
        if consumer.kind != PUSH:
            # Only push consumers react (spec rocketmq 2.8).
            return self._outcome(step, None)
        world.run(step.now, reset)
        return self._outcome(step, None)._replace(passed=int(consumer.settings.rebalance.reset_offset_pause_ms))

    def _owners(self, step: Step) -> Outcome:
        owners: dict[Queue, list[str]] = {}
        for client in sorted(self.worlds):
            for held in self._world(client).consumer("").table:
                owners.setdefault(held, []).append(client)
        return Outcome([[list(each), owners[each]] for each in sort_queues(owners)])

    def _outcome(self, step: Step, result: object) -> Outcome:
        consumer = self._consumer(step)
        self.seen.update(((step.text("client"), held), each) for held, each in consumer.table.items())
        state: dict[str, object] = {
            "process_queues": [_process_queue(each, consumer.table[each]) for each in sort_queues(consumer.table)],
            "subscription_versions_ms": [
                [topic, int(consumer.subscriptions[topic])] for topic in sorted_as_java(consumer.subscriptions)
            ],
            "local_offsets": _entries(consumer.store.table.offsets),
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


def _order(step: Step, consumer: Consumer) -> tuple[str, ...]:
    """The order in which the topics were worked on; they have to be those subscribed to."""
    order = texts(step.arguments, "topic_order") or []
    if sorted(order) != sorted(consumer.subscriptions):
        raise MalformedCase("topic_order", f"the topics {sorted(consumer.subscriptions)} in some order", order)
    return tuple(order)


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


def _entries(offsets: Mapping[Queue, int]) -> list[list[object]]:
    return [[list(each), offsets[each]] for each in sort_queues(offsets)]
