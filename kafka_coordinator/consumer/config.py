"""What a consumer is started with: its identity, its subscription and its bootstrap brokers.

In Kafka `ConsumerConfig` and the arguments of `subscribe`; the load stands for the producers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer.settings import ConsumerSettings
from protocols.engine.nodes import Time
from protocols.load import Production
from protocols.poison import PoisonRecords


class Load(NamedTuple):
    """What producers write: ``per_second`` records to every partition, or as ``rates`` says, from the start of the run,
    or from ``since`` (milliseconds) on to a partition that came into being later; ``bursts``: what comes at once beside
    that; ``poison``: those among the records that the user's code cannot handle; ``pauses``: when a partition had no
    leader and nothing was written; ``leaderless``: which have none now, so that nothing is read, either. Nothing is
    written to the partitions of a deleted topic: ``since`` is infinite there."""

    per_second: float = 0.0
    since: Mapping[Partition, Time] = MappingProxyType({})
    bursts: Mapping[Partition, tuple[tuple[Time, int], ...]] = MappingProxyType({})
    rates: Mapping[Partition, float] = MappingProxyType({})
    poison: PoisonRecords[Partition] = MappingProxyType({})
    pauses: Mapping[Partition, tuple[tuple[Time, Time], ...]] = MappingProxyType({})
    leaderless: frozenset[Partition] = frozenset()

    @property
    def writes(self) -> bool:
        """Whether anything is written at all."""
        return self.per_second > 0 or bool(self.bursts) or bool(self.rates)

    @property
    def even(self) -> Production | None:
        """Of every partition; None where they differ."""
        if self.rates or self.since or self.bursts or self.pauses:
            return None
        return _even(self.per_second)

    def production(self, partition: Partition) -> Production:
        """Of this partition."""
        even = self.even
        if even is not None:
            return even
        per_second, since = self.rates.get(partition, self.per_second), self.since.get(partition, 0.0)
        return Production(per_second, since, 0, self.bursts.get(partition, ()), self.pauses.get(partition, ()))


@lru_cache(maxsize=1 << 10)
def _even(per_second: float) -> Production:
    """Of every partition of a load that is the same everywhere."""
    return Production(per_second)


NO_LOAD = Load()


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """One consumer. ``bootstrap``: node names of the brokers that it asks first, at least one.

    It subscribes to ``topics``, or to those whose whole name matches the regular expression ``pattern``, which it
    resolves itself, or ``broker_pattern``, which the coordinator does (consumer protocol).
    ``handle``: milliseconds that the user's code takes for one record; ``threads``: to how many threads of his own the
    user's loop hands the records of a poll. It polls again when all of them are done.
    """

    name: str
    """The member's name in the scenario: in facts, never in messages."""
    group: str
    bootstrap: tuple[str, ...]
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    broker_pattern: str | None = None
    client_id: str = ""
    instance_id: str | None = None
    rack: str | None = None
    handle: float = 0.0
    threads: int = 1
    load: Load = field(default=NO_LOAD, compare=False)
    settings: ConsumerSettings = field(default_factory=ConsumerSettings)
    poll_wait: int = 0
    """How long, under the consumer protocol, the user's thread waits for records inside poll(), at most, in
    milliseconds, before it does what the background thread asks for: the world chooses each time."""
    by_hand: bool = False
    """The user's loop is code outside of the model: see `kafka_coordinator.consumer.by_hand`."""
