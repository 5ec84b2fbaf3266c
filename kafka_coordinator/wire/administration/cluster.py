"""DescribeCluster and DescribeTopicPartitions.

In Kafka `AuthHelper.computeDescribeClusterResponse` and `DescribeTopicPartitionsRequestHandler`.
"""

from datetime import timedelta
from typing import Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.wire import entities
from kafka_coordinator.wire.requests import Answer, DescribeCluster, DescribeTopicPartitions
from kafka_coordinator.wire.state import NO_ID, BrokerState
from protocols.engine.nodes import Outbox, Time

_CLUSTER_KEY, _PARTITIONS_KEY = 60, 75
_NO_TIME: Final = timedelta(0)
_OF_BROKERS, _OF_CONTROLLERS = 1, 2
_NO_OPERATIONS: Final = -(2**31)
_CLUSTER_OPERATIONS: Final = sum(1 << number for number in (5, 7, 8, 9, 10, 11, 12))
_TOPIC_OPERATIONS: Final = sum(1 << number for number in (3, 4, 5, 6, 7, 8, 10, 11))
"""Everybody may do everything: there are no ACLs."""
_MOST_PARTITIONS: Final = 2000
"""Per answer (``max.request.partition.size.limit``)."""


def describe_cluster(state: BrokerState, now: Time, sender: str, request: DescribeCluster, out: Outbox) -> None:
    """The live brokers."""
    kind = entities.response(_CLUSTER_KEY, request.version)
    wanted = getattr(request.body, "endpoint_type", _OF_BROKERS)
    if wanted != _OF_BROKERS:
        code = ErrorCode.unsupported_endpoint_type
        text = f"Unsupported endpoint type {wanted}"
        if wanted == _OF_CONTROLLERS:
            code = ErrorCode.mismatched_endpoint_type
            text = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        answer = entities.make(
            kind,
            throttle_time=_NO_TIME,
            error_code=code,
            error_message=text,
            cluster_id="",
            controller_id=-1,
            brokers=(),
        )
        out.send(sender, Answer(request.correlation, answer))
        return
    item = entities.part(kind, "brokers")
    addresses = [state.addresses[name] for name in state.cluster.brokers]
    operations = request.body.include_cluster_authorized_operations
    answer = entities.make(
        kind,
        throttle_time=_NO_TIME,
        error_code=ErrorCode.none,
        error_message=None,
        endpoint_type=_OF_BROKERS,
        cluster_id=state.settings.cluster_id,
        controller_id=min((each.node_id for each in addresses), default=-1),
        brokers=tuple(
            [
                entities.make(item, broker_id=each.node_id, host=each.host, port=each.port, rack=None, is_fenced=False)
                for each in addresses
            ]
        ),
        cluster_authorized_operations=_CLUSTER_OPERATIONS if operations else _NO_OPERATIONS,
    )
    out.send(sender, Answer(request.correlation, answer))


def describe_topic_partitions(
    state: BrokerState, now: Time, sender: str, request: DescribeTopicPartitions, out: Outbox
) -> None:
    """Topics in the order of their names, page by page."""
    body = request.body
    kind = entities.response(_PARTITIONS_KEY, request.version)
    item = entities.part(kind, "topics")
    names = [each.name for each in body.topics]
    cursor = body.cursor
    if cursor is not None and cursor.partition_index < 0:
        topics = tuple([_without(item, name, ErrorCode.invalid_request, _NO_OPERATIONS) for name in names])
        refused = entities.make(kind, throttle_time=_NO_TIME, topics=topics, next_cursor=None)
        out.send(sender, Answer(request.correlation, refused))
        return
    left = max(1, min(body.response_partition_limit, _MOST_PARTITIONS))
    described, after, unknown = [], None, []
    for name in sorted(set(names) if names else state.cluster.topics):
        if cursor is not None and name < cursor.topic_name:
            continue
        leaders = state.cluster.topics.get(name)
        if leaders is None:
            unknown.append(name)
            continue
        first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        if left <= 0:
            after = (name, first)
            break
        numbers = range(first, min(len(leaders), first + left))
        left -= len(numbers)
        parts = tuple([_partition(item, state, name, number) for number in numbers])
        described.append(
            item(
                error_code=ErrorCode.none,
                name=name,
                topic_id=state.topic_ids.get(name, NO_ID),
                is_internal=False,
                partitions=parts,
                topic_authorized_operations=_TOPIC_OPERATIONS,
            )
        )
        if numbers.stop < len(leaders):
            after = (name, numbers.stop)
            break
    if after is None:
        described += [_missing(item, name) for name in unknown]
    made = None
    if after is not None:
        made = entities.part(kind, "next_cursor")(topic_name=after[0], partition_index=after[1])
    answer = entities.make(kind, throttle_time=_NO_TIME, topics=tuple(described), next_cursor=made)
    out.send(sender, Answer(request.correlation, answer))


def _missing(item: entities.Kind, name: str) -> Entity:
    if name == "":
        return _without(item, name, ErrorCode.unknown_server_error, _NO_OPERATIONS)
    return _without(item, name, ErrorCode.unknown_topic_or_partition, _TOPIC_OPERATIONS)


def _without(item: entities.Kind, name: str, code: ErrorCode, operations: int) -> Entity:
    return item(
        error_code=code,
        name=name,
        topic_id=NO_ID,
        is_internal=False,
        partitions=(),
        topic_authorized_operations=operations,
    )


def _partition(item: entities.Kind, state: BrokerState, topic: str, number: int) -> Entity:
    kind = entities.part(item, "partitions")
    leader = state.cluster.topics[topic][number]
    kept = state.storage.replicas.get(topic, ())
    replicas = kept[number] if number < len(kept) else (leader,) * bool(leader)
    alive = state.cluster.brokers
    ids = {name: state.addresses[name].node_id for name in replicas}
    return kind(
        error_code=ErrorCode.none if leader else ErrorCode.leader_not_available,
        partition_index=number,
        leader_id=state.addresses[leader].node_id if leader else -1,
        leader_epoch=state.storage.log(topic, number).leader_epoch,
        replica_nodes=tuple(ids.values()),
        isr_nodes=tuple([ids[name] for name in replicas if name in alive]),
        eligible_leader_replicas=(),
        last_known_elr=(),
        offline_replicas=tuple([ids[name] for name in replicas if name not in alive]),
    )
