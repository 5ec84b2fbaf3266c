"""Transactional ids and their transactions (spec 12.2 to 12.6): producers are fenced by their epoch, partitions added,
transactions ended by request or after their time.

Nothing is written here: an `Ended` says which partitions get a marker, and whoever called writes it; those that are not
written yet are noted in `Transactions.ending`.

In Kafka `TransactionCoordinator`, `TransactionMetadata` and `TransactionStateManager`.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer.settings import whole_number
from kafka_coordinator.coordinator.log import ENTRY_COST
from kafka_coordinator.errors import (
    CONCURRENT_TRANSACTIONS,
    COORDINATOR_NOT_AVAILABLE,
    INVALID_PRODUCER_ID_MAPPING,
    INVALID_REQUEST,
    INVALID_TRANSACTION_TIMEOUT,
    INVALID_TXN_STATE,
    NONE,
    PRODUCER_FENCED,
    TRANSACTION_ABORTABLE,
)
from kafka_coordinator.transactions import states
from kafka_coordinator.transactions.states import DONE, OUTCOMES, WRONG, Request
from protocols.engine.nodes import Time

NOBODY: Final = -1
"""No producer id, or no epoch."""
LAST_EPOCH: Final = 2**15 - 2
"""The greatest epoch that a producer is told; after it the id is another one."""


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """A field's name is Kafka's own with ``_`` for ``.``; all are milliseconds."""

    transaction_max_timeout_ms: int = 900_000
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    """How often the coordinator looks for transactions that take too long."""

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "TransactionSettings":
        """From Kafka's names (`TRANSACTION_SETTINGS`). Raises `protocols.errors.UserError` for a wrong value."""
        return cls(**{TRANSACTION_SETTINGS[name]: whole_number(name, value, 1) for name, value in given.items()})


TRANSACTION_SETTINGS: Final = {each.name.replace("_", "."): each.name for each in fields(TransactionSettings)}
"""Kafka's name of a setting to the field."""


class Producer(NamedTuple):
    """A producer id with an epoch of it."""

    id: int = NOBODY
    epoch: int = NOBODY


class Ended(NamedTuple):
    """A transaction is over: each of the partitions gets a marker of this producer."""

    producer: Producer
    commits: bool
    partitions: tuple[Partition, ...]


class Answer(NamedTuple):
    """``producer``: who the client is from now on; ``ended``: the transaction that this ends."""

    error: str
    producer: Producer = Producer()
    ended: Ended | None = None


@dataclass(slots=True)
class Transaction:
    """A transactional id with its present transaction, or the last one."""

    id: str
    producer: Producer
    timeout_ms: int
    last_epoch: int = NOBODY
    """The epoch before, of a producer that may ask again because an answer got lost."""
    previous_id: int = NOBODY
    """The producer id before, whose epochs were used up; until the next transition."""
    state: str = states.EMPTY
    partitions: dict[Partition, None] = field(default_factory=dict)
    began: Time | None = None
    """When the open transaction, or else the last one, began."""


