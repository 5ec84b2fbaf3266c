"""How RocketMQ's proxy keeps records invisible for its clients (``RenewStrategyPolicy``,
``DefaultReceiptHandleManager``; spec grpc 4): the rule alone, without requests. The served proxy and that of simulated
clients follow it."""

from typing import Final, NamedTuple

from protocols.engine.nodes import Time

RENEWALS_MS: Final = tuple(minutes * 60_000 for minutes in (1, 3, 5, 10, 30, 60))
"""For how long the first, second, ... renewal makes a record invisible."""

RETRY_DELAYS_S: Final = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""``CustomizedRetryPolicy``: for how long a record is made invisible that its consumer could not handle, by the number
of the attempt."""


def retry_delay(attempt: int) -> Time:
    """For how long a record is invisible whose handling failed in this attempt, counted from 1; in milliseconds."""
    return RETRY_DELAYS_S[min(attempt, len(RETRY_DELAYS_S)) - 1] * 1000.0


class Renewal(NamedTuple):
    """What is done with a record that is visible soon: it is made ``invisible`` for so many milliseconds (None: nothing
    is asked), and is renewed no more where this ``ends`` it."""

    invisible: int | None
    ends: bool


def renewal(left: float, age: float, most: float, renewals: int, times: int) -> Renewal:
    """``left``: milliseconds of its invisible time; ``age``: since it was delivered, ``most`` of which it is renewed;
    ``times``: how often it had come back."""
    if age >= most:
        return Renewal(RETRY_DELAYS_S[min(times + 2, len(RETRY_DELAYS_S) - 1)] * 1000, ends=True)
    if left <= 0:
        return Renewal(None, ends=True)
    return Renewal(RENEWALS_MS[min(renewals, len(RENEWALS_MS) - 1)], ends=False)
