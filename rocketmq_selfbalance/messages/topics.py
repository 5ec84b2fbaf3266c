"""A topic as a broker has it, and the version of what it has (spec 1.1)."""

from typing import NamedTuple

from protocols.engine.nodes import Time
from rocketmq_selfbalance.codes import PERM_READ, PERM_WRITE


class TopicConfig(NamedTuple):
    """A topic at one broker."""

    topic: str
    read: int
    """Queues that consumers see: 0 to ``read - 1``."""
    write: int
    """Queues that producers write to: 0 to ``write - 1``."""
    perm: int = PERM_READ | PERM_WRITE


class DataVersion(NamedTuple):
    """Of a broker's topics or offsets: ``counter`` rises with each change, ``timestamp`` is when, in milliseconds."""

    state_version: int = 0
    timestamp: Time = 0
    counter: int = 0
