"""Ordered consumption: a client asks a broker for the queues that it alone may read (spec 2.9)."""

from typing import NamedTuple

from protocols.java import Queue


class LockBatchMq(NamedTuple):
    correlation: int
    group: str
    client_id: str
    queues: tuple[Queue, ...]


class LockBatchMqAnswer(NamedTuple):
    correlation: int
    code: int
    locked: tuple[Queue, ...]
    """Those of the asked queues that the client holds now, in the order asked."""


class UnlockBatchMq(NamedTuple):
    """Answered by `Answer` unless ``oneway``."""

    correlation: int
    group: str
    client_id: str
    queues: tuple[Queue, ...]
    oneway: bool = False
