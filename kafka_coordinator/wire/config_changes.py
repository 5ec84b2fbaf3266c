"""Settings of topics, groups and brokers changed, with the real controller's checks and messages.

In Kafka `ConfigurationControlManager`, `ConfigAdminManager` and `ControllerConfigurationValidator`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.wire import entities
from kafka_coordinator.wire.cluster import ClusterRecord
from kafka_coordinator.wire.config_values import BY_NAME, GROUP_CONFIGS, broker_configs, check_group_bounds, check_value
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.records.settings import TOPIC_DEFAULTS, ConfigDefault
from kafka_coordinator.wire.records.storage import BROKER_CONFIG, GROUP_CONFIG, TOPIC_CONFIG
from kafka_coordinator.wire.requests import AlterConfigs, IncrementalAlterConfigs
from kafka_coordinator.wire.state import NO_THROTTLE

if TYPE_CHECKING:
    from kio.schema.alter_configs.v2.request import AlterableConfig as Replacing
    from kio.schema.alter_configs.v2.request import AlterConfigsResource as Replaced
    from kio.schema.incremental_alter_configs.v1.request import AlterableConfig, AlterConfigsResource

_KEYS: Final = {AlterConfigs: 33, IncrementalAlterConfigs: 44}
_SET, _DELETE, _APPEND, _SUBTRACT = 0, 1, 2, 3
_GROUP_DEFAULTS: Final[Mapping[str, str]] = {config.name: config.default for config in GROUP_CONFIGS}
_WORDS: Final[Mapping[int, str]] = {TOPIC_CONFIG: "topic", GROUP_CONFIG: "group", BROKER_CONFIG: "broker"}


def alter_configs(
    cluster: ClusterRecord, request: AlterConfigs | IncrementalAlterConfigs, node_id: int, broker: Mapping[str, str]
) -> Entity:
    """Answers IncrementalAlterConfigs, or AlterConfigs, which replaces all that a resource was given. The request came
    to the broker of this id, which has these settings (name to text)."""
    kind = entities.response(_KEYS[type(request)], request.version)
    replaces = isinstance(request, AlterConfigs)
    item = entities.part(kind, "responses")
    answers = []
    for resource in request.body.resources:
        code, message = ErrorCode.none, None
        try:
            values = _altered(cluster, resource, node_id, broker, replaces=replaces)
            if not request.body.validate_only:
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
    names = [config.name for config in resource.configs]
    if len(set(names)) < len(names):
        raise RefusedError(ErrorCode.invalid_request, "Error due to duplicate config keys")
    missing = [config.name for config in resource.configs if config.value is None and _operation(config) != _DELETE]
    if missing:
        raise RefusedError(ErrorCode.invalid_request, f"Null value not supported for : {', '.join(missing)}")
    _check_resource(cluster, kind, name, node_id)
    values = {} if replaces else dict(cluster.storage.config(kind, name))
    known = {TOPIC_CONFIG: TOPIC_DEFAULTS, GROUP_CONFIG: _GROUP_DEFAULTS}.get(kind)
    for config in resource.configs:
        _change(values, config, kind, known)
    for key, value in values.items():
        if kind == BROKER_CONFIG:
            continue
        check_value(BY_NAME[key], value)
        if kind == GROUP_CONFIG:
            check_group_bounds(key, value, broker)
    return values


def _check_broker_value(config: ConfigDefault, value: str) -> None:
    """Brokers look at it before the controller does, and have another error for what is wrong."""
    try:
        check_value(config, value)
    except RefusedError as error:
        raise RefusedError(ErrorCode.invalid_request, error.message) from None


def _operation(change: "AlterableConfig | Replacing") -> int:
    """What shall be done with one setting; AlterConfigs can only set."""
    return int(getattr(change, "config_operation", _SET))


def _check_resource(cluster: ClusterRecord, kind: int, name: str, node_id: int) -> None:
    if kind not in _WORDS:
        raise RefusedError(ErrorCode.invalid_request, f"Unknown resource type {kind}")
    if kind == BROKER_CONFIG:
        if name and not name.lstrip("-").isdigit():
            raise RefusedError(ErrorCode.invalid_request, f"Node id must be an integer, but it is: {name}")
        if name and int(name) != node_id:
            text = f"Unexpected broker id, expected {node_id}, but received {name}"
            raise RefusedError(ErrorCode.invalid_request, text)
    elif not name:
        text = f"Default {_WORDS[kind]} resources are not allowed."
        raise RefusedError(ErrorCode.invalid_request, text)
    elif kind == TOPIC_CONFIG and name not in cluster.topics():
        raise RefusedError(ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist.")


def _change(
    values: dict[str, str], change: "AlterableConfig | Replacing", kind: int, known: Mapping[str, str] | None
) -> None:
    name, value, operation = change.name, change.value or "", _operation(change)
    if operation not in (_SET, _DELETE, _APPEND, _SUBTRACT):
        raise RefusedError(ErrorCode.unknown_server_error)
    if known is None:
        config = broker_configs().get(name)
        if config is not None and not config.is_dynamic:
            text = f"Cannot update these configs dynamically: Set({name})"
            raise RefusedError(ErrorCode.invalid_request, text)
        default, is_list = (config.default or "", config.type == "list") if config is not None else ("", False)
        if operation == _SET and config is not None:
            _check_broker_value(ConfigDefault(name, default, config.type), value)
    elif name not in known:
        if operation == _DELETE:
            return
        raise RefusedError(ErrorCode.invalid_config, f"Unknown {_WORDS[kind]} config name: {name}")
    else:
        default, is_list = known[name], BY_NAME[name].type == "list"
    if operation == _SET:
        values[name] = value
    elif operation == _DELETE:
        values.pop(name, None)
    elif not is_list:
        word = "APPEND" if operation == _APPEND else "SUBTRACT"
        text = f"Can't {word} to key {name} because its type is not LIST."
        raise RefusedError(ErrorCode.invalid_config, text)
    else:
        there = [part for part in values.get(name, default).split(",") if part]
        asked = value.split(",")
        if operation == _APPEND:
            there += [each for each in asked if each not in there]
        else:
            there = [each for each in there if each not in asked]
        values[name] = ",".join(there)
