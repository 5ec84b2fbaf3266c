"""Plays traces of a name server's tables through `rocketmq_selfbalance.nameserver.route_info`.

The recording says what a client makes of a route; so does the model: by `rocketmq_selfbalance.messages.nameserver`.
"""

from collections.abc import Mapping

from compare.conformance.cases import Difference, Line, MalformedCase
from compare.conformance.rocketmq_fields import get, only
from compare.conformance.rocketmq_traces.steps import NOTHING, Operation, Outcome, Step, play_steps
from compare.json_types import Json
from protocols.java import sorted_as_java
from rocketmq_selfbalance.cluster import (
    DataVersion,
    NameServerSettings,
    QueueData,
    RouteInfoManager,
    TopicConfig,
    publish_queues,
    subscribe_queues,
)


def play(line: Line) -> list[Difference]:
    """Perform the trace on a route table of the model."""
    return play_steps(line, Routes)


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
        return {
            "register_broker": (_REGISTER, self._register),
            "unregister_broker": (("cluster", "broker", "broker_id", "address"), self._unregister),
            "broker_heartbeat": (("cluster", "address"), self._heartbeat),
            "scan_not_active_brokers": ((), self._scan),
            "channel_destroyed": (("channel",), self._channel_destroyed),
            "pickup_route": (("topic",), self._pickup),
            "wipe_write_perm": (("broker",), self._wipe),
            "add_write_perm": (("broker",), self._add),
            "delete_topic": (("topic",), self._delete),
            "delete_topic_in_cluster": (("topic", "cluster"), self._delete_in_cluster),
            "register_topic": (("topic", "broker", "read", "write", "perm"), self._register_topic),
        }

    def _register(self, step: Step) -> Outcome:
        version = DataVersion(
            step.number("state_version"), step.number("data_version_timestamp_ms"), step.number("data_version_counter")
        )
        answer = self.table.register(
            step.now,
            step.text("cluster"),
            step.text("broker"),
            step.number("broker_id"),
            step.text("address"),
            _topics(step),
            version,
            step.text("channel"),
            timeout_ms=step.optional_number("timeout_ms"),
            acting_master=get(step.arguments, "enable_acting_master", bool, type(None)),
            ha_server_address=f"ha/{step.text('address')}",  # what the recording script gave
        )
        if answer is None:
            return self._outcome(None)
        found = {"ha_server_address": answer.ha_server_address, "master_address": answer.master_address}
        return self._outcome(found)

    def _unregister(self, step: Step) -> Outcome:
        self.table.unregister(step.text("cluster"), step.text("broker"), step.text("address"))
        return self._outcome()

    def _heartbeat(self, step: Step) -> Outcome:
        self.table.heartbeat(step.now, step.text("cluster"), step.text("address"))
        return self._outcome()

    def _scan(self, step: Step) -> Outcome:
        before = len(self.table.live)
        self.closed.update(self.table.scan(step.now))
        return self._outcome({"unregistered": before - len(self.table.live)})

    def _channel_destroyed(self, step: Step) -> Outcome:
        return self._outcome({"unregistered": int(self.table.channel_closed(step.text("channel")))})

    def _pickup(self, step: Step) -> Outcome:
        topic = step.text("topic")
        route = self.table.route(topic)
        if route is None:
            return self._outcome(None)
        return self._outcome(
            {
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
        )

    def _wipe(self, step: Step) -> Outcome:
        return self._outcome(self.table.wipe_write_perm(step.text("broker")))

    def _add(self, step: Step) -> Outcome:
        return self._outcome(self.table.add_write_perm(step.text("broker")))

    def _delete(self, step: Step) -> Outcome:
        self.table.delete_topic(step.text("topic"))
        return self._outcome()

    def _delete_in_cluster(self, step: Step) -> Outcome:
        self.table.delete_topic(step.text("topic"), step.text("cluster"))
        return self._outcome()

    def _register_topic(self, step: Step) -> Outcome:
        data = QueueData(step.text("broker"), step.number("read"), step.number("write"), step.number("perm"))
        self.table.register_topic(step.text("topic"), [data])
        return self._outcome()

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


def _topics(step: Step) -> list[TopicConfig]:
    found = []
    for given in get(step.arguments, "topics_name_read_write_perm", list):
        match given:
            case [str(topic), int(read), int(write), int(perm)]:
                found.append(TopicConfig(topic, read, write, perm))
            case _:
                raise MalformedCase("topics_name_read_write_perm", "[topic, read, write, perm]", given)
    return found
