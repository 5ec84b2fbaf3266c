"""DescribeConfigs and ListConfigResources.

In Kafka `ConfigHelper.handleDescribeConfigsRequest` and `KafkaApis.handleListConfigResources`.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.wire import entities
from kafka_coordinator.wire.described_configs import (
    Described,
    broker_described,
    broker_values,
    group_configs,
    named,
    topic_configs,
)
from kafka_coordinator.wire.records.storage import BROKER_CONFIG, GROUP_CONFIG, TOPIC_CONFIG
from kafka_coordinator.wire.refusals import RefusedError
from kafka_coordinator.wire.requests import Answer, DescribeConfigs, ListConfigResources
from kafka_coordinator.wire.state import BrokerState
from kafka_coordinator.wire.topic_names import check_name
from protocols.engine.addresses import at_port
from protocols.engine.nodes import Outbox, Time

if TYPE_CHECKING:
    from kio.schema.describe_configs.v4.request import DescribeConfigsResource

_KEY: Final = 32
_LIST_KEY: Final = 74
_BROKER_LOGGER, _CLIENT_METRICS = 8, 16
_NO_TIME: Final = timedelta(0)
_MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)


def describe_configs(state: BrokerState, now: Time, sender: str, request: DescribeConfigs, out: Outbox) -> None:
    """Settings of topics, groups and brokers, with what they come from."""
    kind = entities.response(_KEY, request.version)
    item = entities.part(kind, "results")
    with_synonyms = request.body.include_synonyms
    results = []
    for resource in request.body.resources:
        code, message, configs = ErrorCode.none, "", list[Described]()
        try:
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
                configs=tuple([_entity(item, each, with_synonyms=with_synonyms) for each in configs]),
            )
        )
    out.send(sender, Answer(request.correlation, entities.make(kind, throttle_time=_NO_TIME, results=tuple(results))))


def list_config_resources(
    state: BrokerState, now: Time, sender: str, request: ListConfigResources, out: Outbox
) -> None:
    """Names of what has settings: topics, brokers, and the groups to which some were given."""
    brokers = [str(state.addresses[name].node_id) for name in state.cluster.brokers]
    groups = [name for kind, name in state.storage.configs if kind == GROUP_CONFIG]
    known = {
        GROUP_CONFIG: groups,
        _CLIENT_METRICS: list[str](),
        _BROKER_LOGGER: brokers,
        BROKER_CONFIG: brokers,
        TOPIC_CONFIG: sorted(state.cluster.topics),
    }
    wanted = getattr(request.body, "resource_types", (_CLIENT_METRICS,)) or tuple(known)
    kind = entities.response(_LIST_KEY, request.version)
    item = entities.part(kind, "config_resources")
    code, found = ErrorCode.none, list[Entity]()
    if not set(wanted) <= known.keys():
        code = ErrorCode.unsupported_version
    else:
        found = [
            entities.make(item, resource_name=name, resource_type=each)
            for each, names in known.items()
            if each in wanted
            for name in names
        ]
    answer = entities.make(kind, throttle_time=_NO_TIME, error_code=code, config_resources=tuple(found))
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
        return topic_configs(state.storage, state.storage.config(TOPIC_CONFIG, name))
    if kind == GROUP_CONFIG:
        if not name:
            raise RefusedError(ErrorCode.invalid_request, "Group name must not be empty")
        return group_configs(state.storage, name, own_settings(state))
    if kind == BROKER_CONFIG:
        if name and not name.lstrip("-").isdigit():
            raise RefusedError(ErrorCode.invalid_request, f"Broker id must be an integer, but it is: {name}")
        if name and int(name) != state.node_id:
            text = f"Unexpected broker id, expected {state.node_id} or empty string, but received {name}"
            raise RefusedError(ErrorCode.invalid_request, text)
        return broker_described(state.storage, name, own_settings(state))
    raise RefusedError(ErrorCode.invalid_request, _MALFORMED)


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
        documentation=None,
    )
