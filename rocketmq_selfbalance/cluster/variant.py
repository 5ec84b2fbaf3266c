"""From a variant to its cluster: of queues that clients share for themselves, or of queues without owners."""

from protocols.engine.simulation import Simulation
from protocols.scenario.model import Scenario, SystemPart, split_system
from rocketmq_selfbalance.catalogue import POP
from rocketmq_selfbalance.cluster.cluster import RocketMQCluster
from rocketmq_selfbalance.cluster.pop_cluster import PopCluster


def cluster_of_variant(scenario: Scenario, system: SystemPart, simulation: Simulation) -> RocketMQCluster | PopCluster:
    """Raises `protocols.errors.UserError` for a strategy or a setting that RocketMQ does not have."""
    make = PopCluster if split_system(system.system)[1] == POP else RocketMQCluster
    return make(scenario, system, simulation)
