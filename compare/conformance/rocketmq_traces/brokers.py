"""Plays traces of a broker's registry of consumers, of its queue locks, and of a name server's tables.

Not compared of the registry is the order of groups and of channels within events that concern several, which is a hash
table's. What a client makes of a route is recorded; so
does the model: by `rocketmq_selfbalance.routes`.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby

from compare.conformance.cases import MalformedCase
from compare.conformance.fields import get, only, queue, queues
from compare.conformance.rocketmq_traces.steps import NOTHING, Operation, Outcome, Step, does, tells
from compare.json_types import Json
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

_CONNECTION = ("group", "channel", "client_id", "notify_consumer_ids_changed")
_HEARTBEAT = ("consume_type", "message_model", "consume_from_where", "update_subscription", "subscriptions")


class Consumers:
    """The consumer manager behind a trace, and the channels that it had closed."""

    def __init__(self, config: Mapping[str, Json], version: Version) -> None:
        only(config, "config", ("enable_fast_channel_event_process", "channel_expired_timeout_ms", "seed_index"))
        self.manager = ConsumerManager(
            get(config, "channel_expired_timeout_ms", int),
            fast_channel_events=get(config, "enable_fast_channel_event_process", bool),
            release=version,
        )
        self.closed: set[str] = set()

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        return {
            "register_consumer": ((*_CONNECTION, *_HEARTBEAT), self._register),
            "register_consumer_without_subscriptions": (_CONNECTION, self._register_without),
            "unregister_consumer": (_CONNECTION, self._unregister),
            "channel_close_event": (("channel",), self._channel_closed),
            "scan_not_active_channels": ((), self._scan),
            "find_subscription": (("group", "topic"), self._find_subscription),
            "query_topic_consume_by_who": (("topic",), self._by_who),
            "client_ids_sorted": (("group",), self._client_ids),
        }

    def _register(self, step: Step) -> Outcome:
        data = ConsumerData(
            step.text("group"),
            step.text("consume_type"),
            step.text("message_model"),
            step.text("consume_from_where"),
            tuple(_subscription(each) for each in get(step.arguments, "subscriptions", list)),
        )
        changed, events = self.manager.register(
            step.now,
            step.text("channel"),
            step.text("client_id"),
            data,
            notify=step.truth("notify_consumer_ids_changed"),
            update_subscription=step.truth("update_subscription"),
            is_open=step.text("channel") not in self.closed,
        )
        return self._outcome(step, changed, events)

    def _register_without(self, step: Step) -> Outcome:
        # The step leaves out the mode, which this kind of heartbeat brings as well.
        data = ConsumerData(step.text("group"), CONSUME_PASSIVELY, CLUSTERING, CONSUME_FROM_LAST_OFFSET, ())
        changed, events = self.manager.register_without_subscriptions(
            step.now,
            step.text("channel"),
            step.text("client_id"),
            data,
            notify=step.truth("notify_consumer_ids_changed"),
        )
        return self._outcome(step, changed, events)

    def _unregister(self, step: Step) -> Outcome:
        events = self.manager.unregister(
            step.text("group"),
            step.text("channel"),
            step.text("client_id"),
            notify=step.truth("notify_consumer_ids_changed"),
        )
        return self._outcome(step, NOTHING, events)

    def _channel_closed(self, step: Step) -> Outcome:
        events = self.manager.channel_closed(step.text("channel"))
        return self._outcome(step, bool(events), events)

    def _scan(self, step: Step) -> Outcome:
        channels, events = self.manager.scan(step.now)
        self.closed.update(channels)
        return self._outcome(step, NOTHING, events)

    def _find_subscription(self, step: Step) -> Outcome:
        found = self.manager.find_subscription(step.text("group"), step.text("topic"))
        return self._outcome(step, None if found is None else list(found))

    def _by_who(self, step: Step) -> Outcome:
        return self._outcome(step, sorted(self.manager.groups_of(step.text("topic"))))

    def _client_ids(self, step: Step) -> Outcome:
        found = self.manager.client_ids(step.text("group"))
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
    effects = step.arguments.get("effects", {})
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


def _subscription(given: Json) -> Subscription:
    match given:
        case [str(topic), str(expression), int(version)] if not isinstance(version, bool):
            return Subscription(topic, expression, version)
    raise MalformedCase("subscriptions", "[topic, expression, version]", given)


class Locks:
    """The lock manager behind a trace. It records no state: what it holds shows in what it grants."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", ("lock_max_live_ms", "seed_index"))
        self.manager = RebalanceLockManager(get(config, "lock_max_live_ms", int))

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        return {
            "try_lock": (("group", "queue", "client_id"), self._try_lock),
            "try_lock_batch": (("group", "queues", "client_id"), self._try_lock_batch),
            "unlock_batch": (("group", "queues", "client_id"), self._unlock_batch),
            "is_lock_all_expired": (("group",), self._all_expired),
        }

    def _try_lock(self, step: Step) -> Outcome:
        asked = queue("queue", step.arguments.get("queue"))
        return Outcome(self.manager.try_lock(step.now, step.text("group"), asked, step.text("client_id")))

    def _try_lock_batch(self, step: Step) -> Outcome:
        granted = self.manager.try_lock_batch(step.now, step.text("group"), _queues(step), step.text("client_id"))
        return Outcome([list(each) for each in sort_queues(granted)])

    def _unlock_batch(self, step: Step) -> Outcome:
        self.manager.unlock_batch(step.text("group"), _queues(step), step.text("client_id"))
        return Outcome()

    def _all_expired(self, step: Step) -> Outcome:
        return Outcome(self.manager.all_expired(step.now, step.text("group")))


