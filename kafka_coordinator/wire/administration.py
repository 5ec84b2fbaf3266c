"""Requests of administrators: topics created, deleted, grown and described, settings, the cluster.

What changes the cluster a broker passes on to the controller (`kafka_coordinator.wire.controller`), what describes it
every broker answers itself. `create_missing` asks for topics that clients want and that are not there.

In Kafka `AuthHelper.computeDescribeClusterResponse`, `DescribeTopicPartitionsRequestHandler`,
`ConfigHelper.handleDescribeConfigsRequest` and `KafkaApis.handleListConfigResources`.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.cluster.broker import ClusterState
from kafka_coordinator.versions import VERSIONS
from kafka_coordinator.wire import entities, requests
from kafka_coordinator.wire.config_values import (
    OF_LOGGER,
    Described,
    broker_described,
    broker_values,
    check_name,
    client_metrics_configs,
    group_configs,
    named,
    topic_configs,
)
from kafka_coordinator.wire.controller import Administer, Administered, Change, CreateMissing
from kafka_coordinator.wire.entities import MALFORMED, RefusedError
from kafka_coordinator.wire.records.storage import (
    BROKER_CONFIG,
    BROKER_LOGGER,
    CLIENT_METRICS,
    CONFIG_TYPES,
    GROUP_CONFIG,
    TOPIC_CONFIG,
)
from kafka_coordinator.wire.requests import (
    Answer,
    DescribeCluster,
    DescribeConfigs,
    DescribeTopicPartitions,
    ListConfigResources,
    Work,
    answered,
)
from kafka_coordinator.wire.state import CONTROLLER, NO_ID, NO_THROTTLE, BrokerState, Handler
from protocols.engine.nodes import Message, Outbox, Time, at_port

if TYPE_CHECKING:
    from kio.schema.describe_configs.v4.request import DescribeConfigsResource

_CLUSTER_KEY, _PARTITIONS_KEY = 60, 75
_OF_BROKERS, _OF_CONTROLLERS = 1, 2
NO_OPERATIONS: Final = -(2**31)
CLUSTER_OPERATIONS: Final = sum(1 << number for number in (5, 7, 8, 9, 10, 11, 12))
TOPIC_OPERATIONS: Final = sum(1 << number for number in (3, 4, 5, 6, 7, 8, 10, 11))
"""Read, write, create, delete, alter, describe, describe and alter configs: without ACLs everybody may."""
_MOST_PARTITIONS: Final = 2000
"""Per answer (``max.request.partition.size.limit``)."""


def describe_cluster(state: BrokerState, now: Time, sender: str, request: DescribeCluster, out: Outbox) -> None:
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
            throttle_time=NO_THROTTLE,
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
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        error_message=None,
        endpoint_type=_OF_BROKERS,
        cluster_id=state.settings.cluster_id,
        controller_id=min((address.node_id for address in addresses), default=-1),
        brokers=tuple(
            [
                entities.make(
                    item, broker_id=address.node_id, host=address.host, port=address.port, rack=None, is_fenced=False
                )
                for address in addresses
            ]
        ),
        cluster_authorized_operations=CLUSTER_OPERATIONS if operations else NO_OPERATIONS,
    )
    out.send(sender, Answer(request.correlation, answer))


def describe_topic_partitions(
    state: BrokerState, now: Time, sender: str, request: DescribeTopicPartitions, out: Outbox
) -> None:
    """Topics in the order of their names, page by page."""
    body = request.body
    kind = entities.response(_PARTITIONS_KEY, request.version)
    item = entities.part(kind, "topics")
    names, cursor = [topic.name for topic in body.topics], body.cursor
    wanted = sorted({name for name in names or state.cluster.topics if cursor is None or name >= cursor.topic_name})
    refused = None
    if cursor is not None and (cursor.partition_index < 0 or (names and cursor.topic_name not in wanted)):
        refused = ErrorCode.invalid_request
    elif "" in wanted and cursor is None:
        refused = ErrorCode.unknown_server_error  # Kafka's code throws here
    left = max(1, min(body.response_partition_limit, _MOST_PARTITIONS))
    described, after = [], None
    for name in wanted if refused is None else ():
        leaders = state.cluster.topics.get(name)
        first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        if left <= 0:
            after = (name, first)
            break
        if leaders is None:
            described.append(_without(item, name, error_of_missing(name), TOPIC_OPERATIONS))
            continue
        numbers = range(first, min(len(leaders), first + left))
        left -= len(numbers)
        part = entities.part(item, "partitions")
        parts = tuple([partition(part, state, state.cluster, name, number) for number in numbers])
        described.append(
            item(
                error_code=ErrorCode.none,
                name=name,
                topic_id=state.topic_ids.get(name, NO_ID),
                is_internal=False,
                partitions=parts,
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        )
        if numbers.stop < len(leaders):
            after = (name, numbers.stop)
            break
    if refused is not None:
        described = [_without(item, name, refused, NO_OPERATIONS) for name in names]
    made = None
    if after is not None:
        made = entities.part(kind, "next_cursor")(topic_name=after[0], partition_index=after[1])
    answer = entities.make(kind, throttle_time=NO_THROTTLE, topics=tuple(described), next_cursor=made)
    out.send(sender, Answer(request.correlation, answer))


def error_of_missing(name: str) -> ErrorCode:
    """The error for a topic that does not exist: its name is invalid, or it is unknown."""
    try:
        check_name(name)
    except RefusedError as error:
        return error.code
    return ErrorCode.unknown_topic_or_partition


def _without(item: entities.Kind, name: str, code: ErrorCode, operations: int) -> Entity:
    return item(
        error_code=code,
        name=name,
        topic_id=NO_ID,
        is_internal=False,
        partitions=(),
        topic_authorized_operations=operations,
    )


def partition(kind: entities.Kind, state: BrokerState, cluster: ClusterState, topic: str, number: int) -> Entity:
    """A partition with its leader and replicas, in the answers to Metadata and DescribeTopicPartitions."""
    leader = cluster.topics[topic][number]
    kept = state.storage.replicas.get(topic, ())
    replicas = kept[number] if number < len(kept) else (leader,) * bool(leader)
    alive = cluster.brokers
    ids = {name: state.addresses[name].node_id for name in replicas}
    return entities.make(
        kind,
        error_code=ErrorCode.none if leader else ErrorCode.leader_not_available,
        partition_index=number,
        leader_id=state.addresses[leader].node_id if leader else -1,
        leader_epoch=state.storage.log(topic, number).leader_epoch,
        replica_nodes=tuple(ids.values()),
        isr_nodes=tuple([node_id for name, node_id in ids.items() if name in alive]),
        eligible_leader_replicas=(),
        last_known_elr=(),
        offline_replicas=tuple([node_id for name, node_id in ids.items() if name not in alive]),
    )


_KEY: Final = 32
_LIST_KEY: Final = 74


def describe_configs(state: BrokerState, now: Time, sender: str, request: DescribeConfigs, out: Outbox) -> None:
    """Settings of topics, groups and brokers, with what they come from."""
    out.send(sender, answered(request.correlation, _described_configs(state, request)))


def _described_configs(state: BrokerState, request: DescribeConfigs) -> Work:
    kind = entities.response(_KEY, request.version)
    item = entities.part(kind, "results")
    with_synonyms = request.body.include_synonyms
    results = []
    unknown = any(each.resource_type not in CONFIG_TYPES for each in request.body.resources)
    for resource in request.body.resources:
        yield  # each has dozens of settings
        code, message, configs = ErrorCode.none, "", list[Described]()
        try:
            if unknown:
                raise RefusedError(ErrorCode.invalid_request, MALFORMED)
            configs = named(_configs(state, resource), resource.configuration_keys)
        except RefusedError as error:
            code, message = error.code, error.message or ""
        results.append(
            entities.make(
                item,
                error_code=code,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=tuple([_entity(item, config, with_synonyms=with_synonyms) for config in configs]),
            )
        )
    return entities.make(kind, throttle_time=NO_THROTTLE, results=tuple(results))


def list_config_resources(
    state: BrokerState, now: Time, sender: str, request: ListConfigResources, out: Outbox
) -> None:
    """Names of what has settings: topics, brokers, and the groups to which some were given."""
    brokers = [str(state.addresses[name].node_id) for name in state.cluster.brokers]
    known = {
        GROUP_CONFIG: [name for kind, name in state.storage.configs if kind == GROUP_CONFIG],
        CLIENT_METRICS: [name for kind, name in state.storage.configs if kind == CLIENT_METRICS],
        BROKER_LOGGER: brokers,
        BROKER_CONFIG: brokers,
        TOPIC_CONFIG: sorted(state.cluster.topics),
    }
    wanted = getattr(request.body, "resource_types", (CLIENT_METRICS,)) or tuple(known)
    kind = entities.response(_LIST_KEY, request.version)
    item = entities.part(kind, "config_resources")
    code, found = ErrorCode.none, list[Entity]()
    if not set(wanted) <= known.keys():
        code = ErrorCode.unsupported_version
    else:
        found = [
            entities.make(item, resource_name=name, resource_type=key)
            for key, names in known.items()
            if key in wanted
            for name in names
        ]
    answer = entities.make(kind, throttle_time=NO_THROTTLE, error_code=code, config_resources=tuple(found))
    out.send(sender, Answer(request.correlation, answer))


def own_settings(state: BrokerState) -> dict[str, str]:
    """What a broker was started with, under Kafka's names."""
    address = state.addresses.get(state.name)
    where = {}
    if address is not None:
        where["listeners"] = f"PLAINTEXT://{at_port(address.listens_on or address.host, address.port)}"
        where["advertised.listeners"] = f"PLAINTEXT://{at_port(address.host, address.port)}"
    given = broker_values(state.settings, state.broker.coordinator.core.settings)
    return {"node.id": str(state.node_id), "broker.id": str(state.node_id), **where, **given}


