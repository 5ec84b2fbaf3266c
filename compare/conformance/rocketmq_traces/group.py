"""Plays traces of whole groups: clients, brokers and a name server of the model together, through their parts."""

from collections.abc import Mapping

from compare.conformance.cases import Difference, Line, MalformedCase
from compare.conformance.rocketmq_fields import counted, get, only, queue, texts
from compare.conformance.rocketmq_traces.client_config import strategy_named
from compare.conformance.rocketmq_traces.client_world import TraceWorld, in_text_order
from compare.conformance.rocketmq_traces.group_brokers import GroupBrokers
from compare.conformance.rocketmq_traces.steps import NOTHING, Operation, Outcome, Step, play_steps
from compare.json_types import Json
from protocols import Queue, sort_queues
from rocketmq_selfbalance.cluster import (
    CHOICES,
    ClientSettings,
    Consumer,
    DoRebalance,
    LockAll,
    PersistAll,
    RemoteOffsets,
    UnlockAll,
    subscribe_queues,
)

_CONFIG = (
    *("group", "strategy", "orderly", "message_model", "consume_from_where", "notify_consumer_ids_changed"),
    "seed_index",
)


def play(line: Line) -> list[Difference]:
    """Perform the trace on clients, brokers and a name server of the model."""
    return play_steps(line, WholeGroup)


