"""Client libraries of Kafka: which one a client id hints at, and what each of them can.

No tool shows which library a member uses. A client id is a setting that anybody may choose; the one that a library
takes if it is given none is a hint, and nothing more. What is said here of confluent-kafka (librdkafka), kafka-python
and aiokafka is tried on these packages by `tests/compare/planning/test_client_libraries.py`.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from compare.catalogues import CLASSIC_CLASSES, UNRELEASED

ASSIGNORS, PROTOCOL, REMOTE = "partition.assignment.strategy", "group.protocol", "group.remote.assignor"
INSTANCE, RESET = "group.instance.id", "auto.offset.reset"
SESSION, HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"
_PACKAGE = "org.apache.kafka.clients.consumer."
_AS_IN_JAVA = {each: each for each in (ASSIGNORS, PROTOCOL, REMOTE, INSTANCE, RESET, SESSION, HEARTBEAT)}


class Library(NamedTuple):
    """``name``: in sentences, with whatever else is built on it. ``default_id``: matches the whole client id that it
    takes if it is given none (Java's holds the group's id: `hinted_library`). ``assignors``: those of the
    classic protocol that it brings along, to what its setting calls them. ``options``: a setting's name in Java's
    client to its own; what is missing there it lacks, or nobody knows its name. ``known_at``: the version of which all
    this is known."""

    key: str
    name: str
    default_id: re.Pattern[str]
    assignors: Mapping[str, str]
    options: Mapping[str, str]
    known_at: str
    list_form: str = "{}"
    """How its setting takes several assignors."""
    joined: str = ", "
    mixes: bool = False
    """Whether it takes eager and cooperative assignors in one list, which a change without a stop needs."""
    consumer_protocol: str = ""
    """What of it the consumer protocol (KIP-848) needs, for sentences; empty: it does not speak it so far."""
    resets: tuple[str, str] = ("earliest", "latest")
    """What it calls the two values of auto.offset.reset."""
    own_assignor: str = ""
    """How its setting would call an assignor `load-aware` of somebody's own; empty: it takes none."""

    def assignor(self, name: str) -> str | None:
        """What its setting calls an assignor; None: it has none of this name, and takes none."""
        return self.own_assignor or None if name in UNRELEASED else self.assignors.get(name)


_OF_PYTHON = {
    ASSIGNORS: "partition_assignment_strategy",
    INSTANCE: "group_instance_id",
    RESET: "auto_offset_reset",
    SESSION: "session_timeout_ms",
    HEARTBEAT: "heartbeat_interval_ms",
}
_PYTHON_CLASSES = {
    "range": "RangePartitionAssignor",
    "roundrobin": "RoundRobinPartitionAssignor",
    "sticky": "StickyPartitionAssignor",
}

LIBRARIES = {
    each.key: each
    for each in (
        Library(
            "java",
            "Java's client",
            re.compile(r"(?!)"),
            {name: _PACKAGE + java for name, java in CLASSIC_CLASSES.items()},
            _AS_IN_JAVA,
            "4.4.0",
            joined=",",
            mixes=True,
            consumer_protocol="Java's client 4.0 or later",
            own_assignor="YOUR_PACKAGE.LoadAwareAssignor",
        ),
        Library(
            "librdkafka",
            "librdkafka (confluent-kafka, node-rdkafka, rust-rdkafka)",
            re.compile(r"rdkafka"),
            {name: name for name in ("range", "roundrobin", "cooperative-sticky")},
            _AS_IN_JAVA,
            "2.16.0",
            joined=",",
            consumer_protocol="librdkafka 2.12 or later",
        ),
        Library(
            "kafka-python",
            "kafka-python",
            re.compile(r"kafka-python-[0-9].*"),
            {**_PYTHON_CLASSES, "cooperative-sticky": "CooperativeStickyAssignor"},
            _OF_PYTHON,
            "3.0.12",
            "[{}]",
            own_assignor="LoadAwareAssignor",
        ),
        Library(
            "aiokafka",
            "aiokafka",
            re.compile(r"aiokafka-[0-9].*"),
            _PYTHON_CLASSES,
            _OF_PYTHON,
            "0.14.0",
            "[{}]",
            own_assignor="LoadAwareAssignor",
        ),
        Library(
            "sarama",
            "Sarama",
            re.compile(r"sarama"),
            {
                "range": "NewBalanceStrategyRange()",
                "roundrobin": "NewBalanceStrategyRoundRobin()",
                "sticky": "NewBalanceStrategySticky()",
            },
            {
                ASSIGNORS: "Consumer.Group.Rebalance.GroupStrategies",
                INSTANCE: "Consumer.Group.InstanceId",
                RESET: "Consumer.Offsets.Initial",
            },
            "1.61.1",
            "{{{}}}",
            resets=("OffsetOldest", "OffsetNewest"),
            own_assignor="LoadAwareStrategy",
        ),
        Library(
            "kafkajs",
            "KafkaJS",
            re.compile(r"kafkajs"),
            {},
            {ASSIGNORS: "partitionAssigners", RESET: "fromBeginning (of subscribe)"},
            "2.2.4",
            "[{}]",
            resets=("true", "false"),
            own_assignor="LoadAwareAssigner",
        ),
        Library(
            "franz-go",
            "franz-go",
            re.compile(r"kgo"),
            {
                "range": "RangeBalancer()",
                "roundrobin": "RoundRobinBalancer()",
                "sticky": "StickyBalancer()",
                "cooperative-sticky": "CooperativeStickyBalancer()",
            },
            {
                ASSIGNORS: "kgo.Balancers",
                INSTANCE: "kgo.InstanceID",
                RESET: "kgo.ConsumeResetOffset",
                PROTOCOL: "opt-in to the consumer protocol (its documentation says how)",
                REMOTE: "balancer of the server (its documentation says how)",
            },
            "1.22.2",
            mixes=True,
            consumer_protocol="franz-go 1.22 or later whose program opts in",
            resets=("NewOffset().AtStart()", "NewOffset().AtEnd()"),
            own_assignor="LoadAwareBalancer()",
        ),
    )
}
"""By key, as of November 2026."""


def hinted_library(client_id: str, group: str, instance_id: str | None) -> str:
    """The key of the library that takes this client id if it is given none; empty where it hints at nothing."""
    if client_id.startswith(javas := f"consumer-{group}-"):
        end = client_id.removeprefix(javas)
        return "java" if end == instance_id or (end.isascii() and end.isdecimal()) else ""
    return next((key for key, each in LIBRARIES.items() if each.default_id.fullmatch(client_id)), "")


def spelled(library: Library, settings: Mapping[str, object]) -> dict[str, object] | None:
    """Settings under Java's names, assignors as names with commas between them, as this library has them; None: it
    lacks one of them, or nobody knows how it is called. None as a value: the setting is removed."""
    found: dict[str, object] = {}
    for name, value in settings.items():
        if value is None and name not in library.options:
            continue
        if name not in library.options or not _has(library, name, value):
            return None
        found[library.options[name]] = _value(library, name, value)
    return found


def _has(library: Library, name: str, value: object) -> bool:
    return value is None or name != ASSIGNORS or all(map(library.assignor, str(value).split(",")))


def _value(library: Library, name: str, value: object) -> object:
    if value is None or name not in (ASSIGNORS, RESET):
        return value
    if name == RESET:
        return library.resets[value == "latest"]
    named = [library.assignor(each) or each for each in str(value).split(",")]
    return library.list_form.format(library.joined.join(named))