def _configs(state: BrokerState, resource: "DescribeConfigsResource") -> list[Described]:
    kind, name = resource.resource_type, resource.resource_name
    if kind == TOPIC_CONFIG:
        check_name(name)
        if name not in state.cluster.topics:
            raise RefusedError(ErrorCode.unknown_topic_or_partition)
        return topic_configs(state.storage, state.storage.config(TOPIC_CONFIG, name), state.version)
    if kind == GROUP_CONFIG:
        if not name:
            raise RefusedError(ErrorCode.invalid_request, "Group name must not be empty")
        return group_configs(state.storage, name, own_settings(state), VERSIONS[state.version])
    if kind == CLIENT_METRICS:
        if not name:
            raise RefusedError(ErrorCode.invalid_request, "Client metrics subscription name must not be empty")
        return client_metrics_configs(state.storage.config(CLIENT_METRICS, name))
    if kind in (BROKER_CONFIG, BROKER_LOGGER):
        if kind == BROKER_LOGGER and not name:
            raise RefusedError(ErrorCode.invalid_request, "Broker id must not be empty")
        if name and not name.lstrip("-").isdigit():
            raise RefusedError(ErrorCode.invalid_request, f"Broker id must be an integer, but it is: {name}")
        if name and int(name) != state.node_id:
            text = f"Unexpected broker id, expected {state.node_id} or empty string, but received {name}"
            if kind == BROKER_LOGGER:
                text = f"Unexpected broker id, expected {state.node_id} but received {name}"
            raise RefusedError(ErrorCode.invalid_request, text)
        if kind == BROKER_LOGGER:
            return [Described("root", "ERROR", OF_LOGGER, 0, ())]
        return broker_described(state.storage, name, own_settings(state), state.version)
    raise KeyError(kind)


