"""What a served cluster remembers: the records of its partitions, and what the controller knows of topics.

One object for all brokers of a cluster: its partitions are replicated, so that whoever leads one reads and writes the
same log, and records outlive brokers (`protocols.engine`'s worlds end with their brokers; this object does not).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from kafka_coordinator.share.persister import ShareStates
from kafka_coordinator.share.settings import ShareSettings
from kafka_coordinator.transactions import Transactions, TransactionSettings
from kafka_coordinator.wire.records.log import PartitionLog, Producers
from kafka_coordinator.wire.records.settings import TOPIC_CONFIGS, Bounds, TopicSettings
from protocols.engine.nodes import Time

Replicas: TypeAlias = tuple[tuple[str, ...], ...]
"""Of each partition the node names of the brokers that have a replica, the preferred leader first."""

TOPIC_CONFIG, BROKER_CONFIG, BROKER_LOGGER, CLIENT_METRICS, GROUP_CONFIG = CONFIG_TYPES = (2, 4, 8, 16, 32)
"""Types of what has settings, as on the wire."""

_NONE: Mapping[str, str] = MappingProxyType({})


class Storage:
    """Logs of partitions within ``bounds``; ``began_ms`` is the Unix time of the world's time 0, in milliseconds.

    Only the controller changes ``replicas`` and ``configs``; the brokers change the rest.
    """

    __slots__ = (
        "_logs",
        "_next_producer_id",
        "_offsets_producers",
        "_settings",
        "_total",
        "began_ms",
        "bounds",
        "config_changes",
        "configs",
        "replicas",
        "share_settings",
        "shares",
        "transactions",
    )

    def __init__(
        self,
        began_ms: int,
        bounds: Bounds = Bounds(),  # noqa: B008 - immutable
        transactions: TransactionSettings = TransactionSettings(),  # noqa: B008 - immutable
        share_settings: ShareSettings = ShareSettings(),  # noqa: B008 - immutable
    ) -> None:
        self.began_ms, self.bounds = began_ms, bounds
        self._next_producer_id = 0
        self._offsets_producers: dict[int, Producers] = {}
        self.transactions = Transactions(self.new_producer_id, transactions, bounds.transaction_bytes)
        """What the brokers keep in ``__transaction_state``: each answers for the ids that it coordinates."""
        self.share_settings, self.shares = share_settings, ShareStates()
        """What the share coordinators keep in ``__share_group_state``."""
        self.replicas: dict[str, Replicas] = {}
        self.configs: dict[tuple[int, str], Mapping[str, str]] = {(BROKER_CONFIG, ""): {"min.insync.replicas": "1"}}
        """Type and name to the settings that were given; one is given to all brokers when a cluster is made."""
        self.config_changes = 0
        """How often they have changed."""
        self._logs: dict[str, dict[int, PartitionLog]] = {}
        self._settings: dict[str, TopicSettings] = {}
        self._total = 0

    def new_producer_id(self) -> int:
        number, self._next_producer_id = self._next_producer_id, self._next_producer_id + 1
        return number

    def unix_ms(self, now: Time) -> int:
        """The time of the world as Unix time in whole milliseconds."""
        return self.began_ms + int(now)

    def log(self, topic: str, partition: int) -> PartitionLog:
        """The records of a partition, which exists."""
        logs = self._logs.get(topic)
        found = None if logs is None else logs.get(partition)
        if found is None:
            found = self._logs.setdefault(topic, {})[partition] = PartitionLog(self.bounds.producers)
        return found

    def offsets_producers(self, partition: int) -> Producers:
        """The producers that have committed offsets within transactions to a partition of ``__consumer_offsets``."""
        found = self._offsets_producers.get(partition)
        if found is None:
            found = self._offsets_producers[partition] = Producers(self.bounds.producers)
        return found

    def config(self, kind: int, name: str) -> Mapping[str, str]:
        """The settings that were given to a topic, broker (empty name: to all) or group."""
        return self.configs.get((kind, name), _NONE)

    def set_config(self, kind: int, name: str, values: Mapping[str, str]) -> None:
        """These are all that are given from now on."""
        self.configs[kind, name] = MappingProxyType(dict(values))
        self.config_changes += 1
        self._settings.clear()

    def group_configs(self) -> dict[str, Mapping[str, str]]:
        """Group to the settings that it was given."""
        return {name: values for (kind, name), values in self.configs.items() if kind == GROUP_CONFIG}

    def topic_settings(self, topic: str) -> TopicSettings:
        """How the records of a topic are kept."""
        topic_settings = self._settings.get(topic)
        if topic_settings is None:
            everywhere = self.config(BROKER_CONFIG, "")
            given = {name: everywhere[broker] for name, _, _, broker, _ in TOPIC_CONFIGS if broker in everywhere}
            topic_settings = self._settings[topic] = TopicSettings.of({**given, **self.config(TOPIC_CONFIG, topic)})
        return topic_settings

    def delete(self, topic: str) -> None:
        logs = self._logs.pop(topic, {})
        self._total -= sum(log.cost for log in logs.values())
        self.replicas.pop(topic, None)
        self.configs.pop((TOPIC_CONFIG, topic), None)
        self._settings.pop(topic, None)

    def change(self, log: PartitionLog, cost_before: int) -> None:
        """A log that cost so much has changed; what is too much in all goes from the logs that hold most."""
        self._total += log.cost - cost_before
        while self._total > self.bounds.total_bytes:
            largest = max((each for logs in self._logs.values() for each in logs.values()), key=lambda each: each.cost)
            before = largest.cost
            largest.keep(before - 1)
            if largest.cost == before:
                break
            self._total += largest.cost - before

    def trim(self, topic: str, log: PartitionLog) -> None:
        """Forget what the bounds and the topic's ``retention.bytes`` do not allow. Time deletes nothing."""
        before = log.cost
        settings = self.topic_settings(topic)
        most = self.bounds.partition_bytes
        if "delete" in settings.cleanup_policy and 0 <= settings.retention_bytes < most:
            most = settings.retention_bytes
        log.keep(most)
        if log.cost != before:
            self.change(log, before)
