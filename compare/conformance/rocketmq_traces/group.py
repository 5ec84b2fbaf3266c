"""Plays traces of whole groups: clients, brokers and a name server of the model together, through their parts, put
together as the script did."""

from compare.conformance.cases import MalformedCase
from compare.conformance.rocketmq_traces.clients import (
    LOCK_MAX_LIVE_MS,
    TraceWorld,
    check_choices,
    in_order,
    in_text_order,
    owners_of,
    strategy_named,
)
from compare.conformance.rocketmq_traces.steps import NOTHING, Answer, Outcome
from protocols import Queue, sort_queues
from protocols.engine.nodes import Time
from protocols.java import sorted_as_java
from rocketmq_selfbalance.cluster import (
    CHANGE,
    CLIENT_REGISTER,
    CLIENT_UNREGISTER,
    MASTER_ID,
    SUCCESS,
    UNREGISTER,
    ClientSettings,
    Consumer,
    ConsumerEvent,
    ConsumerManager,
    ConsumerOffsetManager,
    DataVersion,
    DoRebalance,
    Failure,
    LockAll,
    NameServerSettings,
    PersistAll,
    RebalanceLockManager,
    RemoteOffsets,
    RouteInfoManager,
    TopicConfig,
    UnlockAll,
    Version,
    consumer_data,
    subscribe_queues,
)

_CLUSTER = "cluster"
_CHANNEL_EXPIRED_MS = 120_000


class _Broker:
    """One broker's tables."""

    def __init__(self, now: Time, version: Version) -> None:
        self.consumers = ConsumerManager(_CHANNEL_EXPIRED_MS, version=version)
        self.offsets = ConsumerOffsetManager(now, version=version)
        self.locks = RebalanceLockManager(LOCK_MAX_LIVE_MS)


