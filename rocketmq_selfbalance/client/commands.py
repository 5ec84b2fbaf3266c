"""What an operator (the user's program, the scenario) tells a client, without a network: calls of
``DefaultMQPushConsumer`` and ``DefaultLitePullConsumer``, and how the user's code behaves."""

from types import MappingProxyType
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.load import PoisonRecords
from rocketmq_selfbalance.client.offset_store import OffsetsFile
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.strategies import Strategy


class ConsumerSpec(NamedTuple):
    """A consumer as the user's program sets it up, before its start."""

    group: str
    member: str
    """Its name in the scenario: in facts, never on the wire."""
    topics: tuple[str, ...]
    strategy: Strategy
    settings: ClientSettings = ClientSettings()
    handle: Time = 0.0
    """Milliseconds that the user's code takes for one record."""
    file: OffsetsFile | None = None
    """BROADCASTING: where it keeps its offsets; outlives the client. None: a new file."""
    by_hand: bool = False
    """The listener is somebody's own: what it is given (`Pool.running`) is done when `ListenerReturned` comes. For push
    consumers."""
    poison: PoisonRecords[Queue] = MappingProxyType({})
    """What the user's code cannot handle, see `KnowPoison`."""


class StartConsumer(NamedTuple):
    """A consumer starts within a client instance that runs. Refused where its group has one there already."""

    spec: ConsumerSpec


class Shutdown(NamedTuple):
    """``shutdown()`` of the consumer of this group; of all, one after the other, where it is None."""

    group: str | None = None


class Subscribe(NamedTuple):
    """``subscribe()`` at run time."""

    group: str
    topic: str


class Unsubscribe(NamedTuple):
    """``unsubscribe()`` at run time."""

    group: str
    topic: str


class CommitNow(NamedTuple):
    """Keep the consumed positions at once; or set these offsets first, whatever they were."""

    group: str
    offsets: tuple[tuple[Queue, int], ...] = ()


class StopPolling(NamedTuple):
    """The user's code stands still; the client's own threads go on."""

    group: str


class GoOn(NamedTuple):
    """The user's code goes on."""

    group: str


class TakeFor(NamedTuple):
    """The user's code takes so many milliseconds for each record that it begins from now on."""

    group: str
    handle: Time


class ListenerReturned(NamedTuple):
    """The user's listener has returned (`ConsumerSpec.by_hand`). ``serial``: of its work in `Pool.running`;
    ``success``: CONSUME_SUCCESS (SUCCESS), else RECONSUME_LATER (SUSPEND_CURRENT_QUEUE_A_MOMENT)."""

    group: str
    serial: int
    success: bool


class RecordTakes(NamedTuple):
    """The user's code takes another time, in milliseconds, for this one record."""

    group: str
    queue: Queue
    offset: int
    duration: Time


class RecordFails(NamedTuple):
    """The user's code cannot handle this one record of the queue: each try ends with RECONSUME_LATER or SUSPEND."""

    group: str
    queue: Queue
    offset: int


class KnowPoison(NamedTuple):
    """These are the records that nobody's code can handle, and no others: each by the queue where it was first."""

    group: str
    poison: PoisonRecords[Queue]


class RecordWorks(NamedTuple):
    """The user's code can handle the record now."""

    group: str
    queue: Queue
    offset: int
