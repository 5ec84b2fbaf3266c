"""Settings of a broker that its group coordinator reads, with the defaults of Kafka 4.1.0 (spec 2.14).

In Kafka `GroupCoordinatorConfig`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from protocols.errors import UserError

_OWN = {"own": True}
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """A field's name is Kafka's own with ``_`` for ``.``; times are milliseconds where the name does not say so.

    Fields marked ``own`` are none of Kafka's settings, but fixed in its code or left open by it.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = _MOST
    """Members of one group, at least 1."""
    offsets_topic_num_partitions: int = 50
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    offset_metadata_max_bytes: int = 4_096
    """Compared with the number of characters."""
    log_cleaner_min_cleanable_ratio: float = 0.5
    """Share of outdated records from which on a log is compacted, 0 to 1."""
    new_member_join_timeout_ms: int = field(default=300_000, metadata=_OWN)
    """How long a new member may wait for its first join to complete; fixed in Kafka's code."""
    log_cleaner_least_records: int = field(default=256, metadata=_OWN)
    """Shorter logs are not compacted; Kafka never compacts its newest segment, which has no counterpart here."""
    load_ms: int = field(default=100, metadata=_OWN)
    """How long a broker takes to read a log that is not empty when it becomes the coordinator of its groups."""

    @property
    def offsets_retention_ms(self) -> int:
        """How long an offset is kept."""
        return self.offsets_retention_minutes * 60_000


NAMES: Mapping[str, str] = {
    each.name.replace("_", "."): each.name for each in fields(BrokerSettings) if not each.metadata
}
"""Kafka's name of a setting to the field."""

_LEAST = {"group_max_size": 1, "offsets_topic_num_partitions": 1, "offsets_retention_check_interval_ms": 1}


def with_settings(base: BrokerSettings, given: Mapping[str, object], where: str) -> BrokerSettings:
    """The settings changed by what is given under Kafka's names; `UserError` names ``where`` for what cannot be."""
    changes: dict[str, Any] = {}
    for name, value in given.items():
        if name not in NAMES:
            raise UserError(f"{where}: unknown setting {name!r} of a Kafka broker, expected one of {', '.join(NAMES)}")
        changes[NAMES[name]] = _checked(name, value, where)
    settings = replace(base, **changes)
    if settings.group_min_session_timeout_ms > settings.group_max_session_timeout_ms:
        raise UserError(
            f"{where}: group.min.session.timeout.ms is {settings.group_min_session_timeout_ms}, expected at most "
            f"group.max.session.timeout.ms, which is {settings.group_max_session_timeout_ms}"
        )
    return settings


def _checked(name: str, value: object, where: str) -> object:
    if name == "log.cleaner.min.cleanable.ratio":
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        raise UserError(f"{where}: setting {name}: {value!r}, expected a number from 0 to 1")
    least = _LEAST.get(NAMES[name], 0)
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST:
        return value
    raise UserError(f"{where}: setting {name}: {value!r}, expected a whole number from {least} to {_MOST}")
