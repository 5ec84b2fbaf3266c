"""What keeps RocketMQ's members from ever agreeing on who owns a queue. Kafka's have a coordinator that decides."""

from collections.abc import Sequence

from compare.testing.group_interface import GroupInterface
from protocols.queues import Queue
from protocols.scenario.topology import MemberKey
from rocketmq_selfbalance import disagreement
from rocketmq_selfbalance.cluster import RocketMQCluster
from rocketmq_selfbalance.disagreement import Standing


def why_several(group: GroupInterface, members: Sequence[str]) -> str | None:
    """Why these members will go on owning the same queues: a sentence without its end. None: no reason is known."""
    return disagreement.why_several(_standings(group, members))


def why_nobody(group: GroupInterface, queue: Queue) -> str | None:
    """Why nobody will ever own this queue, likewise."""
    return disagreement.why_nobody(_standings(group, group.members), queue.topic)


def _standings(group: GroupInterface, members: Sequence[str]) -> list[Standing]:
    """In order of their names; nobody in Kafka."""
    cluster = group.world.cluster
    if not isinstance(cluster, RocketMQCluster):
        return []
    return [cluster.members.standing(MemberKey(group.name, member), group.topics) for member in sorted(members)]