class GroupBrokers:
    """All brokers by name, and the route table. A client's channel is named after it."""

    def __init__(self, group: str, version: Version, *, notify: bool) -> None:
        self._group, self._version, self._notify = group, version, notify
        self.brokers: dict[str, _Broker] = {}
        self.routes = RouteInfoManager(NameServerSettings())
        self.unreachable: set[str] = set()
        self.stored: dict[Queue, tuple[int, int, bool]] = {}
        """First offset, end, and whether the first record is in memory."""
        self._up_names: set[str] = set()
        """Who takes heartbeats and answers who is in the group. In the recording that is not the opposite of
        ``unreachable``: a broker that took leave of the name server is not up, but still found by its address; one
        that registers after it went down is up, but not found by its address."""
        self._versions = 0
        self._effects: dict[str, list[object]] = {}

    # The script's side.

    def register(self, now: Time, broker: str, topics: dict[str, int]) -> None:
        """The broker registers with these topics, and with one of its own as always."""
        self.brokers.setdefault(broker, _Broker(now, self._version))
        self._up_names.add(broker)
        self._versions += 1
        configs = [TopicConfig(topic, count, count) for topic, count in topics.items()]
        configs.append(TopicConfig(f"SELF_{broker}", 1, 1))
        version = DataVersion(timestamp=now, counter=self._versions)
        self.routes.register(now, _CLUSTER, broker, MASTER_ID, broker, configs, version, broker)

    def unregister(self, broker: str) -> None:
        """The broker unregisters at the name server."""
        self.routes.unregister(_CLUSTER, broker, broker)
        self._up_names.discard(broker)

    def set_down(self, broker: str, down: bool) -> None:
        """The broker goes down, or comes back with all its tables."""
        if down:
            self.unreachable.add(broker)
            self._up_names.discard(broker)
        elif broker in self.brokers:
            self.unreachable.discard(broker)
            self._up_names.add(broker)

    def live(self, now: Time, broker: str) -> None:
        """The name server hears of the broker."""
        self.routes.heartbeat(now, _CLUSTER, broker)

    def scan_channels(self, now: Time) -> None:
        """Every broker that is up looks for silent channels; one that has stopped or went down does nothing."""
        for name, broker in self._up():
            self._tell(name, broker.consumers.scan(now)[1])

    def take_leave(self, consumer: Consumer) -> None:
        """The client unregisters at every broker that is up."""
        for name, broker in self._up():
            client = consumer.client_id
            self._tell(name, broker.consumers.unregister(self._group, client, client, notify=self._notify))

    def lose(self, client: str) -> None:
        """The client's connections to the brokers that are up are closed."""
        for name, broker in self._up():
            self._tell(name, broker.consumers.channel_closed(client))

    def take_effects(self) -> dict[str, list[object]]:
        """What brokers told since the last call of this."""
        effects, self._effects = self._effects, {}
        return effects

    def state(self) -> dict[str, object]:
        """The brokers' tables as the recording writes them."""
        committed: dict[Queue, int] = {}
        ids: dict[str, list[str] | None] = {}
        topics: dict[str, list[str] | None] = {}
        for name, broker in self.brokers.items():
            group = broker.consumers.groups.get(self._group)
            listed = broker.consumers.client_ids(self._group)
            ids[name] = None if listed is None else sorted_as_java(listed)
            topics[name] = None if group is None else sorted_as_java(group.topics)
            for topic in broker.offsets.topics_of(self._group):
                numbers = broker.offsets.offsets[f"{topic}@{self._group}"]
                committed.update((Queue(topic, name, number), offset) for number, offset in numbers.items())
        return {
            "client_ids_on_broker": ids,
            "subscribed_topics_on_broker": topics,
            "committed": [[list(each), committed[each]] for each in sort_queues(committed)],
        }

    # The clients' side.

    def members_of(self, group: str) -> tuple[str, ...] | None:
        """As the first broker by name lists them that is up."""
        return next((broker.consumers.client_ids(group) for _, broker in self._up()), None)

    def query(self, group: str, queue: Queue) -> Answer:
        """The broker's rules: see `ConsumerOffsetManager.answer_query`."""
        first, _, in_memory = self.stored.get(queue, (0, 0, True))
        code, offset = self.brokers[queue.broker].offsets.answer_query(
            group,
            queue.topic,
            queue.number,
            set_zero_if_not_found=None,
            min_offset=first,
            first_in_memory=in_memory,
        )
        return offset if code == SUCCESS and offset is not None else Failure.NOT_FOUND

    def commit(self, group: str, queue: Queue, offset: int) -> None:
        """Brokers know all groups and topics."""
        self.brokers[queue.broker].offsets.commit(0, group, queue.topic, queue.number, offset)

    def end(self, queue: Queue) -> Answer:
        """Queues that the script did not set are empty."""
        return self.stored.get(queue, (0, 0, True))[1]

    def at_time(self, queue: Queue) -> Answer:
        """Nothing in these traces has a time: the first record is as good as any."""
        return self.stored.get(queue, (0, 0, True))[0]

    def lock(self, now: Time, group: str, queues: tuple[Queue, ...], client_id: str) -> tuple[Queue, ...] | None:
        """All queues are of one broker."""
        return self.brokers[queues[0].broker].locks.try_lock_batch(now, group, queues, client_id)

    def unlock(self, group: str, queues: tuple[Queue, ...], client_id: str) -> None:
        """All queues are of one broker."""
        self.brokers[queues[0].broker].locks.unlock_batch(group, queues, client_id)

    def heartbeat(self, now: Time, consumer: Consumer) -> None:
        """To every broker that is up."""
        data, client = consumer_data(consumer), consumer.client_id
        for name, broker in self._up():
            self._tell(name, broker.consumers.register(now, client, client, data, notify=self._notify).events)

    def _up(self) -> list[tuple[str, _Broker]]:
        return [(name, self.brokers[name]) for name in sorted(self._up_names)]

    def _tell(self, name: str, events: tuple[ConsumerEvent, ...]) -> None:
        for event in events:
            if event.kind == CHANGE:
                self._effects.setdefault("notified", []).append([name, sorted_as_java(event.channels)])
            elif event.kind in (CLIENT_REGISTER, CLIENT_UNREGISTER, UNREGISTER):
                self._effects.setdefault("broker_event", []).append([name, event.kind, event.client_id or None])