class WholeGroup:
    """The group behind a trace, and all that it lives on."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", _CONFIG)
        for name in ("message_model", "consume_from_where"):
            if get(config, name, str) not in CHOICES[name]:
                raise MalformedCase(f"config.{name}", f"one of {', '.join(CHOICES[name])}", config[name])
        self.group = get(config, "group", str)
        self.strategy = strategy_named(get(config, "strategy", str))
        self.settings = ClientSettings(
            orderly=get(config, "orderly", bool),
            message_model=get(config, "message_model", str),
            consume_from_where=get(config, "consume_from_where", str),
        )
        self.brokers = GroupBrokers(self.group, notify=get(config, "notify_consumer_ids_changed", bool))
        self.worlds: dict[str, TraceWorld] = {}
        """Client to its world, while it runs."""

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        return {
            "register_broker": (("broker", "topics_and_queues"), self._register),
            "unregister_broker": (("broker",), self._unregister),
            "broker_heartbeat_to_name_server": (("broker",), self._broker_heartbeat),
            "name_server_scan": ((), self._name_server_scan),
            "broker_down": (("broker", "down"), self._down),
            "brokers_scan_channels": ((), self._scan_channels),
            "set_queue": (("queue", "min_offset", "max_offset", "first_message_in_memory"), self._set_queue),
            "create_client": (("client", "topics"), self._create),
            "subscribe": (("client", "topic"), self._subscribe),
            "unsubscribe": (("client", "topic"), self._unsubscribe),
            "poll_route": (("client",), self._poll_route),
            "heartbeat": (("client",), self._heartbeat),
            "rebalance": (("client", "topic_order"), self._rebalance),
            "consumed_up_to": (("client", "queue", "next_offset"), self._consumed),
            "persist_all_owned": (("client",), self._persist),
            "lock_all": (("client",), self._lock_all),
            "pull_all_owned": (("client",), self._pull),
            "stop_gracefully": (("client",), self._stop),
            "crash_with_connections_closed": (("client",), self._crash),
            "freeze_keeps_its_queues_and_connections": (("client",), self._nothing),
            "thaw": (("client",), self._nothing),
        }

    # Brokers and name server.

    def _register(self, step: Step) -> Outcome:
        topics = {str(topic): count for topic, count in counted(step.arguments, "topics_and_queues", "topic")}
        self.brokers.register(step.now, step.text("broker"), topics)
        return self._outcome()

    def _unregister(self, step: Step) -> Outcome:
        self.brokers.unregister(step.text("broker"))
        return self._outcome()

    def _broker_heartbeat(self, step: Step) -> Outcome:
        self.brokers.live(step.now, step.text("broker"))
        return self._outcome()

    def _name_server_scan(self, step: Step) -> Outcome:
        self.brokers.routes.scan(step.now)
        return self._outcome()

    def _down(self, step: Step) -> Outcome:
        self.brokers.set_down(step.text("broker"), step.truth("down"))
        return self._outcome()

    def _scan_channels(self, step: Step) -> Outcome:
        self.brokers.scan_channels(step.now)
        return self._outcome()

    def _set_queue(self, step: Step) -> Outcome:
        self.brokers.stored[queue("queue", step.arguments.get("queue"))] = (
            step.number("min_offset"),
            step.number("max_offset"),
            step.truth("first_message_in_memory"),
        )
        return Outcome()

    # Clients.

    def _create(self, step: Step) -> Outcome:
        client = step.text("client")
        consumer = Consumer(self.group, client, client, self.strategy, RemoteOffsets(), self.settings, step.now)
        for topic in texts(step.arguments, "topics") or ():
            consumer.subscribe(topic, step.now)
        self.worlds[client] = TraceWorld(consumer, self.brokers)
        return self._outcome()

    def _subscribe(self, step: Step) -> Outcome:
        self._consumer(step).subscribe(step.text("topic"), step.now)
        return Outcome()

    def _unsubscribe(self, step: Step) -> Outcome:
        self._consumer(step).unsubscribe(step.text("topic"))
        return Outcome()

    def _poll_route(self, step: Step) -> Outcome:
        consumer = self._consumer(step)
        found: list[list[str | int | None]] = []
        for topic in consumer.subscriptions:
            route = self.brokers.routes.route(topic)
            if route is None:
                found.append([topic, None])
                continue
            consumer.routes[topic] = subscribe_queues(topic, route)
            found.append([topic, len(consumer.routes[topic])])
        return self._outcome(found)

    def _heartbeat(self, step: Step) -> Outcome:
        self.brokers.heartbeat(step.now, self._consumer(step))
        return self._outcome()

    def _rebalance(self, step: Step) -> Outcome:
        consumer = self._consumer(step)
        order = texts(step.arguments, "topic_order") or []
        if sorted(order) != sorted(consumer.subscriptions):
            expected = f"the topics {sorted(consumer.subscriptions)} in some order"
            raise MalformedCase("topic_order", expected, order)
        self._world(step).run(step.now, DoRebalance(self.group, tuple(order)))
        return self._outcome(consumer.rebalancing.balanced)

    def _consumed(self, step: Step) -> Outcome:
        consumer, consumed = self._consumer(step), queue("queue", step.arguments.get("queue"))
        process_queue = consumer.table.get(consumed)
        stored = process_queue is not None and not process_queue.dropped
        if stored:
            consumer.store.table.update(consumed, step.number("next_offset"), True)
        return Outcome({"stored": stored})

    def _persist(self, step: Step) -> Outcome:
        self._world(step).run(step.now, PersistAll(self.group))
        return self._outcome()

    def _lock_all(self, step: Step) -> Outcome:
        self._world(step).run(step.now, LockAll(self.group))
        return self._outcome()

    def _pull(self, step: Step) -> Outcome:
        consumer = self._consumer(step)
        for held in consumer.holds():
            consumer.table[held].last_pull = step.now
        return Outcome()

    def _stop(self, step: Step) -> Outcome:
        world, consumer = self._world(step), self._consumer(step)
        world.run(step.now, *([UnlockAll(self.group)] if consumer.locks else []), PersistAll(self.group))
        self.brokers.take_leave(consumer)
        return self._gone(step)

    def _crash(self, step: Step) -> Outcome:
        self.brokers.lose(step.text("client"))
        return self._gone(step)

    def _gone(self, step: Step) -> Outcome:
        outcome = self._outcome()
        del self.worlds[step.text("client")]
        return Outcome(outcome.result, outcome.effects, self._state())

    def _nothing(self, step: Step) -> Outcome:
        self._world(step)
        return self._outcome()

    # What came of it.

    def _outcome(self, result: object = NOTHING) -> Outcome:
        effects: dict[str, list[object]] = self.brokers.take_effects()
        for world in self.worlds.values():
            for kind, records in world.take_effects().items():
                # These clients have no listener of the user's.
                if kind != "listener_topic_all_divided":
                    effects.setdefault(kind, []).extend(records)
        return Outcome(result, in_text_order(effects), self._state())

    def _state(self) -> dict[str, object]:
        owners: dict[Queue, list[str]] = {}
        for client in sorted(self.worlds):
            for held, process_queue in self.worlds[client].consumer(self.group).table.items():
                owners.setdefault(held, []).append(f"{client} dropped" if process_queue.dropped else client)
        return {"owners": [[list(owner), owners[owner]] for owner in sort_queues(owners)], **self.brokers.state()}

    def _world(self, step: Step) -> TraceWorld:
        client = step.text("client")
        if client not in self.worlds:
            raise MalformedCase("client", "a client that runs", client)
        return self.worlds[client]

    def _consumer(self, step: Step) -> Consumer:
        return self._world(step).consumer(self.group)
