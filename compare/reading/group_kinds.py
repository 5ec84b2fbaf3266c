"""Whose group it is: advice that fits plain consumers breaks a Streams application, a connector, another protocol.

What tells, the first that holds:

| kind | told by |
|---|---|
| ksqldb | a group or client id that begins with ``_confluent-ksql-`` |
| streams | the assignor ``stream``, or a client id with ``-StreamThread-`` |
| connect | a client id that begins with ``connector-consumer-``, or a group called ``connect-...`` |
| mirrormaker | ``mirrormaker``, ``mirror-maker`` or ``mm2`` as a word of the group's or a client's name |
| share | the views of kafka-share-groups, or the group's type |
| consumer-protocol | the group's type, its epochs, or the form of its members' ids (KIP-848) |
| assign | a group of the type that only stores offsets: its consumers call assign() |
| plain | one of the four released assignors, or members of the classic protocol |

RocketMQ's: ``broadcasting`` by its message model, ``orderly`` where a member says so, else ``plain``. A group without
any such trace, or with an assignor that nobody released, is ``unknown``.
"""

import re
from typing import Literal

from compare.catalogues import CLASSIC, ROCKETMQ, SERVER
from compare.reading.client_libraries import LIBRARIES, hinted_library
from compare.reading.observed import ObservedGroup

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
    if observed.mode == "share":
        return "share"
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
    """Keys of the client libraries at which the members' client ids hint, sorted; "" among them where one hints at
    none. Hints are no knowledge: `compare.reading.client_libraries`."""
    members = observed.members or observed.seen
    return tuple(sorted({hinted_library(each.client_id or "", observed.name, each.instance_id) for each in members}))


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
    brought = [LIBRARIES[key].assignors for key in libraries_of(observed) if key]
    return tuple(name for name in CLASSIC if name == observed.strategy or all(name in each for each in brought))


def _of_rocketmq(observed: ObservedGroup) -> Kind:
    if observed.mode == "broadcasting":
        return "broadcasting"
    if observed.orderly:
        return "orderly"
    return "plain" if observed.members or observed.seen or observed.member_count else "unknown"
