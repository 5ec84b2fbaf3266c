"""Settings of a broker that its group coordinator reads, with the defaults of Kafka 4.1.0 (spec 2.14).

In Kafka `GroupCoordinatorConfig`.

Settings that a single group of the consumer protocol may have, beside those of the broker (spec 3.3, 6.10).

In Kafka `GroupConfig`, set with ``kafka-configs --entity-type groups``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Final

from kafka_coordinator.assignors.uniform import SERVER_ASSIGNORS
from kafka_coordinator.versions import DEFAULT, Version
from protocols.errors import UserError
from protocols.load import changed

_OWN = {"own": True}
MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """A field's name is Kafka's own with ``_`` for ``.``; times are milliseconds where the name does not say so.

    Fields marked ``own`` are none of Kafka's settings, but fixed in its code or left open by it.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = MOST
    """Members of one group, at least 1."""
    offsets_topic_num_partitions: int = 50
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    offsets_commit_timeout_ms: int = 5_000
    """A commit that is not replicated within so long has failed."""
    message_max_bytes: int = 1_048_588
    """Of a batch in ``__consumer_offsets``."""
    offset_metadata_max_bytes: int = 4_096
    """Compared with the number of characters."""
    group_coordinator_rebalance_protocols: str = "classic,consumer"
    """Protocols of groups that the broker speaks."""
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_min_heartbeat_interval_ms: int = 5_000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_assignment_interval_ms: int = 1_000
    """How long after a new target a group waits for the next one, in versions that let it wait."""
    group_consumer_min_assignment_interval_ms: int = 0
    group_consumer_max_assignment_interval_ms: int = 15_000
    group_consumer_max_size: int = MOST
    """Members of one group of the consumer protocol, at least 1."""
    group_consumer_assignors: str = "uniform,range"
    """Server-side assignors; the first is used where no member asks for one."""
    group_consumer_migration_policy: str = "bidirectional"
    """Whether groups with members may change to the consumer protocol (``upgrade``), back (``downgrade``), both
    (``bidirectional``) or neither (``disabled``)."""
    group_consumer_regex_refresh_interval_ms: int = 600_000
    """When patterns are resolved anew though no topic has been created."""
    group_share_session_timeout_ms: int = 45_000
    group_share_min_session_timeout_ms: int = 45_000
    group_share_max_session_timeout_ms: int = 60_000
    group_share_heartbeat_interval_ms: int = 5_000
    group_share_min_heartbeat_interval_ms: int = 5_000
    group_share_max_heartbeat_interval_ms: int = 15_000
    group_share_assignment_interval_ms: int = 1_000
    group_share_min_assignment_interval_ms: int = 0
    group_share_max_assignment_interval_ms: int = 15_000
    group_share_max_size: int = 200
    """Members of one share group, at least 1."""
    group_share_initialize_retry_interval_ms: int = 30_000
    """When the persister is asked again that has not answered; before 4.2 twice ``offsets.commit.timeout.ms``."""
    log_cleaner_min_cleanable_ratio: float = 0.5
    """Share of outdated records from which on a log is compacted, 0 to 1."""
    new_member_join_timeout_ms: int = field(default=300_000, metadata=_OWN)
    """How long a new member may wait for its first join to complete; fixed in Kafka's code."""
    log_cleaner_least_records: int = field(default=256, metadata=_OWN)
    """Shorter logs are not compacted; Kafka never compacts its newest segment, which has no counterpart here."""
    load_ms: int = field(default=100, metadata=_OWN)
    """How long a broker takes to read a log that is not empty when it becomes the coordinator of its groups."""

    regex_batch_refresh_min_interval_ms: int = field(default=10_000, metadata=_OWN)
    """Patterns of a group are not resolved again before; fixed in Kafka's code."""
    resolve_regex_ms: int = field(default=0, metadata=_OWN)
    """How long a broker takes to match all topics against the patterns of a group."""
    version: Version = field(default=DEFAULT, metadata=_OWN)
    """Of the broker: which rules hold."""

    @property
    def assignors(self) -> tuple[str, ...]:
        """Names of the server-side assignors, the default first."""
        return tuple(name.strip() for name in self.group_consumer_assignors.split(","))

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000


NAMES: Mapping[str, str] = {
    field.name.replace("_", "."): field.name for field in fields(BrokerSettings) if not field.metadata
}
"""Kafka's name of a setting to the field."""

_LEAST = {
    "group_max_size": 1,
    "offsets_topic_num_partitions": 1,
    "offsets_retention_check_interval_ms": 1,
    "offsets_commit_timeout_ms": 1,
    "group_consumer_max_size": 1,
    "group_consumer_session_timeout_ms": 1,
    "group_consumer_heartbeat_interval_ms": 1,
    "group_consumer_regex_refresh_interval_ms": 1,
    "group_share_session_timeout_ms": 1,
    "group_share_heartbeat_interval_ms": 1,
    "group_share_max_size": 1,
    "group_share_initialize_retry_interval_ms": 1,
}
POLICIES = ("bidirectional", "upgrade", "downgrade", "disabled")
_LISTS: Mapping[str, Iterable[str]] = {
    "group.consumer.assignors": SERVER_ASSIGNORS,
    "group.coordinator.rebalance.protocols": ("classic", "consumer"),
}
_ORDERED = (
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
    *(
        pair
        for kind in ("consumer", "share")
        for what in ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")
        for pair in pairwise((f"group.{kind}.min.{what}", f"group.{kind}.{what}", f"group.{kind}.max.{what}"))
    ),
)
"""Of each two settings the first must not exceed the second."""


