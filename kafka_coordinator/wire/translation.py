"""How a request about groups is turned into the coordinator's messages, and its answers into the answer.

Clients may ask about several groups at once; the coordinator is asked about each for itself. So a request becomes any
number of messages, whose correlations follow one another, and its answer is made from all of theirs.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias

from kio.static.protocol import Entity

from kafka_coordinator.wire.entities import Kind
from kafka_coordinator.wire.names import Names
from kafka_coordinator.wire.state import BrokerState
from protocols.engine.nodes import Message

NO_THROTTLE = timedelta(0)
_MILLISECOND = timedelta(milliseconds=1)


class Asked(NamedTuple):
    """What a translation is told beside the body of a request."""

    version: int
    client_id: str
    connection: str
    """Its name in the cluster (`state.connection_of`)."""
    first: int
    """Correlation of the first message, which is answered under it; those of further ones follow."""
    state: BrokerState
    names: Names


Read: TypeAlias = Callable[[Any, Asked], Sequence[Message]]
"""Body of a request to the messages for the coordinator; none at all where nothing is left to be asked."""

Write: TypeAlias = Callable[[Kind, Any, Asked, Sequence[Any]], Entity]
"""Class of the answer, body of the request and the coordinator's answers (in the order of its messages) to the answer's
body."""


class Translation(NamedTuple):
    """Both directions of one API, in all versions."""

    read: Read
    write: Write


def milliseconds(given: timedelta) -> int:
    """Whole milliseconds."""
    return given // _MILLISECOND
