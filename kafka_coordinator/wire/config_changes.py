"""Settings of topics, groups and brokers changed, with the real controller's checks and messages.

In Kafka `ConfigurationControlManager`, `ConfigAdminManager` and `ControllerConfigurationValidator`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from kafka_coordinator.share.settings import DEAD_LETTERS
from kafka_coordinator.versions import Version
from kafka_coordinator.wire import entities
from kafka_coordinator.wire.cluster import ClusterRecord
from kafka_coordinator.wire.config_values import (
    broker_configs,
    check_client_metrics,
    check_group_bounds,
    check_name,
    check_value,
    known_configs,
)
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.records.settings import ConfigDefault
from kafka_coordinator.wire.records.storage import (
    BROKER_CONFIG,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP_CONFIG,
    TOPIC_CONFIG,
)
from kafka_coordinator.wire.requests import KEYS, AlterConfigs, IncrementalAlterConfigs, Piece, Rests
from kafka_coordinator.wire.state import NO_THROTTLE
from protocols.java import string_entry_order

if TYPE_CHECKING:
    from kio.schema.alter_configs.v2.request import AlterableConfig as Replacing
    from kio.schema.alter_configs.v2.request import AlterConfigsResource as Replaced
    from kio.schema.incremental_alter_configs.v1.request import AlterableConfig, AlterConfigsResource

_SET, _DELETE, _APPEND, _SUBTRACT = 0, 1, 2, 3
_OPERATIONS: Final = {_SET: "SET", _DELETE: "DELETE", _APPEND: "APPEND", _SUBTRACT: "SUBTRACT"}
_WORDS: Final[Mapping[int, str]] = {
    TOPIC_CONFIG: "topic",
    GROUP_CONFIG: "group",
    BROKER_CONFIG: "broker",
    CLIENT_METRICS: "client metrics",
}


def alter_configs(
    cluster: ClusterRecord, request: AlterConfigs | IncrementalAlterConfigs, node_id: int, broker: Mapping[str, str]
) -> Piece:
    """Answers IncrementalAlterConfigs, or AlterConfigs, which replaces all that a resource was given. The request came
    to the broker of this id, which has these settings (name to text)."""
    kind = entities.response(KEYS[type(request)], request.version)
    replaces = isinstance(request, AlterConfigs)
    item = entities.part(kind, "responses")
    answers, rests = [], Rests()
    for resource in request.body.resources:
        if rests.due():
            yield
        code, message = ErrorCode.none, None
        try:
            values = _altered(cluster, resource, node_id, broker, replaces=replaces)
            before = cluster.storage.config(resource.resource_type, resource.resource_name)
            if not request.body.validate_only and values != before:
                cluster.set_config(resource.resource_type, resource.resource_name, values)
        except RefusedError as error:
            code, message = error.code, error.message
        answers.append(
            entities.make(
                item,
                error_code=code,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
        )
    return entities.make(kind, throttle_time=NO_THROTTLE, responses=tuple(answers))


def _altered(
    cluster: ClusterRecord,
    resource: "AlterConfigsResource | Replaced",
    node_id: int,
    broker: Mapping[str, str],
    *,
    replaces: bool,
) -> dict[str, str]:
    """All settings that the resource has then."""
    kind, name = resource.resource_type, resource.resource_name
    _check_request(resource, node_id, cluster.version, replaces=replaces)
    if kind == BROKER_LOGGER:
        return {}
    values = {} if replaces else dict(cluster.storage.config(kind, name))
    asked = {config.name: config for config in resource.configs}
    for each in string_entry_order(list(asked)):  # the controller has them in a HashMap
        _change(values, asked[each], kind, cluster.version.name)
    if kind == BROKER_CONFIG:
        return values
    if kind == TOPIC_CONFIG and name:
        check_name(name)
    elif not name:
        text = "Subscription name can't be empty"
        if kind != CLIENT_METRICS:
            text = f"Default {_WORDS[kind]} resources are not allowed."
        raise RefusedError(ErrorCode.invalid_request, text)
    check_values(kind, values, broker, cluster.version)
    if kind == TOPIC_CONFIG and name not in cluster.topics():
        raise RefusedError(ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist.")
    return values


def _check_request(
    resource: "AlterConfigsResource | Replaced", node_id: int, version: Version, *, replaces: bool
) -> None:
    """The checks that a broker makes before the controller."""
    kind, name = resource.resource_type, resource.resource_name
    names = [config.name for config in resource.configs]
    if len(set(names)) < len(names):
        raise RefusedError(ErrorCode.invalid_request, "Error due to duplicate config keys")
    missing = [config.name for config in resource.configs if config.value is None and _operation(config) != _DELETE]
    if missing:
        raise RefusedError(ErrorCode.invalid_request, f"Null value not supported for : {', '.join(missing)}")
    if kind not in _WORDS and (kind != BROKER_LOGGER or replaces):
        raise RefusedError(ErrorCode.invalid_request, f"Unknown resource type {kind}")
    if kind == BROKER_LOGGER or (kind == BROKER_CONFIG and name):
        if not name.lstrip("-").isdigit():
            raise RefusedError(ErrorCode.invalid_request, f"Node id must be an integer, but it is: {name}")
        if int(name) != node_id:
            text = f"Unexpected broker id, expected {node_id}, but received {name}"
            if kind == BROKER_LOGGER:
                text = f"Unexpected node id. Expected {node_id}, but received {name}"
            raise RefusedError(ErrorCode.invalid_request, text)
    for config in resource.configs:
        if kind == BROKER_CONFIG:
            _check_of_broker(config.name, config.value or "", _operation(config), version)
        elif kind == BROKER_LOGGER:
            _check_logger(config.name, _operation(config), version)


def _check_of_broker(name: str, value: str, operation: int, version: Version) -> None:
    config = broker_configs(version.name).get(name)
    if operation not in _OPERATIONS:
        raise RefusedError(ErrorCode.invalid_request, f"Unknown operations type {operation}")
    if operation in (_APPEND, _SUBTRACT) and (config is None or config.type != "list"):
        if config is None and version.refuses_unknown_by_name:
            raise RefusedError(ErrorCode.invalid_config, f"Unknown config name: {name}")
        if config is None:
            raise RefusedError(ErrorCode.unknown_server_error)  # Kafka's code throws here
        text = f"Config value {_OPERATIONS[operation].lower()} is not allowed for config key: {name}"
        raise RefusedError(ErrorCode.invalid_config, text)
    if config is None:
        return
    if not config.is_dynamic and operation != _DELETE:
        raise RefusedError(ErrorCode.invalid_request, f"Cannot update these configs dynamically: Set({name})")
    if operation != _DELETE:
        try:
            check_value(ConfigDefault(name, config.default or "", config.type), value)
        except RefusedError as error:
            raise RefusedError(ErrorCode.invalid_request, error.message) from None


def _check_logger(name: str, operation: int, version: Version) -> None:
    """There is only the root logger, and its level cannot be changed."""
    if operation not in _OPERATIONS:
        if not version.refuses_unknown_by_name:
            raise RefusedError(ErrorCode.unknown_server_error)  # Kafka's code throws here
        text = f"Unknown operation type {operation} is not allowed for the BROKER_LOGGER resource"
        raise RefusedError(ErrorCode.invalid_request, text)
    if operation in (_APPEND, _SUBTRACT):
        text = f"{_OPERATIONS[operation]} operation is not allowed for the BROKER_LOGGER resource"
        raise RefusedError(ErrorCode.invalid_request, text)
    if name != "root":
        raise RefusedError(ErrorCode.invalid_config, f"Logger {name} does not exist!")
    if operation == _DELETE:
        raise RefusedError(ErrorCode.invalid_request, "Removing the log level of the root logger is not allowed")


def check_values(kind: int, values: Mapping[str, str], broker: Mapping[str, str], version: Version) -> None:
    """Raises `RefusedError` for names and values that no such resource has."""
    known = known_configs(kind, version.name)
    for key in values:
        if key not in known:
            code, text = ErrorCode.invalid_config, f"Unknown {_WORDS[kind]} config name: {key}"
            if kind == CLIENT_METRICS:
                code, text = ErrorCode.invalid_request, f"Unknown client metrics configuration: {key}"
            raise RefusedError(code, text)
    for key in known:
        if key in values:
            check_value(known[key], values[key])
    for key, value in values.items():
        if kind == GROUP_CONFIG:
            if key == DEAD_LETTERS and value.startswith("__"):
                raise RefusedError(ErrorCode.invalid_config, f"{key}: DLQ topic name must not start with '__'")
            check_group_bounds(key, value, broker, version)
        elif kind == CLIENT_METRICS:
            check_client_metrics(key, value)


def _operation(change: "AlterableConfig | Replacing") -> int:
    """What shall be done with one setting; AlterConfigs can only set."""
    return int(getattr(change, "config_operation", _SET))


def _change(values: dict[str, str], change: "AlterableConfig | Replacing", kind: int, version: str) -> None:
    name, value, operation = change.name, change.value or "", _operation(change)
    if operation not in _OPERATIONS:
        raise RefusedError(ErrorCode.unknown_server_error)  # Kafka's code throws here
    if operation == _SET:
        values[name] = value
    elif operation == _DELETE:
        values.pop(name, None)
    else:
        config = broker_configs(version).get(name) if kind == BROKER_CONFIG else known_configs(kind, version).get(name)
        if config is None or config.type != "list" or kind == CLIENT_METRICS:
            text = f"Can't {_OPERATIONS[operation]} to key {name} because its type is not LIST."
            raise RefusedError(ErrorCode.invalid_config, text)
        there = [part for part in values.get(name, config.default or "").split(",") if part]
        asked = value.split(",")
        if operation == _APPEND:
            there += [each for each in asked if each not in there]
        else:
            there = [each for each in there if each not in asked]
        values[name] = ",".join(there)
