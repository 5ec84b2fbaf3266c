"""What RocketMQ's proxy makes of the requests of clients of the 5.x line, and their process in a simulated group."""

from typing import Final, NamedTuple

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.node_state import NodeState
from rocketmq_selfbalance.pop.renewing import RETRY_DELAYS_S


class WakeAt(NamedTuple):
    """A command to the member: something may be due then."""

    time: Time


class PopMember(NodeState):
    """The process of a client of the 5.x line. Whoever calls it does what is to be done when it wakes; it lives, hangs
    and is killed."""

    __slots__ = ()

    def start(self, now: Time, out: Outbox) -> None:
        """The process starts."""

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if isinstance(message, WakeAt):
            out.set_timer("wake", max(now, message.time))

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """The time has come."""

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """It connects to nobody."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """It connects to nobody."""


LEAST_INVISIBLE_MS: Final[Time] = 10_000.0
"""``minInvisibleTimeMillsForRecv``: of what is received; of a change nothing is too short."""
MOST_INVISIBLE_MS: Final[Time] = 12 * 3_600_000.0
"""``maxInvisibleTimeMills``."""
DEFAULT_INVISIBLE_MS: Final[Time] = 60_000.0
"""``defaultInvisibleTimeMills``: what a push consumer receives is invisible for so long, and nobody prolongs it."""
LEAST_POLLING_MS: Final[Time] = 5_000.0
"""``grpcClientConsumerMinLongPollingTimeoutMillis``."""
MOST_POLLING_MS: Final[Time] = 20_000.0
"""``grpcClientConsumerMaxLongPollingTimeoutMillis``; a push consumer waits so long."""
MOST_AT_ONCE: Final = 32
"""``grpcClientConsumerLongPollingBatchSize``: a request for more gets so many at most."""
RETRY_MAX_TIMES: Final = 16
"""``retryMaxTimes`` of a group: so often a record comes again, then it goes to the dead letters."""


def polling_time(wanted: Time) -> Time:
    """For how long a request for records waits that wants to wait for so long."""
    return min(max(wanted, LEAST_POLLING_MS), MOST_POLLING_MS)


def retry_delay(attempt: int) -> Time:
    """For how long a record is invisible whose handling failed in this attempt, counted from 1; in milliseconds."""
    return RETRY_DELAYS_S[min(attempt, len(RETRY_DELAYS_S)) - 1] * 1000.0
