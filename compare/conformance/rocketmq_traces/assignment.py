"""Plays traces of clients for whom brokers compute (``clientRebalance`` is false), with these brokers and their tables.

The format is in tests/golden/rocketmq/FORMAT-pop.md. Which broker a client asks is recorded, as is the order of its
topics; a broker of a retry topic is known while the name server has its route.
"""

from typing import NamedTuple, TypeAlias

from compare.conformance.cases import MalformedCase
from compare.conformance.fields import Count
from compare.conformance.rocketmq_traces.clients import Brokers, TraceWorld, check_choices, queue_lists, strategy_named
from compare.conformance.rocketmq_traces.steps import NOTHING, Outcome
from protocols import Queue, sort_queues
from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java
from rocketmq_selfbalance.cluster import (
    BROADCASTING,
    CLUSTERING,
    CONSUME_FROM_FIRST_OFFSET,
    CONSUME_FROM_LAST_OFFSET,
    CONSUME_PASSIVELY,
    PERM_READ,
    POP,
    RETRY_PREFIX,
    AskAssignment,
    Assigned,
    Call,
    ClientSettings,
    Consumer,
    ConsumerData,
    ConsumerManager,
    DoRebalance,
    Failure,
    Mode,
    PopProcessQueue,
    Question,
    RemoteOffsets,
    RequestModes,
    Subscription,
    TopicRoutes,
    Version,
    assigned,
    consumer_data,
)

_CHANNEL_EXPIRED_MS = 120_000
_MOST_QUEUES = 10_000
_MIN, _MAX = 0, 1

Rows: TypeAlias = list[tuple[str, Count, int]]
"""Broker, queues to read, permission."""


class _Asked(NamedTuple):
    """A question to a broker."""

    topic: str
    group: str
    client_id: str | None
    strategy_name: str | None
    message_model: str


class NameServer:
    """The routes that brokers ask for."""

    def __init__(self) -> None:
        self.routes: dict[str, tuple[Queue, ...]] = {}
        self.down = False

    def set(self, topic: str, rows: Rows | None) -> None:
        """None: nobody knows the topic any more."""
        if rows is None:
            self.routes.pop(topic, None)
            return
        if sum(count for _, count, _ in rows) > _MOST_QUEUES:
            raise MalformedCase("rows", f"at most {_MOST_QUEUES} queues", len(rows))
        self.routes[topic] = sort_queues(
            {
                Queue(topic, broker, number)
                for broker, count, perm in rows
                if perm & PERM_READ
                for number in range(count)
            }
        )


class AllocatingBroker:
    """One broker: its table of modes, its routes, its members."""

    def __init__(self, name: str, name_server: NameServer, default: Mode, balances: bool, version: Version) -> None:
        self.name, self._name_server, self._balances, self._version = name, name_server, balances, version
        self.modes = RequestModes(default)
        self.known: tuple[list[str] | None, list[str] | None] = None, None
        """The topics and groups that it knows; None: all."""
        self.restart()

    def restart(self) -> None:
        """The table of modes is on its disk."""
        self.routes = TopicRoutes()
        self.consumers = ConsumerManager(_CHANNEL_EXPIRED_MS, version=self._version)

    def poll(self, topic: str) -> None:
        """The name server is asked for the topic."""
        if not self._name_server.down:
            self.routes.take_over(topic, self._name_server.routes.get(topic))

    def answer(self, asked: _Asked) -> tuple[list[Queue], str] | None:
        """The queues and their mode; None is no valid answer."""
        if not self.routes.queues.get(asked.topic):
            self.poll(asked.topic)
        mode = self.modes.of(asked.topic, asked.group)
        question = Question(asked.topic, asked.client_id, asked.strategy_name, asked.message_model == BROADCASTING)
        route, ids = self.routes.queues.get(asked.topic), self.consumers.client_ids(asked.group)
        queues = assigned(question, mode, self.name, route, ids, self._balances)
        return None if queues is None else (queues, mode.mode)

    def mode_rows(self) -> list[list[object]]:
        """The table of modes as traces write it."""
        return [[*of, *mode] for of, mode in sorted(self.modes.table.items())]

    def route_rows(self) -> list[list[object]]:
        """The routes as traces write them."""
        return [[topic, queue_lists(self.routes.queues[topic])] for topic in sorted(self.routes.queues)]


