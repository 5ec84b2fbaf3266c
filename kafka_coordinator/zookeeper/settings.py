"""Settings of a 0.8 consumer with the defaults of 0.8.2.2 (spec 7.3), under their own names in `NAMES`.

In Kafka 0.8 `kafka.consumer.ConsumerConfig`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NoReturn

from kafka_coordinator.zookeeper.catalogue import STRATEGIES
from protocols.errors import UserError
from protocols.load import changed


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """All times are milliseconds."""

    partition_assignment_strategy: str = "range"
    zookeeper_session_timeout_ms: int = 6000
    """How long ZooKeeper keeps a consumer's ephemeral nodes after it last heard from it."""
    zookeeper_connection_timeout_ms: int = 6000
    """How long the first connection may take, which is tried again within; then the consumer gives up for good."""
    zookeeper_sync_time_ms: int = 2000
    rebalance_max_retries: int = 4
    """Tries of one rebalance, the first one included."""
    rebalance_backoff_ms: int | None = None
    """Pause before the next try; None: `zookeeper_sync_time_ms`."""
    auto_commit_enable: bool = True
    auto_commit_interval_ms: int = 60_000
    auto_offset_reset: str = "smallest"
    """Where to begin without a stored offset: ``largest`` or ``smallest``. Kafka's own default is ``largest``; a
    scenario shows more where nothing that was produced is skipped."""
    reconnect_pause_ms: int = 1000
    """Pause between two attempts to reach ZooKeeper; its client has no setting for it (it takes up to this)."""

    @property
    def backoff_ms(self) -> int:
        """The pause that applies."""
        return self.zookeeper_sync_time_ms if self.rebalance_backoff_ms is None else self.rebalance_backoff_ms


NAMES: Mapping[str, str] = {
    field.name.replace("_", "."): field.name for field in fields(ConsumerSettings) if field.name != "reconnect_pause_ms"
}
"""Kafka's name of a setting to the field."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "partition.assignment.strategy": tuple(STRATEGIES),
    "auto.offset.reset": ("largest", "smallest"),
}


def group_settings() -> frozenset[str]:
    """Names of what a group may have as settings: none is modelled."""
    return frozenset()


def member_settings() -> frozenset[str]:
    """Names of what a single member may have as settings."""
    return frozenset(NAMES)


def with_settings(base: ConsumerSettings, given: Mapping[str, object], where: str) -> ConsumerSettings:
    """The settings changed by what is given under Kafka's names; `UserError` names ``where`` for what cannot be."""
    changes: dict[str, object] = {}
    for name, value in given.items():
        if name not in NAMES:
            raise UserError(f"{where}: unknown setting {name!r} of kafka-zookeeper, expected one of {', '.join(NAMES)}")
        changes[NAMES[name]] = _checked(name, value, where)
    return changed(base, changes)


def _checked(name: str, value: object, where: str) -> object:
    text = str(value).strip().lower()
    if name in CHOICES:
        return text if text in CHOICES[name] else _refuse(name, value, " or ".join(CHOICES[name]), where)
    if name == "auto.commit.enable":
        return text == "true" if text in ("true", "false") else _refuse(name, value, "true or false", where)
    least = 0 if name in ("rebalance.backoff.ms", "zookeeper.sync.time.ms") else 1
    if text.isdecimal() and int(text) >= least:
        return int(text)
    return _refuse(name, value, f"a whole number, at least {least}", where)


def _refuse(name: str, value: object, expected: str, where: str) -> NoReturn:
    raise UserError(f"{where}: {name} is {value!r}, expected {expected}")
