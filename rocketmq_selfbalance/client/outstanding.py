"""Requests of a client that were not answered yet, by the kind of who waits for them (the ``ResponseFuture`` objects of
RocketMQ's ``responseTable``)."""

from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.java import Queue


class Asked(NamedTuple):
    """A request that a thread waits for."""

    thread: str
    address: str
    until: Time
    """When it is not waited for any more."""


class Pulled(NamedTuple):
    """A pull that is at a broker: of this group's queue, by the process queue of this number."""

    group: str
    queue: Queue
    number: int
    address: str


class SentBack(NamedTuple):
    """Records that are on their way back to their broker."""

    group: str
    queue: Queue
    number: int
    first: int
    end: int
    address: str