class _World(TraceWorld):
    """A client before these brokers."""

    def __init__(self, consumer: Consumer, around: "AskingClients") -> None:
        super().__init__(consumer, around.surroundings)
        self._around = around
        self.asks: str | None = None
        """The broker that it asks in this pass."""

    def has_route(self, topic: str) -> bool:
        known = not topic.startswith(RETRY_PREFIX) or topic in self._around.name_server.routes
        return self.asks is not None and known

    def _answer(self, now: Time, call: Call) -> object:
        if not isinstance(call, AskAssignment) or self.asks is None:
            return super()._answer(now, call)
        consumer = self._consumer
        asked = _Asked(call.topic, call.group, consumer.client_id, consumer.strategy.name, consumer.message_model)
        told = [call.topic, self.asks]
        if self.asks in self._around.unreachable:
            self.effect("queries_in_order", [*told, "timeout"])
            return Failure.FAILED
        found = self._around.broker(self.asks).answer(asked)
        self.effect("queries_in_order", [*told, _shown(found)])
        if found is None:
            return None
        queues, mode = found
        return Assigned((), sort_queues(queues)) if mode == POP else Assigned(sort_queues(queues), ())

    def pop(self, now: Time, consumer: Consumer, queue: Queue, delay: Time, out: Outbox) -> None:
        mode = _MIN if consumer.consume_from_where == CONSUME_FROM_FIRST_OFFSET else _MAX
        self.effect("pop_request_init_mode_and_delay_ms", [list(queue), mode, int(delay)])

    def drop_popped(self, consumer: Consumer, queue: Queue, popped: PopProcessQueue, out: Outbox) -> None:
        popped.dropped = True

    def in_turn(self) -> dict[str, list[object]]:
        """What the last pass did; the questions stand in their order, the rest in text order."""
        asked = self._effects.get("queries_in_order", [])
        return self.take_effects() | {"queries_in_order": asked}


class _Surroundings(Brokers):
    """Offsets as a new group finds them; heartbeats reach the brokers."""

    def __init__(self, around: "AskingClients") -> None:
        super().__init__()
        self._around = around

    def members_of(self, group: str) -> tuple[str, ...]:
        """Clients that compute themselves know nobody but them."""
        return ("c1",)

    def heartbeat(self, now: Time, consumer: Consumer) -> None:
        self._around.heartbeat(now, consumer.client_id)


