"""Partitions without a leader: all in-sync replicas are down, so that nothing is written and nothing is read."""

from collections.abc import Mapping
from math import inf
from types import MappingProxyType

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer.config import Load
from protocols.engine.nodes import Time
from protocols.scenario.replication import Replicas


class Outages:
    """From when to when each partition had no leader; the last time of one that has none now is open."""

    __slots__ = ("_pauses", "_replicas")

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas
        self._pauses: dict[Partition, tuple[tuple[Time, Time], ...]] = {}

    def look(self, now: Time, brokers_of: Mapping[str, tuple[str, ...]]) -> bool:
        """Brokers or topics have changed: whether a partition has a leader that had none, or the other way round.

        ``brokers_of``: topic to the preferred leader of each partition."""
        before = dict(self._pauses)
        for topic, brokers in brokers_of.items():
            for number, preferred in enumerate(brokers):
                partition = topic, number
                if self.are_over(partition) and not self._replicas.serve(preferred):
                    self._pauses[partition] = (*self._pauses.get(partition, ()), (now, inf))
                elif not self.are_over(partition) and self._replicas.serve(preferred):
                    *earlier, (since, _) = self._pauses[partition]
                    self._pauses[partition] = (*earlier, (since, now))
        return self._pauses != before

    def are_over(self, partition: Partition) -> bool:
        """Whether the partition has a leader now."""
        pauses = self._pauses.get(partition)
        return not pauses or pauses[-1][1] < inf

    def forget(self, topic: str) -> None:
        """The topic is gone."""
        self._pauses = {partition: pauses for partition, pauses in self._pauses.items() if partition[0] != topic}

    def on(self, load: Load) -> Load:
        """The load with what the outages make of it."""
        leaderless = frozenset([partition for partition in self._pauses if not self.are_over(partition)])
        return load._replace(pauses=MappingProxyType(dict(self._pauses)), leaderless=leaderless)
