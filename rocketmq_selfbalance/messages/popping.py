"""What RocketMQ's proxy and clients ask of brokers with real records: to give out records, to take their acks and
other invisible times, and to bury one among the dead letters
(spec pop 5). Times are milliseconds; ``invisible`` and ``polling`` last so long."""

from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.java import Queue
from rocketmq_selfbalance.codes import ALL_QUEUES


class Handle(NamedTuple):
    """``ReceiptHandle``: what an ack names. Times are milliseconds since 1970. ``kind``: `OF_TOPIC` or `OF_RETRY`;
    ``start``: the offset of the first record of its check point; ``position`` in the commit log."""

    start: int
    pop_time: int
    invisible: int
    revive_queue: int
    kind: int
    broker: str
    number: int
    offset: int
    position: int

    def __str__(self) -> str:
        return " ".join(map(str, self))

    @property
    def visible_at(self) -> int:
        """From then on the handle is expired."""
        return self.pop_time + self.invisible


OF_TOPIC, OF_RETRY = 0, 1
IN_ORDER = 999
"""The number in the place of a revive queue's in handles of ordered pops, which leave no check point."""


class Pop(NamedTuple):
    """Give out up to ``most`` records. ``tags``: which tags are wanted, as in ``TagA || TagB``."""

    correlation: int
    group: str
    topic: str
    most: int
    invisible: int
    polling: Time
    tags: str
    in_order: bool
    attempt_id: str | None
    number: int = ALL_QUEUES
    """The queue; `ALL_QUEUES` for any of the broker."""
    from_start: bool = False
    """A queue without an offset is popped from its beginning, else from its end."""


class PoppedRecord(NamedTuple):
    """``content`` is the record as stored; ``times``: how often it has come back."""

    handle: Handle
    content: bytes
    times: int


class Popped(NamedTuple):
    correlation: int
    code: int
    records: tuple[PoppedRecord, ...] = ()
    remark: str | None = None
    rest: int = 0
    """How many records were left behind."""
    pop_time: int = 0
    """Since 1970."""
    revive_queue: int = 0


class Ack(NamedTuple):
    correlation: int
    group: str
    topic: str
    handle: Handle


class BatchAck(NamedTuple):
    """Several at once; what is illegal of them is passed over. Answered by `Changed`."""

    correlation: int
    acks: tuple[Ack, ...]


class QueryAssignment(NamedTuple):
    """Which queues may this member ask, and how?"""

    correlation: int
    topic: str
    group: str
    client_id: str | None
    strategy: str | None
    message_model: str


class QueuesToAsk(NamedTuple):
    """The answer to that: the queues in order, and in which mode; None is no valid answer."""

    correlation: int
    queues: tuple[Queue, ...] | None
    mode: str


class SetRequestMode(NamedTuple):
    """The group pulls or pops the topic from now on, at this broker."""

    correlation: int
    topic: str
    group: str
    mode: str | None
    share: int


class ChangeInvisible(NamedTuple):
    """The record is to be invisible from now on for so long; answered by `Changed`. ``suspend``: that it then comes
    back is no further attempt."""

    correlation: int
    group: str
    topic: str
    handle: Handle
    invisible: int
    suspend: bool = False


class Changed(NamedTuple):
    """The answer to `Ack` (without a handle) and to `ChangeInvisible`."""

    correlation: int
    code: int
    handle: Handle | None = None


class ToDeadLetters(NamedTuple):
    """The record goes to the dead letters of its group and is done; answered by `Changed`."""

    correlation: int
    group: str
    topic: str
    handle: Handle