class AskingClients:
    """The brokers and clients behind a trace."""

    def __init__(
        self,
        brokers: list[str],
        group: str,
        version: Version,
        default_message_request_mode: str = "PULL",
        default_pop_share_queue_num: int = -1,
        server_load_balancer_enable: bool = True,
    ) -> None:
        default = Mode(default_message_request_mode, default_pop_share_queue_num)
        self.group, self.version, self.name_server = group, version, NameServer()
        self.brokers = {
            name: AllocatingBroker(name, self.name_server, default, server_load_balancer_enable, version)
            for name in brokers
        }
        self.unreachable: set[str] = set()
        self.surroundings = _Surroundings(self)
        self.worlds: dict[str, _World] = {}

    def outcome(self, result: object = NOTHING, /) -> Outcome:
        return Outcome(result)

    # Name server and brokers.

    def set_name_server_route(self, topic: str, rows: Rows | None) -> None:
        self.name_server.set(topic, rows)

    def set_name_server_down(self, on: bool) -> None:
        self.name_server.down = on

    def set_broker_unreachable(self, broker: str, on: bool) -> None:
        (self.unreachable.add if on else self.unreachable.discard)(self.broker(broker).name)

    def set_known(self, broker: str, topics: list[str] | None, groups: list[str] | None) -> None:
        self.broker(broker).known = topics, groups

    def set_mode(self, broker: str, topic: str, group: str, mode: str | None, pop_share_queue_num: int) -> Outcome:
        asked = self.broker(broker)
        topics, groups = asked.known
        refusal = asked.modes.set(
            topic,
            group,
            mode,
            pop_share_queue_num,
            topics is None or topic in topics,
            groups is None or group in groups,
        )
        return Outcome(refusal._asdict(), state={"modes": asked.mode_rows()})

    def broker_poll_route(self, broker: str) -> Outcome:
        polling = self.broker(broker)
        for topic in list(polling.routes.queues):
            polling.poll(topic)
        return Outcome(state={"route_cache": polling.route_rows()})

    def restart_broker(self, broker: str) -> Outcome:
        restarted = self.broker(broker)
        restarted.restart()
        written: dict[str, dict[str, object]] = {}
        for (topic, group), (mode, share) in restarted.modes.table.items():
            entry = {"topic": topic, "consumerGroup": group, "mode": mode, "popShareQueueNum": share}
            written.setdefault(topic, {})[group] = entry
        state = {"modes": restarted.mode_rows(), "route_cache": restarted.route_rows()}
        return Outcome({"mode_file": {"messageRequestModeMap": written}} if written else None, state=state)

    def register(self, now: int, broker: str, client: str, channel: str, topics: list[str]) -> Outcome:
        subscriptions = tuple(Subscription(topic, "*", now) for topic in topics)
        data = ConsumerData(self.group, CONSUME_PASSIVELY, CLUSTERING, CONSUME_FROM_LAST_OFFSET, subscriptions)
        self.broker(broker).consumers.register(now, channel, client, data)
        return self._members()

    def unregister(self, broker: str, client: str, channel: str) -> Outcome:
        self.broker(broker).consumers.unregister(self.group, channel, client)
        return self._members()

    def channel_close_event(self, broker: str, channel: str) -> Outcome:
        self.broker(broker).consumers.channel_closed(channel)
        return self._members()

    def scan_not_active_channels(self, now: int, broker: str) -> Outcome:
        self.broker(broker).consumers.scan(now)
        return self._members()

    def query(
        self,
        broker: str,
        topic: str,
        group: str,
        client_id: str | None,
        strategy_name: str | None,
        message_model: str,
    ) -> object:
        return _shown(self.broker(broker).answer(_Asked(topic, group, client_id, strategy_name, message_model)))

    # Clients.

    def create_client(
        self, now: int, client: str, strategy: str, consume_from_where: str, orderly: bool, topics: list[str]
    ) -> None:
        check_choices({"consume_from_where": consume_from_where}, "consume_from_where")
        settings = ClientSettings(
            orderly=orderly, consume_from_where=consume_from_where, client_rebalance=False, version=self.version
        )
        consumer = Consumer(self.group, client, client, strategy_named(strategy), RemoteOffsets(), settings, now)
        for topic in topics:
            consumer.subscribe(topic, now)
        self.worlds[client] = _World(consumer, self)

    def heartbeat(self, now: int | Time, client: str) -> Outcome:
        data = consumer_data(self._consumer(client))
        for name, broker in self.brokers.items():
            if name not in self.unreachable:
                broker.consumers.register(now, client, client, data)
        return self._members()

    def rebalance(self, now: int, client: str, asks_broker: str | None, topics_in_order: list[str]) -> Outcome:
        world, consumer = self._world(client), self._consumer(client)
        world.asks = None if asks_broker is None else self.broker(asks_broker).name
        world.run(now, DoRebalance(self.group, tuple(topics_in_order)))
        held = {
            "pull_queues": [
                [list(queue), consumer.table[queue].dropped, int(consumer.table[queue].last_pull)]
                for queue in sort_queues(consumer.table)
            ],
            "pop_queues": [
                [list(queue), popped.dropped, int(popped.last_pop), popped.waiting_acks]
                for queue, popped in ((queue, consumer.pop_table[queue]) for queue in sort_queues(consumer.pop_table))
            ],
            "subscribed_topics": sorted_as_java(consumer.subscriptions),
        }
        return Outcome(consumer.rebalancing.balanced, world.in_turn(), {"client": held, **self._client_ids()})

    def pop_request_sent(self, now: int, client: str, queue: Queue) -> object:
        popped = self._consumer(client).pop_table.get(queue)
        if popped is not None:
            popped.last_pop = now
        return popped is not None

    def messages_found(self, client: str, queue: Queue, count: int) -> object:
        return self._counted(client, queue, count)

    def messages_done(self, client: str, queue: Queue, count: int) -> object:
        return self._counted(client, queue, -count)

    def _counted(self, client: str, queue: Queue, count: int) -> int | None:
        popped = self._consumer(client).pop_table.get(queue)
        if popped is None:
            return None
        popped.waiting_acks += count
        return popped.waiting_acks

    def subscribe(self, now: int, client: str, topic: str) -> None:
        self._consumer(client).subscribe(topic, now)

    def unsubscribe(self, client: str, topic: str) -> None:
        self._consumer(client).unsubscribe(topic)

    def stop_gracefully(self, client: str) -> Outcome:
        for name, broker in self.brokers.items():
            if name not in self.unreachable:
                broker.consumers.unregister(self.group, client, client)
        return self._gone(client)

    def crash_with_connections_closed(self, client: str) -> Outcome:
        for broker in self.brokers.values():
            broker.consumers.channel_closed(client)
        return self._gone(client)

    def _gone(self, client: str) -> Outcome:
        self._world(client)
        del self.worlds[client]
        return self._members()

    def _members(self) -> Outcome:
        return Outcome(state=self._client_ids())

    def _client_ids(self) -> dict[str, object]:
        ids = {name: broker.consumers.client_ids(self.group) for name, broker in self.brokers.items()}
        return {"client_ids": {name: None if each is None else sorted_as_java(each) for name, each in ids.items()}}

    def broker(self, name: str) -> AllocatingBroker:
        """The broker of this name."""
        if name not in self.brokers:
            raise MalformedCase("broker", f"one of {', '.join(self.brokers)}", name)
        return self.brokers[name]

    def _world(self, client: str) -> _World:
        if client not in self.worlds:
            raise MalformedCase("client", "a client that was created", client)
        return self.worlds[client]

    def _consumer(self, client: str) -> Consumer:
        return self._world(client).consumer(self.group)


def _shown(answer: tuple[list[Queue], str] | None) -> list[list[object]] | None:
    """An answer as traces write it."""
    if answer is None:
        return None
    return [[queue.broker, queue.number, answer[1]] for queue in sort_queues(answer[0])]