def _queues(step: Step) -> list[Queue]:
    return queues(step.arguments, "queues") or []


_REGISTER = (
    "cluster",
    "broker",
    "broker_id",
    "address",
    "timeout_ms",
    "enable_acting_master",
    "data_version_timestamp_ms",
    "data_version_counter",
    "state_version",
    "channel",
    "topics_name_read_write_perm",
)


class Routes:
    """The route table behind a trace, and the channels that it had closed."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        switches = ("support_acting_master", "delete_topic_with_broker_registration", "default_broker_timeout_ms")
        only(config, "config", (*switches, "seed_index"))
        self.table = RouteInfoManager(
            NameServerSettings(
                support_acting_master=get(config, switches[0], bool),
                delete_topic_with_broker_registration=get(config, switches[1], bool),
                broker_expired_timeout_ms=get(config, switches[2], int),
            )
        )
        self.closed: set[str] = set()

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        table, does_, tells_ = self.table, partial(does, self._outcome), partial(tells, self._outcome)
        return {
            "register_broker": (_REGISTER, tells_(self._register)),
            "unregister_broker": (
                ("cluster", "broker", "broker_id", "address"),
                does_(lambda step: table.unregister(step.text("cluster"), step.text("broker"), step.text("address"))),
            ),
            "broker_heartbeat": (
                ("cluster", "address"),
                does_(lambda step: table.heartbeat(step.now, step.text("cluster"), step.text("address"))),
            ),
            "scan_not_active_brokers": ((), tells_(self._scan)),
            "channel_destroyed": (
                ("channel",),
                tells_(lambda step: {"unregistered": int(table.channel_closed(step.text("channel")))}),
            ),
            "pickup_route": (("topic",), tells_(self._pickup)),
            "wipe_write_perm": (("broker",), tells_(lambda step: table.wipe_write_perm(step.text("broker")))),
            "add_write_perm": (("broker",), tells_(lambda step: table.add_write_perm(step.text("broker")))),
            "delete_topic": (("topic",), does_(lambda step: table.delete_topic(step.text("topic")))),
            "delete_topic_in_cluster": (
                ("topic", "cluster"),
                does_(lambda step: table.delete_topic(step.text("topic"), step.text("cluster"))),
            ),
            "register_topic": (("topic", "broker", "read", "write", "perm"), does_(self._register_topic)),
        }

    def _register(self, step: Step) -> object:
        version = DataVersion(
            step.number("state_version"), step.number("data_version_timestamp_ms"), step.number("data_version_counter")
        )
        answer = self.table.register(
            step.now,
            step.text("cluster"),
            step.text("broker"),
            step.number("broker_id"),
            step.text("address"),
            _configs(step),
            version,
            step.text("channel"),
            timeout_ms=step.optional_number("timeout_ms"),
            acting_master=get(step.arguments, "enable_acting_master", bool, type(None)),
            ha_server_address=f"ha/{step.text('address')}",  # what the recording script gave
        )
        if answer is None:
            return None
        return {"ha_server_address": answer.ha_server_address, "master_address": answer.master_address}

    def _scan(self, step: Step) -> object:
        before = len(self.table.live)
        self.closed.update(self.table.scan(step.now))
        return {"unregistered": before - len(self.table.live)}

    def _pickup(self, step: Step) -> object:
        topic = step.text("topic")
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

    def _register_topic(self, step: Step) -> None:
        data = QueueData(step.text("broker"), step.number("read"), step.number("write"), step.number("perm"))
        self.table.register_topic(step.text("topic"), [data])

    def _outcome(self, result: object = NOTHING) -> Outcome:
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


def _configs(step: Step) -> list[TopicConfig]:
    configs = []
    for given in get(step.arguments, "topics_name_read_write_perm", list):
        match given:
            case [str(topic), int(read), int(write), int(perm)]:
                configs.append(TopicConfig(topic, read, write, perm))
            case _:
                raise MalformedCase("topics_name_read_write_perm", "[topic, read, write, perm]", given)
    return configs
