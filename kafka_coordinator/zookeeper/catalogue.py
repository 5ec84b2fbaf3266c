"""The catalogue of the 0.8 consumer's strategies. To add one: a function in `kafka_coordinator.zookeeper.assignment`,
and a record here."""

from kafka_coordinator.zookeeper.assignment import AssignFunction, range_, roundrobin
from protocols.strategies import Registry, StrategyRecord, never

PROTOCOL = "ZooKeeper"

CATALOGUE: tuple[StrategyRecord[AssignFunction], ...] = (
    StrategyRecord(
        "range",
        range_,
        "Assigns ranges of consecutive partitions of each topic to the sorted threads of its consumers.",
        PROTOCOL,
        java_class="RangeAssignor",
        sharing="per topic",
        by_default=never,
    ),
    StrategyRecord(
        "roundrobin",
        roundrobin,
        "Assigns all partitions, ordered by the hash of their names, to the sorted threads in turn.",
        PROTOCOL,
        java_class="RoundRobinAssignor",
        sharing="across topics",
        needs="the same topics and number of streams in every consumer",
        by_default=never,
    ),
)
"""No scenario runs them by default, because Kafka 2.0 removed the last consumer that used ZooKeeper."""

STRATEGIES: Registry[AssignFunction] = Registry("Kafka over ZooKeeper", CATALOGUE)
