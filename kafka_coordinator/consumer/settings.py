"""A consumer's settings under Kafka's own names, with Kafka's defaults (spec 4.1).

In Kafka `ConsumerConfig`.

What a consumer is started with: its identity, its subscription and its bootstrap brokers.

In Kafka `ConsumerConfig` and the arguments of `subscribe`; the load stands for the producers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.catalogue import CATALOGUE, CLASSIC, CONSUMER, OWN, of_protocol
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.load import PoisonRecords, Production, changed
from protocols.load_aware import checked_rates

EAGER, COOPERATIVE = "EAGER", "COOPERATIVE"

COOPERATIVE_ASSIGNORS: Final = frozenset(
    record.name for record in (*CATALOGUE, *OWN) if record.implementation.cooperative
)
"""Those that support the cooperative protocol; every assignor supports the eager one."""


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Times are milliseconds. `of` makes one from Kafka's names; each field's name is Kafka's with ``_`` for ``.``."""

    shares: ClassVar[bool] = False
    """Whether it is a share consumer's (`kafka_coordinator.consumer.share.settings`)."""

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
    load_aware_rates: Mapping[str, float] = field(default_factory=dict, hash=False)
    """A setting of our own assignor `load-aware`, not of Kafka's: records per second of topics and partitions."""
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
    poll_timeout_ms: int = 100
    """How long the user lets poll() wait; an argument of it in Kafka, with this value in its documentation's examples.
    """
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
        return self.rebalance_timeout_ms or self.max_poll_interval_ms

    @property
    def is_classic(self) -> bool:
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


_FIXED = {"join_extra_ms", "close_timeout_ms", "poll_timeout_ms"}

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
    if name == "load.aware.rates":
        try:
            return checked_rates(value)
        except ValueError as error:
            raise UserError(f"{name}: {error}") from None
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


class Load(NamedTuple):
    """What producers write: ``per_second`` records to every partition, or as ``rates`` says, from the start of the run,
    or from ``since`` (milliseconds) on to a partition that came into being later; ``bursts``: what comes at once beside
    that; ``poison``: those among the records that the user's code cannot handle; ``held``: when nothing new of a
    partition could be read; ``pauses``: of when producers gave records up; ``leaderless``: which partitions have no
    leader now that consumers know of, so that nothing is read at all. Nothing is written to the partitions of a deleted
    topic: ``since`` is infinite there. ``changed``: since when a partition has its present rate, and how many records
    had come evenly before, where its rate has changed."""

    per_second: float = 0.0
    since: Mapping[Partition, Time] = MappingProxyType({})
    bursts: Mapping[Partition, tuple[tuple[Time, int], ...]] = MappingProxyType({})
    rates: Mapping[Partition, float] = MappingProxyType({})
    poison: PoisonRecords[Partition] = MappingProxyType({})
    pauses: Mapping[Partition, tuple[tuple[Time, Time], ...]] = MappingProxyType({})
    leaderless: frozenset[Partition] = frozenset()
    held: Mapping[Partition, tuple[tuple[Time, Time], ...]] = MappingProxyType({})
    changed: Mapping[Partition, tuple[Time, int]] = MappingProxyType({})

    @property
    def writes(self) -> bool:
        return self.per_second > 0 or bool(self.bursts) or bool(self.rates)

    @property
    def even(self) -> Production | None:
        """Of every partition; None where they differ."""
        if self.rates or self.since or self.bursts or self.held:
            return None
        return _even(self.per_second)

    def production(self, partition: Partition) -> Production:
        even = self.even
        if even is not None:
            return even
        since, before = self.changed.get(partition) or (self.since.get(partition, 0.0), 0)
        return Production(
            self.rates.get(partition, self.per_second),
            since,
            before,
            self.bursts.get(partition, ()),
            self.pauses.get(partition, ()),
            self.held.get(partition, ()),
        )


@lru_cache(maxsize=1 << 10)
def _even(per_second: float) -> Production:
    return Production(per_second)


NO_LOAD = Load()


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """One consumer. ``bootstrap``: node names of the brokers that it asks first, at least one.

    It subscribes to ``topics``, or to those whose whole name matches the regular expression ``pattern``, which it
    resolves itself, or ``broker_pattern``, which the coordinator does (consumer protocol).
    ``handle``: milliseconds that the user's code takes for one record; ``threads``: to how many threads of his own the
    user's loop hands the records of a poll. It polls again when all of them are done.
    """

    name: str
    """The member's name in the scenario: in facts, never in messages."""
    group: str
    bootstrap: tuple[str, ...]
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    broker_pattern: str | None = None
    client_id: str = ""
    instance_id: str | None = None
    rack: str | None = None
    handle: float = 0.0
    threads: int = 1
    load: Load = field(default=NO_LOAD, compare=False)
    settings: ConsumerSettings = field(default_factory=ConsumerSettings)
    poll_wait: int = 0
    """How long, under the consumer protocol, the user's thread waits for records inside poll(), at most, in
    milliseconds, before it does what the background thread asks for: the world chooses each time."""
    first_wait: int = 0
    """How long it waits before its first assignment, because its process has just started; 0: as always."""
    by_hand: bool = False
    """The user's loop is code outside of the model: see `kafka_coordinator.consumer.by_hand`."""
