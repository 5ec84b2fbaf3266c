"""What a served cluster's controller knows, and how it changes: topics with their replicas, leaders, settings."""

from collections.abc import Mapping
from uuid import UUID

from kio.schema.errors import ErrorCode

from kafka_coordinator.cluster.broker import ClusterState
from kafka_coordinator.cluster.controller import Controller
from kafka_coordinator.coordinator.settings import DEFAULTS as OF_GROUPS
from kafka_coordinator.versions import DEFAULT, Version
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.records.storage import GROUP_CONFIG, TOPIC_CONFIG, Replicas, Storage
from kafka_coordinator.wire.state import ServerSettings


class ClusterRecord:
    """The controller's record around `Controller` and the shared `Storage`; ``node_ids``: broker to its id."""

    __slots__ = ("_state", "changed", "controller", "names", "node_ids", "settings", "storage", "version")

    def __init__(
        self,
        controller: Controller,
        storage: Storage,
        settings: ServerSettings,
        node_ids: Mapping[str, int],
        version: Version = DEFAULT,
    ) -> None:
        self.version = version
        self.controller, self.storage, self.settings = controller, storage, settings
        self.node_ids = dict(node_ids)
        self.names = {number: name for name, number in node_ids.items()}
        for topic, preferred in controller.preferred.items():
            if topic not in storage.replicas:
                storage.replicas[topic] = tuple([controller.replicas.in_sync(each) for each in preferred])
        self._state = controller.state
        self.changed: dict[str, None] = {}
        """Topics that were created, changed or deleted; whoever follows them takes them out."""

    def topics(self) -> Mapping[str, tuple[str, ...]]:
        """Topic to the preferred leader of each partition."""
        return self.controller.preferred

    def ids(self) -> Mapping[str, UUID]:
        return {topic: UUID(int=self.controller.topic_ids.get(topic, 0)) for topic in self.controller.preferred}

    def replicas(self, topic: str) -> Replicas | None:
        """Of each partition; None: there is no such topic."""
        return self.storage.replicas.get(topic)

    def placed(self, count: int, factor: int, first: int = 0) -> Replicas:
        """Replicas for partitions from number ``first`` on: leaders in turn, each followed by the next brokers. Raises
        `RefusedError` where there are too few brokers."""
        brokers = self.controller.brokers
        if factor > len(brokers):
            text = (
                f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} cannot "
                f"be reached because only {len(brokers)} broker(s) are registered"
            )
            if self.version.cordoned_directories:
                text += " or some brokers have all their log directories cordoned"
            raise RefusedError(ErrorCode.invalid_replication_factor, f"{text}.")
        numbers = range(first, first + count)
        return tuple([self._ring(brokers[number % len(brokers)], factor) for number in numbers])

    def create(self, topic: str, replicas: Replicas, configs: Mapping[str, str | None], number: UUID) -> None:
        self.changed[topic] = None
        self.storage.replicas[topic] = replicas
        if configs:
            given = {name: value for name, value in configs.items() if value is not None}
            self.storage.set_config(TOPIC_CONFIG, topic, given)
        self.controller.topic_ids[topic] = number.int
        self.controller.put_topic(topic, tuple([replica[0] for replica in replicas]), replicas=replicas)

    def grow(self, topic: str, more: Replicas) -> None:
        self.changed[topic] = None
        replicas = self.storage.replicas[topic] = (*self.storage.replicas[topic], *more)
        racks = self.controller.racks.get(topic)
        self.controller.put_topic(topic, tuple([replica[0] for replica in replicas]), racks, replicas=replicas)

    def delete(self, topic: str) -> None:
        self.changed[topic] = None
        self.storage.delete(topic)
        self.controller.delete_topic(topic)

    def set_config(self, kind: int, name: str, values: Mapping[str, str]) -> None:
        """These are all settings that are given to a topic, broker or group from now on."""
        self.storage.set_config(kind, name, values)
        if kind == GROUP_CONFIG:
            own = {key: int(value) for key, value in values.items() if key in OF_GROUPS}
            self.controller.group_settings = {**self.controller.group_settings, name: own}

    def news(self) -> ClusterState | None:
        """The state of the cluster, where it has changed since the last call; leaders that changed begin an epoch."""
        before, now = self._state, self.controller.state
        if before == now:
            return None
        for topic, leaders in now.topics.items():
            if before.topics.get(topic) is leaders:
                continue
            if before.topic_ids.get(topic) == now.topic_ids.get(topic):
                for number, (old, new) in enumerate(zip(before.topics.get(topic, ()), leaders, strict=False)):
                    if old != new:
                        self.storage.log(topic, number).lead()
        self._state = now
        return now

    def _ring(self, preferred: str, factor: int) -> tuple[str, ...]:
        brokers = self.controller.brokers
        at = brokers.index(preferred)
        return (*brokers[at:], *brokers[:at])[:factor]
