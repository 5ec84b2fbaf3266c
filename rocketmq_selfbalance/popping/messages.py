"""What clients of the 5.x line ask the proxy, and the proxy and classic clients a broker: the same records on both
ways, each with a number of its own (spec pop 5). Times are milliseconds; ``invisible`` and ``polling`` last so long;
``member`` is the client's name in the scenario."""

from typing import NamedTuple, TypeAlias

from protocols.engine.nodes import Time
from rocketmq_selfbalance.codes import ALL_QUEUES
from rocketmq_selfbalance.pop import Handle


class ClientHeartbeat(NamedTuple):
    """A client is there: its settings at first (``Telemetry``), later that it lives (``Heartbeat``). ``client_id``: of
    its process; a client that starts again is another one."""

    correlation: int
    group: str
    member: str
    client_id: str


class NotifyClientTermination(NamedTuple):
    """The client leaves: what it has and did not acknowledge can be had again soon."""

    correlation: int


class QueryAssignment(NamedTuple):
    """Where to ask for records of a topic."""

    correlation: int
    topic: str
    group: str


class Assignment(NamedTuple):
    """The brokers to ask, and how many readable queues of the topic each has; the same for every member, None where
    the proxy knows no route."""

    correlation: int
    topic: str
    brokers: tuple[tuple[str, int], ...] | None


class QueryRoute(NamedTuple):
    """Which queues the topic has."""

    correlation: int
    topic: str


class TopicRoute(NamedTuple):
    """Broker to how many readable queues of the topic it has; None where the proxy knows no route."""

    correlation: int
    topic: str
    brokers: tuple[tuple[str, int], ...] | None


class ReceiveMessage(NamedTuple):
    """Up to ``most`` records of the topic at one broker. ``polling``: for so long the request waits for some;
    ``number``: of the queue, `ALL_QUEUES` for any; ``from_start``: a queue without an offset begins with its first
    record, else near its end; ``auto_renew``: the proxy is to keep the records invisible."""

    correlation: int
    group: str
    member: str
    topic: str
    broker: str
    most: int
    polling: Time
    invisible: Time
    in_order: bool
    attempt_id: str | None
    number: int = ALL_QUEUES
    from_start: bool = False
    auto_renew: bool = True


class Received(NamedTuple):
    """``ok`` is False where the broker could not be asked; no records: there were none for so long. ``born``: when each
    was written first, as a broker tells it."""

    correlation: int
    ok: bool
    handles: tuple[Handle, ...] = ()
    born: tuple[Time, ...] = ()


class AckMessage(NamedTuple):
    """The record is done."""

    correlation: int
    group: str
    member: str
    topic: str
    broker: str
    handle: Handle


class ChangeInvisibleDuration(NamedTuple):
    """The record is invisible from now on for so long; ``gives_back``: because its client is gone; ``suspends``: it
    never came there, so that the attempt does not count."""

    correlation: int
    group: str
    member: str
    topic: str
    broker: str
    handle: Handle
    invisible: Time
    gives_back: bool = False
    suspends: bool = False


class ForwardToDeadLetterQueue(NamedTuple):
    """The record goes to the dead letters of its group."""

    correlation: int
    group: str
    member: str
    topic: str
    broker: str
    handle: Handle


OfRecord: TypeAlias = AckMessage | ChangeInvisibleDuration | ForwardToDeadLetterQueue
"""A request about one record that was given out."""


class Done(NamedTuple):
    """The answer to these three; ``handle``: the one that counts after a change. ``ok`` is False where the handle is
    expired, or the broker could not be asked."""

    correlation: int
    ok: bool
    handle: Handle | None = None
