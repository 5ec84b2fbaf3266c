"""The callbacks of a configuration: statistics at their interval, the loss of all brokers, fatal errors."""

import json
from collections.abc import Mapping

from compare.testing.confluent import errors as errors
from compare.testing.confluent.configuration import Configuration
from compare.testing.confluent.member import KafkaMember
from protocols.engine.nodes import Time


class Callbacks:
    """What is told in poll() beside records."""

    def __init__(self, inner: KafkaMember, configuration: Configuration, now: Time) -> None:
        self._inner, self._configuration = inner, configuration
        self._statistics_due: Time = now + configuration.statistics_ms
        self._brokers_down = False

    def serve(self, now: Time) -> None:
        """Call whatever is due."""
        statistics = self._configuration.callbacks.get("stats_cb")
        every = self._configuration.statistics_ms
        if statistics is not None and every and now >= self._statistics_due:
            self._statistics_due = now + every
            statistics(json.dumps(self._statistics(now)))
        alive = self._inner.cluster.controller.state.brokers
        if not alive and not self._brokers_down:
            known = len(self._inner.cluster.scenario.brokers)
            self.error("_ALL_BROKERS_DOWN", f"{known}/{known} brokers are down")
        self._brokers_down = not alive

    def error(self, name: str, reason: str, *, fatal: bool = False) -> None:
        """Tell ``error_cb``."""
        heard = self._configuration.callbacks.get("error_cb")
        if heard is not None:
            heard(errors.error(name, reason, fatal=fatal))

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