class Transactions:
    """All of a cluster. ``new_id`` gives producer ids; times are those of the world, in milliseconds.

    Ids and their partitions cost at most ``most_bytes`` together. What is new and too much makes those ids forgotten
    that have no open transaction, the one used longest ago first, as Kafka forgets after
    ``transactional.id.expiration.ms``; where all transactions are open, it is refused with COORDINATOR_NOT_AVAILABLE,
    after which clients try again.
    """

    __slots__ = ("_cost", "_idle", "_new_id", "_of", "ending", "most_bytes", "settings")

    def __init__(self, new_id: Callable[[], int], settings: TransactionSettings, most_bytes: int) -> None:
        self._new_id, self.settings, self.most_bytes = new_id, settings, most_bytes
        self._of: dict[str, Transaction] = {}
        self._idle: OrderedDict[str, None] = OrderedDict()
        """Ids without an open transaction, used longest ago first."""
        self._cost = 0
        self.ending: dict[int, tuple[str, Ended]] = {}
        """Producer id to the broker that writes its markers, and those that are left: until then the next transaction
        of the id is refused with CONCURRENT_TRANSACTIONS."""

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self._of.values())

    def get(self, transactional_id: str) -> Transaction | None:
        return self._of.get(transactional_id)

    # A producer begins (spec 12.3).

    def init(self, transactional_id: str, timeout_ms: int, claim: Producer) -> Answer:
        """A producer begins, or goes on after an error (``claim``: who it was; an id of -1: it is new)."""
        if not transactional_id:
            return Answer(INVALID_REQUEST)
        if not 0 < timeout_ms <= self.settings.transaction_max_timeout_ms:
            return Answer(INVALID_TRANSACTION_TIMEOUT)
        known = self._of.get(transactional_id)
        if known is None:
            if not self._has_room(_cost(transactional_id)):
                return Answer(COORDINATOR_NOT_AVAILABLE)
            known = self._of[transactional_id] = Transaction(transactional_id, Producer(self._new_id()), timeout_ms)
            self._cost += _cost(transactional_id)
            self._rest(transactional_id)
        is_new = claim.id == NOBODY
        if not is_new and not _is_of(known, claim):
            return Answer(PRODUCER_FENCED)
        if self._is_ending(known):
            return Answer(CONCURRENT_TRANSACTIONS)
        if known.state == states.ONGOING:
            return Answer(CONCURRENT_TRANSACTIONS, ended=self._end(known, commits=False))
        if known.producer.epoch >= LAST_EPOCH and (is_new or claim.epoch == known.producer.epoch):
            self._take_new_id(known, NOBODY if is_new else known.producer.epoch)
        elif is_new:
            self._bump(known, NOBODY)
        elif known.producer.epoch in (NOBODY, claim.epoch):
            self._bump(known, known.producer.epoch)
        elif claim.epoch != known.last_epoch:
            return Answer(PRODUCER_FENCED)
        known.timeout_ms, known.state, known.began = timeout_ms, states.EMPTY, None
        self._rest(transactional_id)
        return Answer(NONE, known.producer)

    # Partitions (spec 12.4).

    def add(self, now: Time, transactional_id: str, claim: Producer, partitions: Iterable[Partition]) -> str:
        """The transaction has these partitions, too; it begins with the first. Returns an error's name."""
        known = self._of.get(transactional_id)
        error = _claim_error(transactional_id, known, claim)
        if error != NONE or known is None:
            return error
        if self._is_ending(known):
            return CONCURRENT_TRANSACTIONS
        added = [each for each in dict.fromkeys(partitions) if each not in known.partitions]
        cost = sum([_cost(topic) for topic, _ in added])
        self._idle.pop(transactional_id, None)  # it makes no room for itself
        if not self._has_room(cost):
            if known.state != states.ONGOING:
                self._rest(transactional_id)
            return COORDINATOR_NOT_AVAILABLE
        if known.state != states.ONGOING:
            known.state, known.began = states.ONGOING, now
            known.previous_id = NOBODY
        known.partitions.update(dict.fromkeys(added))
        self._cost += cost
        return NONE

    def verify(self, transactional_id: str, claim: Producer, partition: Partition) -> str:
        """Whether the transaction has the partition; returns an error's name."""
        known = self._of.get(transactional_id)
        error = _claim_error(transactional_id, known, claim)
        if error == NONE and known is not None and partition not in known.partitions:
            return TRANSACTION_ABORTABLE
        return error

    # The end (spec 12.5, 12.6).

    def end(self, now: Time, transactional_id: str, claim: Producer, *, commits: bool, bumps: bool) -> Answer:
        """The producer commits or aborts; ``bumps``: its epoch goes up with that."""
        known = self._of.get(transactional_id)
        if not transactional_id:
            return Answer(INVALID_REQUEST)
        if known is None:
            return Answer(INVALID_PRODUCER_ID_MAPPING)
        overflowed = claim == Producer(known.previous_id, LAST_EPOCH) and known.producer.epoch == 0
        again = bumps and (overflowed or known.producer.epoch == claim.epoch + 1)
        if claim.id != known.producer.id and not (bumps and overflowed):
            return Answer(INVALID_PRODUCER_ID_MAPPING)
        is_over = known.state in (states.COMPLETE_COMMIT, states.COMPLETE_ABORT)
        if claim.epoch != known.producer.epoch and not (again and is_over):
            return Answer(PRODUCER_FENCED)
        outcome = OUTCOMES.get(Request(known.state, commits=commits, bumps=bumps, again=again), WRONG)
        if outcome == WRONG:
            return Answer(INVALID_TXN_STATE)
        if self._is_ending(known):
            return Answer(CONCURRENT_TRANSACTIONS)
        if outcome == DONE:
            return Answer(NONE, known.producer)
        if known.state != states.ONGOING:
            known.began = now
        ended = self._end(known, commits=commits, bumps=bumps)
        return Answer(NONE, known.producer, ended)

    def time_out(self, now: Time, coordinates: Callable[[str], bool]) -> list[Ended]:
        """Abort what has taken longer than its timeout, of the ids that the caller ``coordinates``."""
        late = [
            each
            for each in self._of.values()
            if each.state == states.ONGOING
            and each.began is not None
            and each.began + each.timeout_ms < now
            and coordinates(each.id)
        ]
        return [self._end(each, commits=False) for each in late]

    def _end(self, known: Transaction, *, commits: bool, bumps: bool = True) -> Ended:
        """The epoch goes up where the producer expects it, and where it is to be fenced; the marker has the new one."""
        producer = known.producer
        if bumps:
            producer = Producer(producer.id, producer.epoch + 1)
            if known.producer.epoch >= LAST_EPOCH:
                self._take_new_id(known, known.producer.epoch)
            else:
                self._bump(known, known.producer.epoch)
        ended = Ended(producer, commits, tuple(known.partitions))
        known.state = states.COMPLETE_COMMIT if commits else states.COMPLETE_ABORT
        self._cost -= sum([_cost(topic) for topic, _ in known.partitions])
        known.partitions = {}
        self._rest(known.id)
        return ended

    def _is_ending(self, known: Transaction) -> bool:
        """Whether markers of the transaction before are still to be written."""
        return known.producer.id in self.ending or known.previous_id in self.ending

    # What is kept.

    def _has_room(self, more: int) -> bool:
        """Whether so many bytes more are allowed; ids without an open transaction make room for them."""
        while self._cost + more > self.most_bytes and self._idle:
            forgotten, _ = self._idle.popitem(last=False)
            self._cost -= _cost(forgotten)
            del self._of[forgotten]
        return self._cost + more <= self.most_bytes

    def _rest(self, transactional_id: str) -> None:
        """The id has no open transaction, and was used just now."""
        self._idle[transactional_id] = None
        self._idle.move_to_end(transactional_id)

    def _bump(self, known: Transaction, last_epoch: int) -> None:
        known.producer = Producer(known.producer.id, known.producer.epoch + 1)
        known.last_epoch, known.previous_id = last_epoch, NOBODY

    def _take_new_id(self, known: Transaction, last_epoch: int) -> None:
        known.previous_id, known.last_epoch = known.producer.id, last_epoch
        known.producer = Producer(self._new_id(), 0)


def _cost(text: str) -> int:
    return ENTRY_COST + len(text.encode())


def _is_of(known: Transaction, claim: Producer) -> bool:
    """Whether the id is, or was, this producer's."""
    if known.producer.epoch == NOBODY or claim.id == known.producer.id:
        return True
    return claim.id == known.previous_id and claim.epoch >= LAST_EPOCH


def _claim_error(transactional_id: str, known: Transaction | None, claim: Producer) -> str:
    if not transactional_id:
        return INVALID_REQUEST
    if known is None or known.producer.id != claim.id:
        return INVALID_PRODUCER_ID_MAPPING
    return NONE if known.producer.epoch == claim.epoch else PRODUCER_FENCED
