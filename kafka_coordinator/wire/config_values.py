"""Which settings topics, groups and brokers have, where the value of each comes from, whether a text is a value of one,
and which names topics may have; the messages are Kafka's.

In Kafka `Topic`, `ConfigDef`, `LogConfig.validate`, `GroupConfig.validate`, `DynamicBrokerConfig`, `ConfigHelper`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from kafka_coordinator.coordinator.settings import BrokerSettings
from kafka_coordinator.versions import VERSIONS, Version
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.records.settings import TOPIC_CONFIGS, TYPES, ConfigDefault
from kafka_coordinator.wire.records.storage import BROKER_CONFIG, CLIENT_METRICS, GROUP_CONFIG, TOPIC_CONFIG, Storage
from kafka_coordinator.wire.state import ServerSettings
from protocols.java import string_entry_order

GROUP_CONFIGS: Final = (
    ConfigDefault("consumer.session.timeout.ms", "45000", "int", "group.consumer.session.timeout.ms"),
    ConfigDefault("consumer.heartbeat.interval.ms", "5000", "int", "group.consumer.heartbeat.interval.ms"),
    ConfigDefault("consumer.assignment.interval.ms", "1000", "int", "group.consumer.assignment.interval.ms", "4.4"),
    ConfigDefault("share.session.timeout.ms", "45000", "int", "group.share.session.timeout.ms"),
    ConfigDefault("share.heartbeat.interval.ms", "5000", "int", "group.share.heartbeat.interval.ms"),
    ConfigDefault("share.record.lock.duration.ms", "30000", "int", "group.share.record.lock.duration.ms"),
    ConfigDefault("share.delivery.count.limit", "5", "int", "group.share.delivery.count.limit", "4.4"),
    ConfigDefault("share.partition.max.record.locks", "2000", "int", "group.share.partition.max.record.locks", "4.4"),
    ConfigDefault("share.auto.offset.reset", "latest", "string", "share.auto.offset.reset"),
    ConfigDefault("share.isolation.level", "read_uncommitted", "string", "share.isolation.level"),
    ConfigDefault("share.renew.acknowledge.enable", "true", "boolean", "share.renew.acknowledge.enable", "4.4"),
    ConfigDefault("share.assignment.interval.ms", "1000", "int", "group.share.assignment.interval.ms", "4.4"),
    ConfigDefault("streams.session.timeout.ms", "45000", "int", "group.streams.session.timeout.ms"),
    ConfigDefault("streams.heartbeat.interval.ms", "5000", "int", "group.streams.heartbeat.interval.ms"),
    ConfigDefault("streams.num.standby.replicas", "0", "int", "group.streams.num.standby.replicas"),
    ConfigDefault(
        "streams.initial.rebalance.delay.ms", "3000", "int", "group.streams.initial.rebalance.delay.ms", "4.4"
    ),
    ConfigDefault("streams.assignment.interval.ms", "1000", "int", "group.streams.assignment.interval.ms", "4.4"),
    ConfigDefault("errors.deadletterqueue.topic.name", "", "string", "errors.deadletterqueue.topic.name", "4.4"),
    ConfigDefault(
        "errors.deadletterqueue.copy.record.enable",
        "false",
        "boolean",
        "errors.deadletterqueue.copy.record.enable",
        "4.4",
    ),
    ConfigDefault("streams.assignor.name", "sticky", "string", "group.streams.assignors", "4.4"),
    ConfigDefault("streams.rack.aware.assignment.tags", "", "list", "group.streams.rack.aware.assignment.tags", "4.4"),
)

CLIENT_METRICS_CONFIGS: Final = (
    ConfigDefault("interval.ms", "300000", "int"),
    ConfigDefault("match", "", "list"),
    ConfigDefault("metrics", "", "list"),
)
_MATCHED: Final = frozenset(
    (
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    )
)
"""Parts of a client that a pattern may match (KIP-714)."""


@cache
def known_configs(kind: int, version: str) -> Mapping[str, ConfigDefault]:
    """The settings of topics, groups or clients' metrics that this version has, by name, in the order in which they are
    checked."""
    known = {TOPIC_CONFIG: TOPIC_CONFIGS, GROUP_CONFIG: GROUP_CONFIGS, CLIENT_METRICS: CLIENT_METRICS_CONFIGS}[kind]
    return {config.name: config for config in known if VERSIONS.holds(config.since, version)}


_LEAST: Final[Mapping[str, int]] = {
    "min.insync.replicas": 1,
    "segment.jitter.ms": 0,
    "local.retention.ms": -2,
    "flush.ms": 0,
    "compression.lz4.level": 1,
    "segment.bytes": 1_048_576,
    "retention.ms": -1,
    "flush.messages": 1,
    "compression.zstd.level": -131_072,
    "max.compaction.lag.ms": 1,
    "file.delete.delay.ms": 0,
    "max.message.bytes": 0,
    "min.compaction.lag.ms": 0,
    "local.retention.bytes": -2,
    "min.cleanable.dirty.ratio": 0,
    "index.interval.bytes": 0,
    "delete.retention.ms": 0,
    "message.timestamp.after.max.ms": 0,
    "message.timestamp.before.max.ms": 0,
    "segment.ms": 1,
    "segment.index.bytes": 4,
    "consumer.session.timeout.ms": 1,
    "consumer.heartbeat.interval.ms": 1,
    "share.session.timeout.ms": 1,
    "share.heartbeat.interval.ms": 1,
    "share.record.lock.duration.ms": 1000,
    "streams.session.timeout.ms": 1,
    "streams.heartbeat.interval.ms": 1,
    "streams.num.standby.replicas": 0,
    "consumer.assignment.interval.ms": 0,
    "share.assignment.interval.ms": 0,
    "streams.assignment.interval.ms": 0,
    "streams.initial.rebalance.delay.ms": 0,
    "share.delivery.count.limit": 2,
    "share.partition.max.record.locks": 100,
}
_MOST: Final[Mapping[str, int]] = {
    "min.cleanable.dirty.ratio": 1,
    "compression.lz4.level": 17,
    "compression.zstd.level": 22,
}
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "compression.type": ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    **dict.fromkeys(("cleanup.policy", "log.cleanup.policy"), ("compact", "delete")),
    **dict.fromkeys(("message.timestamp.type", "log.message.timestamp.type"), ("CreateTime", "LogAppendTime")),
    "share.isolation.level": ("read_committed", "read_uncommitted"),
}
_BITS: Final[Mapping[str, int]] = {"int": 31, "long": 63}
_OFFSET_RESET: Final = re.compile(
    r"earliest|latest|by_duration:P(?=.)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d{0,9})?S)?)?"
)
_THROTTLED: Final = re.compile(r"\*|\d+:\d+(,\d+:\d+)*|")


def _as_described(kind: int, version: str) -> list[ConfigDefault]:
    """The same in the order in which a real broker describes them, that of a HashMap."""
    known = known_configs(kind, version)
    return [known[name] for name in string_entry_order(list(known))]


class BrokerConfig(NamedTuple):
    """A broker's setting; ``default`` None: it has none."""

    name: str
    type: str
    is_dynamic: bool
    is_sensitive: bool
    default: str | None


