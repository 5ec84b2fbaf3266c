"""Plays traces of a broker's registry of consumers, of its queue locks, and of a name server's tables.

Not compared of the registry is the order of groups and of channels within events that concern several, which is a hash
table's. What a client makes of a route is recorded; so does the model: by `rocketmq_selfbalance.routes`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from compare.conformance.cases import MalformedCase
from compare.conformance.rocketmq_traces.steps import NOTHING, Outcome, Step
from protocols import Queue, sort_queues
from protocols.java import sorted_as_java
from rocketmq_selfbalance.cluster import (
    CHANGE,
    CLIENT_REGISTER,
    CLIENT_UNREGISTER,
    CLUSTERING,
    CONSUME_FROM_LAST_OFFSET,
    CONSUME_PASSIVELY,
    REGISTER,
    UNREGISTER,
    ConsumerData,
    ConsumerEvent,
    ConsumerManager,
    DataVersion,
    NameServerSettings,
    QueueData,
    RebalanceLockManager,
    RouteInfoManager,
    Subscription,
    TopicConfig,
    Version,
    publish_queues,
    subscribe_queues,
)


class Connection(NamedTuple):
    """Whose heartbeat comes over which channel."""

    group: str
    channel: str
    client_id: str
    notify_consumer_ids_changed: bool


class Heartbeat(NamedTuple):
    """What it says of the consumer."""

    consume_type: str
    message_model: str
    consume_from_where: str
    update_subscription: bool
    subscriptions: list[object]


class Consumers:
    """The consumer manager behind a trace, and the channels that it had closed."""

    outcome = Outcome

    def __init__(
        self, enable_fast_channel_event_process: bool, channel_expired_timeout_ms: int, version: Version
    ) -> None:
        self.manager = ConsumerManager(
            channel_expired_timeout_ms, fast_channel_events=enable_fast_channel_event_process, version=version
        )
        self.closed: set[str] = set()

    def register_consumer(self, now: int, step: Step, by: Connection, told: Heartbeat) -> Outcome:
        data = ConsumerData(by.group, *told[:3], tuple(map(_subscription, told.subscriptions)))
        changed, events = self.manager.register(
            now,
            by.channel,
            by.client_id,
            data,
            notify=by.notify_consumer_ids_changed,
            update_subscription=told.update_subscription,
            is_open=by.channel not in self.closed,
        )
        return self._outcome(step, changed, events)

    def register_consumer_without_subscriptions(self, now: int, step: Step, by: Connection) -> Outcome:
        # The step leaves out the mode, which this kind of heartbeat brings as well.
        data = ConsumerData(by.group, CONSUME_PASSIVELY, CLUSTERING, CONSUME_FROM_LAST_OFFSET, ())
        changed, events = self.manager.register_without_subscriptions(
            now, by.channel, by.client_id, data, notify=by.notify_consumer_ids_changed
        )
        return self._outcome(step, changed, events)

    def unregister_consumer(self, step: Step, by: Connection) -> Outcome:
        events = self.manager.unregister(by.group, by.channel, by.client_id, notify=by.notify_consumer_ids_changed)
        return self._outcome(step, NOTHING, events)

    def channel_close_event(self, step: Step, channel: str) -> Outcome:
        events = self.manager.channel_closed(channel)
        return self._outcome(step, bool(events), events)

    def scan_not_active_channels(self, now: int, step: Step) -> Outcome:
        channels, events = self.manager.scan(now)
        self.closed.update(channels)
        return self._outcome(step, NOTHING, events)

    def find_subscription(self, step: Step, group: str, topic: str) -> Outcome:
        found = self.manager.find_subscription(group, topic)
        return self._outcome(step, None if found is None else list(found))

    def query_topic_consume_by_who(self, step: Step, topic: str) -> Outcome:
        return self._outcome(step, sorted(self.manager.groups_of(topic)))

    def client_ids_sorted(self, step: Step, group: str) -> Outcome:
        found = self.manager.client_ids(group)
        return self._outcome(step, None if found is None else sorted(found))

    def _outcome(self, step: Step, result: object = NOTHING, events: Sequence[ConsumerEvent] = ()) -> Outcome:
        recorded = _events(step)
        played = [_EVENTS[event.kind](event) for event in events]
        # Equal but for the order of hash tables: then the recorded order is given back.
        same = _by_group(recorded) == _by_group(played)
        state = {
            "groups": [
                {
                    "group": name,
                    "consume_type": group.consume_type,
                    "message_model": group.message_model,
                    "consume_from_where": group.consume_from_where,
                    "clients_channel_id_last_update_ms": sorted(
                        [channel, known.client_id, known.last_update] for channel, known in group.channels.items()
                    ),
                    "subscriptions": sorted(list(topic) for topic in group.topics.values()),
                    "last_update_ms": group.last_update,
                }
                for name, group in sorted(self.manager.groups.items())
            ],
            "topic_group_table_as_stored": {
                topic: sorted(groups) for topic, groups in sorted(self.manager.by_topic.items())
            },
            "closed_channels": sorted(self.closed),
        }
        return Outcome(result, {"events": recorded if same else played}, state)


_EVENTS = {
    CLIENT_REGISTER: lambda event: {**_of(event), **_who(event), "topics": _topics(event)},
    CHANGE: lambda event: {**_of(event), "channels": sorted(event.channels)},
    REGISTER: lambda event: {**_of(event), "topics": _topics(event), **_who(event)},
    CLIENT_UNREGISTER: lambda event: {**_of(event), **_who(event), "topics": _topics(event)},
    UNREGISTER: lambda event: _of(event),
}


def _of(event: ConsumerEvent) -> dict[str, object]:
    return {"event": event.kind, "group": event.group}


def _who(event: ConsumerEvent) -> dict[str, object]:
    return {"client_id": event.client_id, "channel": event.channel}


def _topics(event: ConsumerEvent) -> list[str]:
    return sorted(subscription.topic for subscription in event.subscriptions)


def _events(step: Step) -> list[Mapping[str, object]]:
    effects = step.get("effects", {})
    if not isinstance(effects, dict):
        raise MalformedCase("effects", "an object", effects)
    events = effects.get("events", [])
    objects = [event for event in events if isinstance(event, dict)] if isinstance(events, list) else None
    if objects is None or objects != events:
        raise MalformedCase("effects.events", "a list of objects", events)
    return [*objects]


def _by_group(events: Iterable[Mapping[str, object]]) -> dict[str, list[Mapping[str, object]]]:
    """Each group's events in order; channels that leave one after the other in the order of their names."""
    found: dict[str, list[Mapping[str, object]]] = {}
    for event in events:
        found.setdefault(str(event.get("group")), []).append(event)
    return {
        group: [
            each
            for kind, run in groupby(listed, key=lambda event: event.get("event"))
            for each in (sorted(run, key=lambda event: str(event.get("channel"))) if kind == CLIENT_UNREGISTER else run)
        ]
        for group, listed in found.items()
    }


