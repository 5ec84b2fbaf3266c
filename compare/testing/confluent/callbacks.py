"""The callbacks of a configuration: statistics at their interval, the loss of brokers."""

import json
from collections.abc import Mapping

from compare.testing.clock import Clock
from compare.testing.confluent import errors as errors
from compare.testing.confluent.configuration import Configuration
from compare.testing.confluent.log import ERROR, INFO
from compare.testing.confluent.member import KafkaMember
from protocols.engine.nodes import Time

_CLOSED = "Disconnected: connection closed by peer: receive 0 after POLLIN"


class Callbacks:
    """What is told in poll() beside records."""

    def __init__(self, inner: KafkaMember, configuration: Configuration, clock: Clock) -> None:
        self._inner, self._configuration, self._turn = inner, configuration, clock.turn
        self._statistics_due: Time = clock.time + configuration.statistics_ms
        self._down: set[str] = set()
        """Brokers that were told to be down."""

    def serve(self, now: Time) -> None:
        """Call whatever is due."""
        statistics = self._configuration.callbacks.get("stats_cb")
        every = self._configuration.statistics_ms
        if statistics is not None and every and now >= self._statistics_due:
            self._statistics_due = now + every
            with self._turn.lent():
                statistics(json.dumps(self._statistics(now)))
        self._serve_brokers()

    def _serve_brokers(self) -> None:
        """Tell of brokers to which the connection broke."""
        if self._inner.node is None:
            return
        brokers = list(self._inner.cluster.scenario.brokers)
        down = [broker for broker in brokers if broker not in self._inner.cluster.controller.state.brokers]
        new = [broker for broker in down if broker not in self._down]
        self._down = set(down)
        for broker in new:
            name = f"{broker}:9092/{brokers.index(broker) + 1}"
            refused = f"{name}: Connect to {broker}:9092 failed: Connection refused (after 0ms in state CONNECT)"
            self._inner.log.note(INFO, "FAIL", f"{name}: {_CLOSED}", name)
            self._inner.log.note(ERROR, "FAIL", refused, name)
            self._error("_TRANSPORT", refused)
        if new and len(down) == len(brokers):
            self._error("_ALL_BROKERS_DOWN", f"{len(down)}/{len(brokers)} brokers are down")

    def _error(self, name: str, reason: str) -> None:
        """Tell ``error_cb``."""
        heard = self._configuration.callbacks.get("error_cb")
        if heard is not None:
            with self._turn.lent():
                heard(errors.error(name, reason))

    def _statistics(self, now: Time) -> Mapping[str, object]:
        """The fields of librdkafka's statistics that the double knows."""
        inner = self._inner
        topics: dict[str, dict[str, object]] = {}
        for partition in sorted(inner.read):
            topic, number = partition
            end, position = inner.end_offset(partition), inner.position.get(partition, errors.OFFSET_INVALID)
            partitions = topics.setdefault(topic, {})
            partitions[str(number)] = {"partition": number, "app_offset": position, "hi_offset": end, "lo_offset": 0}
        return {
            "name": inner.name,
            "type": "consumer",
            "ts": int(now * 1000),
            "time": int(now / 1000),
            "topics": {topic: {"topic": topic, "partitions": each} for topic, each in topics.items()},
        }
