"""What the settings of topics, groups and brokers are, and where each comes from.

In Kafka `ConfigHelper`, `LogConfig`, `DynamicBrokerConfig`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Final, NamedTuple

from kafka_coordinator.coordinator.settings import BrokerSettings
from kafka_coordinator.wire.config_values import GROUP_CONFIGS, broker_configs
from kafka_coordinator.wire.records.settings import TOPIC_CONFIGS, TYPES
from kafka_coordinator.wire.records.storage import BROKER_CONFIG, GROUP_CONFIG, Storage
from kafka_coordinator.wire.state import ServerSettings

OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, STATIC, DEFAULT, OF_GROUP = 1, 2, 3, 4, 5, 8
"""Where a value comes from, as on the wire."""

_STATIC_BROKER: Final = ("node.id", "broker.id", "listeners", "advertised.listeners")


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


def topic_configs(storage: Storage, given: Mapping[str, str | None]) -> list[Described]:
    """All settings of a topic to which these were given."""
    everywhere = storage.config(BROKER_CONFIG, "")
    found = []
    for name, default, kind, broker_name in TOPIC_CONFIGS:
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


def group_configs(storage: Storage, group: str, broker: Mapping[str, str]) -> list[Described]:
    """All settings of a group; where it has none of its own, those of the broker (names and values)."""
    given = storage.config(GROUP_CONFIG, group)
    found = []
    for name, default, kind, _ in GROUP_CONFIGS:
        value, source = broker.get(f"group.{name}", default), DEFAULT
        if name in given:
            value, source = given[name], OF_GROUP
        found.append(Described(name, value, source, TYPES.index(kind), (Synonym(name, value, source),)))
    return found


def broker_values(*records: ServerSettings | BrokerSettings) -> dict[str, str]:
    """Settings records whose fields are named as Kafka names them, as names and texts."""
    known = broker_configs()
    found = {}
    for record in records:
        for field in fields(record):
            name = field.name.replace("_", ".")
            if name in known:
                value = getattr(record, field.name)
                found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def broker_described(storage: Storage, broker: str, own: Mapping[str, str]) -> list[Described]:
    """All settings of a broker of this id (empty: those given to all); ``own``: what it was started with."""
    of_one, of_all = storage.config(BROKER_CONFIG, broker), storage.config(BROKER_CONFIG, "")
    found = []
    for name, config in broker_configs().items():
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
    return found + [
        Described(name, None, OF_BROKER if broker and name in of_one else OF_ALL_BROKERS, 0, (), True, True)
        for name in sorted({**of_all, **(of_one if broker else {})})
        if name not in broker_configs()  # a broker takes any, and shows no value of what it does not know
    ]


def named(configs: Iterable[Described], names: Iterable[str] | None) -> list[Described]:
    """Those of these names; all where there are none."""
    wanted = frozenset(names or ())
    return [config for config in configs if not wanted or config.name in wanted]