def with_settings(base: BrokerSettings, given: Mapping[str, object], where: str) -> BrokerSettings:
    """The settings changed by what is given under Kafka's names; `UserError` names ``where`` for what cannot be."""
    changes: dict[str, object] = {}
    for name, value in given.items():
        if name not in NAMES:
            raise UserError(f"{where}: unknown setting {name!r} of a Kafka broker, expected one of {', '.join(NAMES)}")
        changes[NAMES[name]] = _checked(name, value, where)
    settings = changed(base, changes)
    _check_order(settings, where)
    return settings


def _check_order(settings: BrokerSettings, where: str) -> None:
    for low, high in _ORDERED:
        least, most = getattr(settings, NAMES[low]), getattr(settings, NAMES[high])
        if least > most:
            raise UserError(f"{where}: {low} is {least}, expected at most {high}, which is {most}")
    for kind in ("consumer", "share"):
        names = f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
        interval, session = (getattr(settings, NAMES[name]) for name in names)
        if interval >= session:
            raise UserError(f"{where}: {names[0]} is {interval}, expected less than {names[1]}, which is {session}")


def _checked(name: str, value: object, where: str) -> object:
    if name == "log.cleaner.min.cleanable.ratio":
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        raise UserError(f"{where}: setting {name}: {value!r}, expected a number from 0 to 1")
    if name in _LISTS:
        return _checked_list(name, value, where)
    if name == "group.consumer.migration.policy":
        if isinstance(value, str) and value.lower() in POLICIES:
            return value.lower()
        raise UserError(f"{where}: setting {name}: {value!r}, expected one of {', '.join(POLICIES)}")
    least = _LEAST.get(NAMES[name], 0)
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST:
        return value
    raise UserError(f"{where}: setting {name}: {value!r}, expected a whole number from {least} to {MOST}")


def _checked_list(name: str, value: object, where: str) -> str:
    allowed = _LISTS[name]
    named = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    if named and len(set(named)) == len(named) and set(named) <= set(allowed):
        return ",".join(named)
    raise UserError(
        f"{where}: setting {name}: {value!r}, expected names out of {', '.join(allowed)}, with commas between"
    )


SESSION_TIMEOUT: Final = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL: Final = "consumer.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL: Final = "consumer.assignment.interval.ms"
SHARE_SESSION_TIMEOUT: Final = "share.session.timeout.ms"
SHARE_HEARTBEAT_INTERVAL: Final = "share.heartbeat.interval.ms"
SHARE_ASSIGNMENT_INTERVAL: Final = "share.assignment.interval.ms"

DEFAULTS: Final[Mapping[str, int]] = {
    name: getattr(BrokerSettings(), NAMES[f"group.{name}"])
    for name in (
        SESSION_TIMEOUT,
        HEARTBEAT_INTERVAL,
        ASSIGNMENT_INTERVAL,
        SHARE_SESSION_TIMEOUT,
        SHARE_HEARTBEAT_INTERVAL,
        SHARE_ASSIGNMENT_INTERVAL,
    )
}
"""Name of a setting to what Kafka 4.1.0 takes it for where it checks settings that leave it out: Kafka's own default,
also where the broker has another one. In use, the broker's counts."""


def checked(given: Mapping[str, object], broker: BrokerSettings, where: str) -> dict[str, int]:
    """The settings of one group, all that it has, if the broker takes them; else `UserError`, which names ``where``."""
    found: dict[str, int] = {}
    for name, value in given.items():
        if name not in DEFAULTS:
            raise UserError(f"{where}: unknown setting {name!r} of a group, expected one of {', '.join(DEFAULTS)}")
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST:
            raise UserError(f"{where}: setting {name}: {value!r}, expected a whole number from 1 to {MOST}")
        found[name] = value
    if found:
        _check_bounds(found, broker, where)
    return found


def _check_bounds(found: Mapping[str, int], broker: BrokerSettings, where: str) -> None:
    for interval, session in ((HEARTBEAT_INTERVAL, SESSION_TIMEOUT), (SHARE_HEARTBEAT_INTERVAL, SHARE_SESSION_TIMEOUT)):
        for name in (interval, session):
            value = found.get(name, DEFAULTS[name])
            kind, _, rest = name.partition(".")
            said = f"{name} is {value}" + ("" if name in found else " by default")
            for words, bound, is_kept in (("least", "min", int.__ge__), ("most", "max", int.__le__)):
                limit_name = f"group.{kind}.{bound}.{rest}"
                limit = getattr(broker, NAMES[limit_name])
                if not is_kept(value, limit):
                    raise UserError(f"{where}: {said}, expected at {words} {limit_name}, which is {limit}")
        least, most = (found.get(name, DEFAULTS[name]) for name in (interval, session))
        if most <= least:
            raise UserError(f"{where}: {session} is {most}, expected more than {interval}, which is {least}")
