"""Which client library a member of a Kafka group uses, and what such a library can: what is known of each is one line.

Only client ids tell it, and only those that a library uses if it is given none. Who chose a client id tells nothing.

Whose group it is: advice that fits plain consumers breaks a Streams application, a connector, another protocol.

What tells, the first that holds:

| kind | told by |
|---|---|
| ksqldb | a group or client id that begins with ``_confluent-ksql-`` |
| streams | the assignor ``stream``, or a client id with ``-StreamThread-`` |
| connect | a client id that begins with ``connector-consumer-``, or a group called ``connect-...`` |
| mirrormaker | ``mirrormaker``, ``mirror-maker`` or ``mm2`` as a word of the group's or a client's name |
| consumer-protocol | the group's type, its epochs, or the form of its members' ids (KIP-848) |
| assign | a group of the type that only stores offsets: its consumers call assign() |
| plain | one of the four released assignors, or members of the classic protocol |

RocketMQ's: ``broadcasting`` by its message model, ``orderly`` where a member says so, else ``plain``. A group without
any such trace, or with an assignor that nobody released, is ``unknown``.
"""

import re
from typing import Literal, NamedTuple

from compare.catalogues import CLASSIC, ROCKETMQ, SERVER
from compare.reading.observed import ObservedGroup


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


Kind = Literal[
    "plain",
    "consumer-protocol",
    "streams",
    "connect",
    "ksqldb",
    "mirrormaker",
    "share",
    "assign",
    "orderly",
    "broadcasting",
    "unknown",
]

STREAMS: tuple[Kind, ...] = ("streams", "ksqldb")
"""Kinds that place tasks by themselves, whatever their partitions' numbers look like."""

_MIRRORMAKER = re.compile(r"(?:^|[^a-z0-9])(?:mirror-?_?maker[0-9]*|mm2)(?:$|[^a-z0-9])", re.IGNORECASE)


def kind_of(observed: ObservedGroup) -> Kind:
    """The group's kind, from what its sources show."""
    if observed.system == "rocketmq":
        return _of_rocketmq(observed)
    clients = [member.client_id or member.id for member in observed.members or observed.seen]
    names = (observed.name, *clients)
    if any(name.startswith("_confluent-ksql-") for name in names):
        return "ksqldb"
    if observed.strategy == "stream" or any("-StreamThread-" in client for client in clients):
        return "streams"
    if any(client.startswith("connector-consumer-") for client in clients):
        return "connect"
    if any(map(_MIRRORMAKER.search, names)):
        return "mirrormaker"
    if observed.name.startswith("connect-"):
        return "connect"
    if observed.consumer_protocol:
        return "consumer-protocol"
    if observed.only_offsets:
        return "assign"
    if observed.strategy is not None:
        return "plain" if observed.strategy in CLASSIC else "unknown"
    return "plain" if clients else "unknown"


def libraries_of(observed: ObservedGroup) -> tuple[str, ...]:
    """The client libraries other than Java's that the members' client ids give away, sorted; Java's has no such id,
    and a client id of one's own tells nothing."""
    found = {library_of(member.client_id or "") for member in observed.members or observed.seen}
    return tuple(sorted(each for each in found if each))


def usable_strategies(observed: ObservedGroup, kind: Kind) -> tuple[str, ...]:
    """The strategies that a setting of the group's own members can choose; () where none can, or nobody knows."""
    if observed.system == "rocketmq":
        return () if kind == "broadcasting" or observed.mode != "shared" else ROCKETMQ
    if kind in (*STREAMS, "share", "assign", "unknown"):
        return ()
    if observed.consumer_protocol:
        return SERVER
    # Somebody's own assignor may be there for a reason that no figure shows.
    if observed.strategy is not None and observed.strategy not in CLASSIC:
        return ()
    lacking = [assignors_of(library) for library in libraries_of(observed)]
    return tuple(name for name in CLASSIC if name == observed.strategy or all(name in brought for brought in lacking))


def _of_rocketmq(observed: ObservedGroup) -> Kind:
    if observed.mode == "broadcasting":
        return "broadcasting"
    if observed.orderly:
        return "orderly"
    return "plain" if observed.members or observed.seen or observed.member_count else "unknown"