class WholeGroup:
    """The group behind a trace, and all that it lives on."""

    def __init__(
        self,
        group: str,
        strategy: str,
        orderly: bool,
        message_model: str,
        consume_from_where: str,
        notify_consumer_ids_changed: bool,
        version: Version,
    ) -> None:
        given = {"message_model": message_model, "consume_from_where": consume_from_where}
        check_choices(given, *given)
        self.group, self.strategy = group, strategy_named(strategy)
        self.settings = ClientSettings(
            orderly=orderly, message_model=message_model, consume_from_where=consume_from_where, version=version
        )
        self.brokers = GroupBrokers(group, version, notify=notify_consumer_ids_changed)
        self.worlds: dict[str, TraceWorld] = {}
        """Client to its world, while it runs."""

    # Brokers and name server.

    def register_broker(self, now: int, broker: str, topics_and_queues: list[tuple[str, int]]) -> None:
        self.brokers.register(now, broker, dict(topics_and_queues))

    def unregister_broker(self, broker: str) -> None:
        self.brokers.unregister(broker)

    def broker_heartbeat_to_name_server(self, now: int, broker: str) -> None:
        self.brokers.live(now, broker)

    def name_server_scan(self, now: int) -> None:
        self.brokers.routes.scan(now)

    def broker_down(self, broker: str, down: bool) -> None:
        self.brokers.set_down(broker, down)

    def brokers_scan_channels(self, now: int) -> None:
        self.brokers.scan_channels(now)

    def set_queue(self, queue: Queue, min_offset: int, max_offset: int, first_message_in_memory: bool) -> Outcome:
        self.brokers.stored[queue] = min_offset, max_offset, first_message_in_memory
        return Outcome()

    # Clients.

    def create_client(self, now: int, client: str, topics: list[str], strategy: str | None = None) -> None:
        own = self.strategy if strategy is None else strategy_named(strategy)
        consumer = Consumer(self.group, client, client, own, RemoteOffsets(), self.settings, now)
        for topic in topics:
            consumer.subscribe(topic, now)
        self.worlds[client] = TraceWorld(consumer, self.brokers)

    def subscribe(self, now: int, client: str, topic: str) -> Outcome:
        self._consumer(client).subscribe(topic, now)
        return Outcome()

    def unsubscribe(self, client: str, topic: str) -> Outcome:
        self._consumer(client).unsubscribe(topic)
        return Outcome()

    def poll_route(self, client: str) -> object:
        consumer = self._consumer(client)
        found: list[list[str | int | None]] = []
        for topic in consumer.subscriptions:
            route = self.brokers.routes.route(topic)
            if route is None:
                found.append([topic, None])
                continue
            consumer.routes[topic] = subscribe_queues(topic, route)
            found.append([topic, len(consumer.routes[topic])])
        return found

    def heartbeat(self, now: int, client: str) -> None:
        self.brokers.heartbeat(now, self._consumer(client))

    def rebalance(self, now: int, client: str, topic_order: list[str]) -> object:
        consumer = self._consumer(client)
        self._world(client).run(now, DoRebalance(self.group, in_order(topic_order, consumer.subscriptions)))
        return consumer.rebalancing.balanced

    def consumed_up_to(self, client: str, queue: Queue, next_offset: int) -> Outcome:
        consumer = self._consumer(client)
        process_queue = consumer.table.get(queue)
        stored = process_queue is not None and not process_queue.dropped
        if stored:
            consumer.store.table.update(queue, next_offset, True)
        return Outcome({"stored": stored})

    def persist_all_owned(self, now: int, client: str) -> None:
        self._world(client).run(now, PersistAll(self.group))

    def lock_all(self, now: int, client: str) -> None:
        self._world(client).run(now, LockAll(self.group))

    def pull_all_owned(self, now: int, client: str) -> Outcome:
        consumer = self._consumer(client)
        for held in consumer.holds():
            consumer.table[held].last_pull = now
        return Outcome()

    def stop_gracefully(self, now: int, client: str) -> Outcome:
        consumer = self._consumer(client)
        unlock = [UnlockAll(self.group)] if consumer.locks else []
        self._world(client).run(now, *unlock, PersistAll(self.group))
        self.brokers.take_leave(consumer)
        return self._gone(client)

    def crash_with_connections_closed(self, client: str) -> Outcome:
        self.brokers.lose(client)
        return self._gone(client)

    def freeze_keeps_its_queues_and_connections(self, client: str) -> None:
        self._world(client)

    def thaw(self, client: str) -> None:
        self._world(client)

    def _gone(self, client: str) -> Outcome:
        outcome = self.outcome()
        del self.worlds[client]
        return outcome._replace(state=self._state())

    # What came of it.

    def outcome(self, result: object = NOTHING, /) -> Outcome:
        effects: dict[str, list[object]] = self.brokers.take_effects()
        for world in self.worlds.values():
            for kind, records in world.take_effects().items():
                # These clients have no listener of the user's.
                if kind != "listener_topic_all_divided":
                    effects.setdefault(kind, []).extend(records)
        return Outcome(result, in_text_order(effects), self._state())

    def _state(self) -> dict[str, object]:
        owned = (
            (f"{client} dropped" if process_queue.dropped else client, [held])
            for client in sorted(self.worlds)
            for held, process_queue in self.worlds[client].consumer(self.group).table.items()
        )
        return {"owners": owners_of(owned), **self.brokers.state()}

    def _world(self, client: str) -> TraceWorld:
        if client not in self.worlds:
            raise MalformedCase("client", "a client that runs", client)
        return self.worlds[client]

    def _consumer(self, client: str) -> Consumer:
        return self._world(client).consumer(self.group)