def _subscription(given: object) -> Subscription:
    match given:
        case [str(topic), str(expression), int(version)] if not isinstance(version, bool):
            return Subscription(topic, expression, version)
    raise MalformedCase("subscriptions", "[topic, expression, version]", given)


class Locks:
    """The lock manager behind a trace. It records no state: what it holds shows in what it grants."""

    outcome = Outcome

    def __init__(self, lock_max_live_ms: int) -> None:
        self.manager = RebalanceLockManager(lock_max_live_ms)

    def try_lock(self, now: int, group: str, queue: Queue, client_id: str) -> object:
        return self.manager.try_lock(now, group, queue, client_id)

    def try_lock_batch(self, now: int, group: str, queues: list[Queue], client_id: str) -> object:
        return [list(each) for each in sort_queues(self.manager.try_lock_batch(now, group, queues, client_id))]

    def unlock_batch(self, group: str, queues: list[Queue], client_id: str) -> None:
        self.manager.unlock_batch(group, queues, client_id)

    def is_lock_all_expired(self, now: int, group: str) -> object:
        return self.manager.all_expired(now, group)


class Registration(NamedTuple):
    """What a broker registers with."""

    cluster: str
    broker: str
    broker_id: int
    address: str
    topics_name_read_write_perm: list[object]
    state_version: int
    data_version_timestamp_ms: int
    data_version_counter: int
    channel: str
    timeout_ms: int | None
    enable_acting_master: bool | None