@cache
def broker_configs(version: str) -> Mapping[str, BrokerConfig]:
    """All that a broker of this version describes, sorted by name."""
    found = {}
    text = files(__package__).joinpath("broker_configs.tsv").read_text("utf-8")
    for line in text.splitlines():
        name, kind, flags, default, *since = line.split("\t")
        if all(VERSIONS.holds(each, version) for each in since):
            found[name] = BrokerConfig(name, kind, "w" in flags, "s" in flags, default[1:] if default else None)
    return dict(sorted(found.items()))


def check_value(config: ConfigDefault, value: str) -> None:
    """Raises `RefusedError` for a text that is no value of the setting."""
    name = config.name
    if config.type == "boolean":
        if value.lower() not in ("true", "false"):
            raise _wrong(name, value, "Expected value to be either true or false")
    elif config.type in _BITS:
        _check_number(name, value, config.type)
    elif config.type == "double":
        _check_double(name, value)
    elif name in _OPTIONS:
        given = [part.strip() for part in value.split(",")] if config.type == "list" else [value]
        if value == "" and config.type == "list":
            return
        for each in given:
            if each not in _OPTIONS[name]:
                raise _wrong(name, each, f"String must be one of: {', '.join(_OPTIONS[name])}")
    elif name == "share.auto.offset.reset" and not _OFFSET_RESET.fullmatch(value):
        text = (
            f"Invalid value `{value}` for configuration {name}. The value must be either 'earliest', 'latest' or of the"
        )
        raise _wrong(name, value, f"{text} format 'by_duration:<PnDTnHnMn.nS>'.")
    elif name.endswith("throttled.replicas") and not _THROTTLED.fullmatch(value):
        text = f"{name} must be the literal '*' or a list of replicas in the following format: "
        raise _wrong(name, f"[{value}]", f"{text}[partitionId]:[brokerId],[partitionId]:[brokerId],...")


