"""What RocketMQ's proxy 5.3.3 makes of the requests of clients of the 5.x line, before they come to a broker."""

from typing import Final

from protocols.engine.nodes import Time

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
RETRY_DELAYS_S: Final = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""``CustomizedRetryPolicy``: for how long a push consumer makes a record invisible that it could not handle, by the
number of the attempt."""


def polling_time(wanted: Time) -> Time:
    """For how long a request for records waits that wants to wait for so long."""
    return min(max(wanted, LEAST_POLLING_MS), MOST_POLLING_MS)


def retry_delay(attempt: int) -> Time:
    """For how long a record is invisible whose handling failed in this attempt, counted from 1; in milliseconds."""
    return RETRY_DELAYS_S[min(attempt, len(RETRY_DELAYS_S)) - 1] * 1000.0