class Routes:
    """The route table behind a trace, and the channels that it had closed."""

    def __init__(
        self,
        support_acting_master: bool,
        delete_topic_with_broker_registration: bool,
        default_broker_timeout_ms: int,
    ) -> None:
        self.table = RouteInfoManager(
            NameServerSettings(
                support_acting_master=support_acting_master,
                delete_topic_with_broker_registration=delete_topic_with_broker_registration,
                broker_expired_timeout_ms=default_broker_timeout_ms,
            )
        )
        self.closed: set[str] = set()

    def register_broker(self, now: int, given: Registration) -> object:
        answer = self.table.register(
            now,
            given.cluster,
            given.broker,
            given.broker_id,
            given.address,
            list(map(_topic_config, given.topics_name_read_write_perm)),
            DataVersion(given.state_version, given.data_version_timestamp_ms, given.data_version_counter),
            given.channel,
            timeout_ms=given.timeout_ms,
            acting_master=given.enable_acting_master,
            ha_server_address=f"ha/{given.address}",  # what the recording script gave
        )
        if answer is None:
            return None
        return {"ha_server_address": answer.ha_server_address, "master_address": answer.master_address}

    def unregister_broker(self, cluster: str, broker: str, broker_id: object, address: str) -> None:
        self.table.unregister(cluster, broker, address)

    def broker_heartbeat(self, now: int, cluster: str, address: str) -> None:
        self.table.heartbeat(now, cluster, address)

    def scan_not_active_brokers(self, now: int) -> object:
        before = len(self.table.live)
        self.closed.update(self.table.scan(now))
        return {"unregistered": before - len(self.table.live)}

    def channel_destroyed(self, channel: str) -> object:
        return {"unregistered": int(self.table.channel_closed(channel))}

    def pickup_route(self, topic: str) -> object:
        route = self.table.route(topic)
        if route is None:
            return None
        return {
            "queue_data_broker_read_write_perm": [list(data) for data in route.queues],
            "broker_data": [
                {
                    "broker": data.broker,
                    "cluster": data.cluster,
                    "addresses": [list(address) for address in data.addresses],
                }
                for data in route.brokers
            ],
            "subscribe_queues": [list(queue) for queue in subscribe_queues(topic, route)],
            "publish_queues_in_order": [list(queue) for queue in publish_queues(topic, route)],
        }

    def wipe_write_perm(self, broker: str) -> object:
        return self.table.wipe_write_perm(broker)

    def add_write_perm(self, broker: str) -> object:
        return self.table.add_write_perm(broker)

    def delete_topic(self, topic: str) -> None:
        self.table.delete_topic(topic)

    def delete_topic_in_cluster(self, topic: str, cluster: str) -> None:
        self.table.delete_topic(topic, cluster)

    def register_topic(self, topic: str, broker: str, read: int, write: int, perm: int) -> None:
        self.table.register_topic(topic, [QueueData(broker, read, write, perm)])

    def outcome(self, result: object = NOTHING, /) -> Outcome:
        table = self.table
        state = {
            "topics_broker_read_write_perm": {
                topic: [list(queues[broker]) for broker in sorted_as_java(queues)]
                for topic, queues in table.topics.items()
            },
            "brokers": {
                name: [list(item) for item in sorted(broker.addresses.items())]
                for name, broker in table.brokers.items()
            },
            "clusters": {cluster: sorted_as_java(names) for cluster, names in table.clusters.items()},
            "live_cluster_addr_last_update_ms_timeout_ms": [
                [cluster, address, known.last_update, known.timeout_ms]
                for (cluster, address), known in sorted(table.live.items())
            ],
            "closed_channels": sorted(self.closed),
        }
        return Outcome(result, {}, state)


def _topic_config(given: object) -> TopicConfig:
    match given:
        case [str(topic), int(read), int(write), int(perm)]:
            return TopicConfig(topic, read, write, perm)
    raise MalformedCase("topics_name_read_write_perm", "[topic, read, write, perm]", given)