def _entity(item: entities.Kind, each: Described, *, with_synonyms: bool) -> Entity:
    kind = entities.part(item, "configs")
    synonyms = entities.part(kind, "synonyms")
    found = each.synonyms if with_synonyms else ()
    return entities.make(
        kind,
        name=each.name,
        value=each.value,
        read_only=each.is_read_only,
        config_source=each.source,
        is_sensitive=each.is_sensitive,
        synonyms=tuple([synonyms(**one._asdict()) for one in found]),
        config_type=each.type,
        documentation="" if each.source == OF_LOGGER else None,
    )


def _pass_on(state: BrokerState, now: Time, sender: str, request: Change, out: Outbox) -> None:
    out.send(CONTROLLER, Administer(sender, request, state.node_id, own_settings(state)))


def _answered(state: BrokerState, now: Time, sender: str, message: Administered, out: Outbox) -> None:
    out.send(message.client, message.answer)


def create_missing(topics: Iterable[str], out: Outbox) -> None:
    """Ask the controller for these topics, with the defaults; brokers learn of them as of any other."""
    wanted = tuple(topics)
    if wanted:
        out.send(CONTROLLER, CreateMissing(wanted))


HANDLERS: Final[Mapping[type[Message], Handler]] = {
    requests.CreateTopics: _pass_on,
    requests.DeleteTopics: _pass_on,
    requests.CreatePartitions: _pass_on,
    requests.AlterConfigs: _pass_on,
    requests.IncrementalAlterConfigs: _pass_on,
    Administered: _answered,
    requests.DescribeConfigs: describe_configs,
    requests.ListConfigResources: list_config_resources,
    requests.DescribeCluster: describe_cluster,
    requests.DescribeTopicPartitions: describe_topic_partitions,
}
