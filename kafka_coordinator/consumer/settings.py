"""A consumer's settings under Kafka's own names, with Kafka's defaults (spec 4.1).

In Kafka `ConsumerConfig`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Final

from kafka_coordinator.catalogue import CATALOGUE, CLASSIC, CONSUMER, of_protocol
from protocols.errors import UserError
from protocols.quick_records import changed

EAGER, COOPERATIVE = "EAGER", "COOPERATIVE"

COOPERATIVE_ASSIGNORS: Final = frozenset(record.name for record in CATALOGUE if record.implementation.cooperative)
"""Those that support the cooperative protocol; every assignor supports the eager one."""


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Times are milliseconds. `of` makes one from Kafka's names; each field's name is Kafka's with ``_`` for ``.``."""

    group_protocol: str = CLASSIC
    """``classic`` or ``consumer`` (KIP-848)."""
    group_remote_assignor: str | None = None
    """Under the consumer protocol the coordinator's assignor that the member asks for; None: its default."""
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    """Also the rebalance timeout that a JoinGroup asks for, unless the next one says another."""
    rebalance_timeout_ms: int = 0
    """How long a rebalance waits for this member; 0: ``max.poll.interval.ms``, as in Kafka's own consumer. A client
    that rejoins in a task of its own (aiokafka) names it apart."""
    max_poll_records: int = 500
    partition_assignment_strategy: tuple[str, ...] = ("range", "cooperative-sticky")
    """In order of preference."""
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    auto_offset_reset: str = "earliest"
    """Kafka's own default is ``latest``; a scenario shows more where nothing that was produced is skipped."""
    metadata_max_age_ms: int = 300_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int = 60_000
    """How long a synchronous commit of the user's is tried again."""
    close_timeout_ms: int = 30_000
    """How long the user lets close() take; an argument of it in Kafka, not a setting."""
    join_extra_ms: int = 5_000
    """A JoinGroup waits for its answer this much longer than ``max.poll.interval.ms``; fixed in Kafka."""

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "ConsumerSettings":
        """From Kafka's names (`NAMES`). Raises `UserError` for an unknown name or a value that cannot be."""
        made: dict[str, object] = {}
        _check_protocol(given)
        for name, value in given.items():
            if name not in NAMES:
                raise UserError(f"unknown consumer setting {name!r}, expected one of {', '.join(sorted(NAMES))}")
            made[NAMES[name]] = _checked(name, value)
        settings = changed(cls(), made)
        if settings.heartbeat_interval_ms >= settings.session_timeout_ms:
            raise UserError(
                f"heartbeat.interval.ms is {settings.heartbeat_interval_ms},"
                f" expected less than session.timeout.ms ({settings.session_timeout_ms})"
            )
        return settings

    @property
    def rebalance_within_ms(self) -> int:
        """The rebalance timeout of a JoinGroup."""
        return self.rebalance_timeout_ms or self.max_poll_interval_ms

    @property
    def is_classic(self) -> bool:
        """Whether the member uses the classic protocol."""
        return self.group_protocol == CLASSIC

    @property
    def rebalance_protocol(self) -> str:
        """The most advanced protocol that all configured assignors support; the consumer protocol is cooperative."""
        if not self.is_classic:
            return COOPERATIVE
        return COOPERATIVE if set(self.partition_assignment_strategy) <= COOPERATIVE_ASSIGNORS else EAGER

    def backoff(self, failures: int) -> float:
        """Milliseconds to wait after this many failures in a row, counted from 0."""
        return float(min(self.retry_backoff_max_ms, self.retry_backoff_ms << min(failures, 30)))

    def reconnect_backoff(self, failures: int) -> float:
        """Milliseconds to wait before a broker is connected to again, whose connection was lost so often in a row."""
        return float(min(self.reconnect_backoff_max_ms, self.reconnect_backoff_ms << min(failures - 1, 30)))


_FIXED = {"join_extra_ms", "close_timeout_ms"}

NAMES: Final[Mapping[str, str]] = {
    field.name.replace("_", "."): field.name for field in fields(ConsumerSettings) if field.name not in _FIXED
}
"""Kafka's name of a setting to its field."""

_JAVA_NAMES: Final[Mapping[str, str]] = {record.java_class: record.name for record in of_protocol(CLASSIC)}
"""Simple names of Kafka's own assignor classes."""

_MAY_BE_ZERO = frozenset(
    {
        "auto.commit.interval.ms",
        "rebalance.timeout.ms",
        "metadata.max.age.ms",
        "retry.backoff.ms",
        "retry.backoff.max.ms",
        "reconnect.backoff.ms",
        "reconnect.backoff.max.ms",
    }
)
_OFFSET_RESETS = ("earliest", "latest")


def assignor_names(given: object) -> tuple[str, ...]:
    """Assignors as people write them: one name, several with commas, or a list; short names or Kafka's classes."""
    listed = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, Iterable):
        raise UserError(f"partition.assignment.strategy is {given!r}, expected names of assignors")
    names = [str(each).strip() for each in listed]
    found = tuple(dict.fromkeys(_JAVA_NAMES.get(name.rpartition(".")[2], name) for name in names if name))
    if not found:
        raise UserError("partition.assignment.strategy is empty, expected at least one assignor")
    return found


GROUP_PROTOCOL: Final = "group.protocol"
PROTOCOLS: Final = (CLASSIC, CONSUMER)

REFUSED_UNDER: Final[Mapping[str, tuple[str, ...]]] = {
    CLASSIC: ("group.remote.assignor",),
    CONSUMER: ("partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"),
}
"""Group protocol to the settings that a client refuses together with it."""


def _check_protocol(given: Mapping[str, object]) -> None:
    """Raises `UserError` for settings that Kafka's client refuses together, in its words."""
    protocol = protocol_of(given)
    refused = [name for name in REFUSED_UNDER[protocol] if given.get(name) not in (None, "")]
    if refused:
        raise UserError(f"{', '.join(refused)} cannot be set when {GROUP_PROTOCOL}={protocol.upper()}")


def protocol_of(given: Mapping[str, object]) -> str:
    """The group protocol of these settings. Raises `UserError` for one that Kafka does not have."""
    protocol = str(given.get(GROUP_PROTOCOL, CLASSIC)).strip().lower()
    if protocol not in PROTOCOLS:
        raise UserError(f"{GROUP_PROTOCOL} is {given[GROUP_PROTOCOL]!r}, expected one of {', '.join(PROTOCOLS)}")
    return protocol


def _checked(name: str, value: object) -> object:
    if name == GROUP_PROTOCOL:
        return str(value).strip().lower()
    if name == "group.remote.assignor":
        return str(value).strip() or None
    if name == "partition.assignment.strategy":
        return assignor_names(value)
    if name == "enable.auto.commit":
        return _boolean(name, value)
    if name == "auto.offset.reset":
        if value not in _OFFSET_RESETS:
            raise UserError(f"auto.offset.reset is {value!r}, expected one of {', '.join(_OFFSET_RESETS)}")
        return value
    return whole_number(name, value, 0 if name in _MAY_BE_ZERO else 1)


def _boolean(name: str, value: object) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise UserError(f"{name} is {value!r}, expected true or false")
    return text == "true"


def whole_number(name: str, value: object, least: int) -> int:
    """A setting's value as a whole number, also where it is written as a text, as Kafka's properties are."""
    number = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        number = int(value)
    if number is None or number < least:
        raise UserError(f"{name} is {value!r}, expected a whole number, at least {least}")
    return number