def _check_number(name: str, value: str, kind: str) -> None:
    try:
        number = int(value.strip())
    except ValueError:
        raise _wrong(name, value, f"Not a number of type {kind.upper()}") from None
    if not -(1 << _BITS[kind]) <= number < 1 << _BITS[kind]:
        raise _wrong(name, value, f"Not a number of type {kind.upper()}")
    if name == "compression.gzip.level":
        if number != -1 and not 1 <= number <= 9:
            raise _wrong(name, value, "Value must be between 1 and 9 or equal to -1")
        return
    _check_bounds(name, str(number), number)


def _check_double(name: str, value: str) -> None:
    try:
        number = float(value.strip())
    except ValueError:
        raise _wrong(name, value, "Not a number of type DOUBLE") from None
    _check_bounds(name, str(number), number)


def _check_bounds(name: str, value: str, number: float) -> None:
    least, most = _LEAST.get(name), _MOST.get(name)
    if least is not None and number < least:
        raise _wrong(name, value, f"Value must be at least {least}")
    if most is not None and number > most:
        raise _wrong(name, value, f"Value must be no more than {most}")


def check_group_bounds(name: str, value: str, broker: Mapping[str, str], version: Version) -> None:
    """Raises `RefusedError` for a group's number that its broker (names and values of its settings) does not allow."""
    kind, _, rest = name.partition(".")
    if not value.lstrip("-").isdigit():
        return
    bounds = f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest.removeprefix('num.')}"
    if version.group_bounds_are_ranges:
        known = broker_configs(version.name)
        least, most = [broker.get(each) or (known[each].default if each in known else None) for each in bounds]
        if least is not None and most is not None and not int(least) <= int(value) <= int(most):
            raise RefusedError(ErrorCode.invalid_config, f"{name} must be in the range {least} to {most} inclusive.")
        if least is None and most is not None and int(value) > int(most):
            raise RefusedError(ErrorCode.invalid_config, f"{name} must be less than or equal to {most}")
        return
    least, most = bounds
    if least in broker and int(value) < int(broker[least]):
        raise RefusedError(ErrorCode.invalid_config, f"{name} must be greater than or equal to {least}")
    if most in broker and int(value) > int(broker[most]):
        raise RefusedError(ErrorCode.invalid_config, f"{name} must be less than or equal to {most}")


def check_client_metrics(name: str, value: str) -> None:
    """Raises `RefusedError` for an interval or a pattern that Kafka does not take."""
    if name == "interval.ms" and not 100 <= int(value) <= 3_600_000:
        text = f"Invalid value {value} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
        raise RefusedError(ErrorCode.invalid_request, text)
    for pattern in value.split(",") if name == "match" and value else ():
        left, _, right = pattern.partition("=")
        if left.strip() not in _MATCHED or not right or "=" in right:
            raise RefusedError(ErrorCode.invalid_config, f"Illegal client matching pattern: {pattern.strip()}")


def _wrong(name: str, value: str, why: str) -> RefusedError:
    return RefusedError(ErrorCode.invalid_config, f"Invalid value {value} for configuration {name}: {why}")


_MOST_CHARACTERS: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def check_name(name: str) -> None:
    """Raises `RefusedError` for a name that no topic may have."""
    why = None
    if name == "":
        why = "the empty string is not allowed"
    elif name in (".", ".."):
        why = f"'{name}' is not allowed"
    elif len(name) > _MOST_CHARACTERS:
        why = f"the length of '{name}' is longer than the max allowed length {_MOST_CHARACTERS}"
    elif not _LEGAL.fullmatch(name):
        why = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    if why is not None:
        raise RefusedError(ErrorCode.invalid_topic_exception, f"Topic name is invalid: {why}")


def check_collision(name: str, known: Iterable[str]) -> None:
    """Raises `RefusedError` where another topic has the same name but for ``.`` and ``_``."""
    if "." in name or "_" in name:
        plain = name.replace(".", "_")
        for each in known:
            if each != name and each.replace(".", "_") == plain:
                text = f"Topic '{name}' collides with existing topic: {each}"
                raise RefusedError(ErrorCode.invalid_topic_exception, text)


OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, STATIC, DEFAULT, OF_LOGGER, OF_CLIENTS, OF_GROUP = 1, 2, 3, 4, 5, 6, 7, 8
"""Where a value comes from, as on the wire."""


class Synonym(NamedTuple):
    """A setting that gives, or would give, the value; ``source`` is one of the numbers above."""

    name: str
    value: str | None
    source: int


