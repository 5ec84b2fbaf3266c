"""Plays traces of a broker's registry of consumers through `rocketmq_selfbalance.broker.consumers`.

Not compared, as FORMAT-traces.md allows: ``topic_group_table_as_stored`` and the answer to
``query_topic_consume_by_who`` (release 5.3.3 stores topics there instead of groups), and the order of groups and of
channels within events that concern several, which is a hash table's.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from compare.conformance.cases import Difference, Line, MalformedCase
from compare.conformance.rocketmq_fields import get, only
from compare.conformance.rocketmq_traces.steps import NOTHING, Operation, Outcome, Step, play_steps
from compare.json_types import Json
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
    Subscription,
)

_CONNECTION = ("group", "channel", "client_id", "notify_consumer_ids_changed")
_HEARTBEAT = ("consume_type", "message_model", "consume_from_where", "update_subscription", "subscriptions")
_AS_STORED = "topic_group_table_as_stored"


def play(line: Line) -> list[Difference]:
    """Perform the trace on a consumer manager of the model."""
    return play_steps(line, Consumers)


class Consumers:
    """The consumer manager behind a trace, and the channels that it had closed."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", ("enable_fast_channel_event_process", "channel_expired_timeout_ms", "seed_index"))
        self.manager = ConsumerManager(
            get(config, "channel_expired_timeout_ms", int),
            fast_channel_events=get(config, "enable_fast_channel_event_process", bool),
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
        step.text("topic")
        return self._outcome(step, get(step.arguments, "result", list))

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
            _AS_STORED: get(get(step.arguments, "state", dict), _AS_STORED, dict),
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
