"""A group of a simulated cluster as its coordinator describes it to ``kafka-consumer-groups --describe``."""

from typing import NamedTuple, TypeVar

from kafka_coordinator import messages
from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.cluster.cluster import KafkaCluster
from kafka_coordinator.coordinator.log import offsets_partition
from protocols.engine.nodes import Message
from protocols.engine.single import SingleNode
from protocols.errors import UserError

T = TypeVar("T")


class GroupDescription(NamedTuple):
    """``protocol``: the assignor. ``epochs``: of the group and of its target assignment; None where it is a classic
    group."""

    state: str
    protocol: str
    members: tuple[messages.DescribedMember | messages.DescribedConsumer, ...]
    epochs: tuple[int, int] | None = None


def description_of(cluster: KafkaCluster, group: str) -> GroupDescription | None:
    """The group now, asked for as one of the consumer protocol first, as the tool does; None where it does not exist.
    Raises `UserError` where no broker of the cluster coordinates it at the moment."""
    leaders = cluster.controller.state.offsets_leaders
    leader = leaders[offsets_partition(group, len(leaders))]
    process = cluster.simulation.processes.get(leader)
    if process is None or not isinstance(process.node, Broker):
        raise UserError(f"group {group!r} has no coordinator at the moment, because its broker is not running")
    broker = process.node
    found = _asked(cluster, broker, messages.ConsumerGroupDescribe(1, group), messages.ConsumerGroupDescribeAnswer)
    if found.error == "NONE":
        epochs = found.group_epoch, found.assignment_epoch
        return GroupDescription(found.state, found.assignor, found.members, epochs)
    answer = _asked(cluster, broker, messages.DescribeGroup(1, group), messages.DescribeGroupAnswer)
    if answer.error == "GROUP_ID_NOT_FOUND":
        return None
    if answer.error != "NONE":
        raise UserError(f"group {group!r} cannot be described: {answer.error}")
    return GroupDescription(answer.state, answer.protocol, answer.members)


def _asked(cluster: KafkaCluster, broker: Broker, request: Message, kind: type[T]) -> T:
    """A broker's answer to a question that changes nothing, without any network."""
    alone = SingleNode(broker, now=cluster.simulation.now)
    alone.receive(cluster.simulation.now, "kafka-consumer-groups", request)
    answer = alone.take_sent()[0].message
    assert isinstance(answer, kind)
    return answer
