"""The states of a transactional id, and what ending its transaction does in each, as data (spec 12.2, 12.5).

An id begins *Empty*; the first partition makes its transaction *Ongoing*; a decision ends it as *CompleteCommit* or
*CompleteAbort*, from which the next one begins. Between decision and end Kafka knows *PrepareCommit* and
*PrepareAbort*, while markers are on their way to the partitions' leaders; here they are written before the answer,
and nobody is told those two.

In Kafka `TransactionState`, `TransactionCoordinator.endTransaction` and `endTransactionWithTV1`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

EMPTY: Final = "Empty"
ONGOING: Final = "Ongoing"
COMPLETE_COMMIT: Final = "CompleteCommit"
COMPLETE_ABORT: Final = "CompleteAbort"

NAMES: Final = (EMPTY, ONGOING, "PrepareCommit", "PrepareAbort", COMPLETE_COMMIT, COMPLETE_ABORT, "PrepareEpochFence")
"""All states that Kafka has; ListTransactions may filter by them."""

ENDS: Final = "ends"
"""The transaction is decided now."""
DONE: Final = "done"
"""It was decided so before: the answer got lost, and is given again."""
WRONG: Final = "wrong"
"""There is no such transaction to end: INVALID_TXN_STATE."""


class Request(NamedTuple):
    """An EndTxn in a state. ``bumps``: of a producer whose epoch goes up with every transaction (KIP-890); ``again``:
    it names the epoch of the transaction that was ended last, not the next one's."""

    state: str
    commits: bool
    bumps: bool
    again: bool = False


OUTCOMES: Final[Mapping[Request, str]] = {
    Request(ONGOING, commits=True, bumps=False): ENDS,
    Request(ONGOING, commits=False, bumps=False): ENDS,
    Request(COMPLETE_COMMIT, commits=True, bumps=False): DONE,
    Request(COMPLETE_ABORT, commits=False, bumps=False): DONE,
    Request(ONGOING, commits=True, bumps=True): ENDS,
    Request(ONGOING, commits=False, bumps=True): ENDS,
    Request(COMPLETE_COMMIT, commits=True, bumps=True, again=True): DONE,
    Request(COMPLETE_ABORT, commits=False, bumps=True, again=True): DONE,
    # An abort without a transaction fences what may still be on its way: the epoch goes up.
    Request(EMPTY, commits=False, bumps=True): ENDS,
    Request(COMPLETE_COMMIT, commits=False, bumps=True): ENDS,
    Request(COMPLETE_ABORT, commits=False, bumps=True): ENDS,
}
"""Request to outcome; a request that is not here is `WRONG`."""