class Described(NamedTuple):
    """A setting as it is described; ``type`` is a number on the wire. The first synonym is the one that counts."""

    name: str
    value: str | None
    source: int
    type: int
    synonyms: tuple[Synonym, ...]
    is_read_only: bool = False
    is_sensitive: bool = False


def topic_configs(storage: Storage, given: Mapping[str, str | None], version: str) -> list[Described]:
    """All settings of a topic to which these were given."""
    everywhere = storage.config(BROKER_CONFIG, "")
    found = []
    for name, default, kind, broker_name, _ in _as_described(TOPIC_CONFIG, version):
        synonyms = []
        if given.get(name) is not None:
            synonyms.append(Synonym(name, given[name], OF_TOPIC))
        if broker_name in everywhere:
            synonyms.append(Synonym(broker_name, everywhere[broker_name], OF_ALL_BROKERS))
        if broker_name:
            synonyms.append(Synonym(broker_name, default, DEFAULT))
        value, source = (synonyms[0].value, synonyms[0].source) if synonyms else (default, DEFAULT)
        found.append(Described(name, value, source, TYPES.index(kind), tuple(synonyms)))
    return found


def group_configs(storage: Storage, group: str, broker: Mapping[str, str], version: Version) -> list[Described]:
    """All settings of a group; where it has none of its own, those of the broker (names and values)."""
    given = storage.config(GROUP_CONFIG, group)
    found = []
    for name, default, kind, broker_name, _ in _as_described(GROUP_CONFIG, version.name):
        synonyms = [Synonym(name, given[name], OF_GROUP)] if name in given else []
        value = broker.get(broker_name, default)
        if not version.group_settings_have_synonyms:
            synonyms = synonyms or [Synonym(name, value, DEFAULT)]
        else:
            if value != default:
                synonyms.append(Synonym(broker_name, value, STATIC))
            synonyms.append(Synonym(broker_name, default, DEFAULT))
        found.append(Described(name, synonyms[0].value, synonyms[0].source, TYPES.index(kind), tuple(synonyms)))
    return found


def client_metrics_configs(given: Mapping[str, str]) -> list[Described]:
    """Which metrics clients should send, and how often."""
    found = []
    for name, default, kind, *_ in CLIENT_METRICS_CONFIGS:
        synonyms = (Synonym(name, given[name], OF_CLIENTS),) if name in given else ()
        source = OF_CLIENTS if name in given else DEFAULT
        found.append(Described(name, given.get(name, default), source, TYPES.index(kind), synonyms))
    return found


def broker_values(*records: ServerSettings | BrokerSettings) -> dict[str, str]:
    """Settings records whose fields are named as Kafka names them, as names and texts."""
    known = broker_configs(VERSIONS.newest.name)
    found = {}
    for record in records:
        for field in fields(record):
            name = field.name.replace("_", ".")
            if name in known:
                value = getattr(record, field.name)
                found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def broker_described(storage: Storage, broker: str, own: Mapping[str, str], version: str) -> list[Described]:
    """All settings of a broker of this id (empty: those given to all); ``own``: what it was started with."""
    of_one, of_all = storage.config(BROKER_CONFIG, broker), storage.config(BROKER_CONFIG, "")
    found = []
    for name, config in broker_configs(version).items():
        synonyms = []
        if broker and name in of_one:
            synonyms.append(Synonym(name, of_one[name], OF_BROKER))
        if name in of_all:
            synonyms.append(Synonym(name, of_all[name], OF_ALL_BROKERS))
        if broker and own.get(name, config.default) != config.default:
            synonyms.append(Synonym(name, own[name], STATIC))
        if broker and config.default is not None:
            synonyms.append(Synonym(name, config.default, DEFAULT))
        if not broker and not synonyms:
            continue
        value, source = (synonyms[0].value, synonyms[0].source) if synonyms else (None, DEFAULT)
        if config.is_sensitive:
            value, synonyms = None, []
        kind = TYPES.index(config.type)
        found.append(Described(name, value, source, kind, tuple(synonyms), not config.is_dynamic, config.is_sensitive))
    for name in sorted({**of_all, **(of_one if broker else {})}):
        if name not in broker_configs(version):  # a broker takes any, and shows no value of what it does not know
            sources = [OF_BROKER] * (bool(broker) and name in of_one) + [OF_ALL_BROKERS] * (name in of_all)
            synonyms = [Synonym(name, None, source) for source in sources]
            found.append(Described(name, None, sources[0], 0, tuple(synonyms), True, True))
    return found


def named(configs: Iterable[Described], names: Iterable[str] | None) -> list[Described]:
    """Those of these names; all where there are none."""
    wanted = frozenset(names or ())
    return [config for config in configs if not wanted or config.name in wanted]
