"""Which client library a member of a Kafka group uses, and what such a library can: what is known of each is one line.

Only client ids tell it, and only those that a library uses if it is given none. Who chose a client id tells nothing.
"""

import re
from typing import NamedTuple

from compare.catalogues import CLASSIC


class Library(NamedTuple):
    """A client library other than Java's."""

    name: str
    client_id: re.Pattern[str]
    """Matches the whole client id that it uses if it is given none."""
    assignors: tuple[str, ...] = ("range", "roundrobin", "sticky")
    """Those of the classic protocol that it brings along."""
    assignor_option: str = ""
    """What it calls the setting of the assignors; empty: as Java's client."""
    consumer_protocol: str = ""
    """What of it the consumer protocol (KIP-848) needs, for sentences; empty: it does not speak it so far."""


LIBRARIES = (
    Library(
        "librdkafka",
        re.compile(r"rdkafka"),
        ("range", "roundrobin", "cooperative-sticky"),
        consumer_protocol="librdkafka 2.12 or later",
    ),
    Library(
        "kafka-python or aiokafka",
        re.compile(r"(kafka-python|aiokafka)-[0-9].*"),
        assignor_option="partition_assignment_strategy, a list of classes",
    ),
    Library("Sarama", re.compile(r"sarama"), assignor_option="Consumer.Group.Rebalance.GroupStrategies"),
    Library("KafkaJS", re.compile(r"kafkajs"), ("roundrobin",), assignor_option="partitionAssigners"),
    Library(
        "franz-go",
        re.compile(r"kgo"),
        ("range", "roundrobin", "sticky", "cooperative-sticky"),
        assignor_option="kgo.Balancers",
        consumer_protocol="franz-go 1.22 or later whose program opts in",
    ),
)
"""As of November 2026."""

_BY_NAME = {library.name: library for library in LIBRARIES}


def library_of(client_id: str) -> str:
    """The client library other than Java's that a client id gives away; empty where it tells nothing."""
    return next((library.name for library in LIBRARIES if library.client_id.fullmatch(client_id)), "")


def is_javas(client_id: str, group: str, instance_id: str | None) -> bool:
    """Whether Java's consumer uses this client id if it is given none."""
    ends = r"[0-9]+" if instance_id is None else rf"(?:[0-9]+|{re.escape(instance_id)})"
    return re.fullmatch(rf"consumer-{re.escape(group)}-{ends}", client_id) is not None


def assignors_of(library: str) -> tuple[str, ...]:
    """The assignors of the classic protocol that a client library brings along; empty stands for Java's."""
    return _BY_NAME[library].assignors if library else CLASSIC


def assignor_option_of(library: str) -> str:
    """What a client library calls its setting of the assignors; empty where it has the name that Java's client has."""
    return _BY_NAME[library].assignor_option


def consumer_protocol_of(library: str) -> str:
    """What of a client library the consumer protocol needs, for sentences; empty: the library does not speak it."""
    return _BY_NAME[library].consumer_protocol
