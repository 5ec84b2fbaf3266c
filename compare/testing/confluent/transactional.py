"""The transactional side of a producer: librdkafka's states, and what it sends to the transaction coordinator."""

from collections.abc import Callable
from typing import Final

from compare.testing.confluent import arguments, errors
from compare.testing.confluent.configuration import ProducerConfiguration
from compare.testing.confluent.errors import where_of
from compare.testing.confluent.sending import Sending, Written
from compare.testing.handling import HandlingGroup
from compare.testing.transactions import Session
from kafka_coordinator.cluster import COORDINATOR_NOT_AVAILABLE

INIT, READY, IN_TRANSACTION = "Init", "Ready", "InTransaction"
_FENCED: Final = "_FENCED"
_ABORTABLE: Final = ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "FENCED_INSTANCE_ID")


class Transactional:
    """Of one producer. ``flush``: sends everything and serves the reports within so many seconds; returns how many
    records are left."""

    def __init__(
        self,
        group: HandlingGroup,
        configuration: ProducerConfiguration,
        sending: Sending,
        flush: Callable[[float | None], int],
    ) -> None:
        self._group, self._configuration, self._sending, self._flush = group, configuration, sending, flush
        self.state = INIT
        self._session: Session | None = None
        self._wrong: errors.KafkaErrorDouble | None = None
        """Why nothing but an abort is possible any more, or nothing at all."""
        self.failed = 0
        """Records of the present transaction that were not delivered."""
        if configuration.transactional_id:
            sending.may_write, sending.wrote = self._may_write, self._wrote

    def init(self, timeout: float | None) -> None:
        """Get the id: older producers with it are fenced."""
        self._check_configured()
        self._check_state(INIT)
        self._round_trips(2)
        self._session = self._group.transactions.init(
            self._configuration.transactional_id, self._configuration.transaction_timeout
        )
        self.state = READY

    def begin(self) -> None:
        """A transaction begins; nobody else is told yet."""
        self._check_configured()
        self._check_state(READY)
        self._group.transactions.begin(self._its_session)
        self.state, self.failed = IN_TRANSACTION, 0

    def check_producing(self) -> None:
        """Raises `KafkaException` where a record would be outside of a transaction."""
        if not self._configuration.transactional_id:
            return
        if self._wrong is not None and self._wrong.fatal():
            raise errors.exception("_FATAL", f"Unable to produce message: {errors.said('_FATAL')}", fatal=True)
        if self.state != IN_TRANSACTION or self._wrong is not None:
            raise errors.exception("_STATE", f"Unable to produce message: {errors.said('_STATE')}")

    def send_offsets(self, offsets: object, metadata: object, timeout: float | None) -> None:
        """Offsets that the transaction is to commit for a group."""
        listed = arguments.partitions(offsets)
        _, membership = arguments.decoded(metadata)
        self._check_configured()
        self._check_state(IN_TRANSACTION)
        valid = {where_of(given): (given.offset, given.metadata or "") for given in listed if given.offset >= 0}
        if not valid:
            return
        self._round_trips(2)
        self._check_fenced("Failed to add offsets to transaction")
        error = self._group.transactions.send_offsets(self._its_session, valid, membership)
        while error == COORDINATOR_NOT_AVAILABLE and self._group.clock.time < self._group.clock.limit:
            self._round_trips(20)
            error = self._group.transactions.send_offsets(self._its_session, valid, membership)
        if error:
            reason = f"Failed to commit offsets to transaction: {errors.said(error)}"
            self._wrong = errors.error(error, reason, aborts=error in _ABORTABLE)
            raise errors.KafkaException(self._wrong)

    def commit(self, timeout: float | None) -> None:
        """Everything is delivered, then the transaction is committed."""
        self._check_configured()
        self._check_state(IN_TRANSACTION)
        left = self._flush(timeout)
        if left:
            raise errors.KafkaException(
                errors.error("_TIMED_OUT", "Failed to flush all outstanding messages", retriable=True)
            )
        self._check_fenced("Failed to end transaction")
        if self.failed:
            reason = f"{self.failed} message(s) failed delivery (see individual delivery reports)"
            self._wrong = errors.error("_INCONSISTENT", reason, aborts=True)
            raise errors.KafkaException(self._wrong)
        self._round_trips(1)
        self._check_fenced("Failed to end transaction")
        self._end(commit=True)

    def abort(self, timeout: float | None) -> None:
        """What waits is given up, what was written is hidden."""
        self._check_configured()
        if self._wrong is None or self._wrong.fatal():
            self._check_state(IN_TRANSACTION)
        self._sending.purge(in_queue=True, in_flight=True)
        self._flush(timeout)
        self._round_trips(1)
        self._check_fenced("Failed to end transaction")
        self._wrong = None
        self._end(commit=False)

    def close(self) -> None:
        """A transaction that is open is aborted."""
        if self.state == IN_TRANSACTION and not self._its_session.is_fenced:
            self.abort(None)

    def _end(self, *, commit: bool) -> None:
        self._group.transactions.end(self._its_session, commit=commit)
        self.state, self.failed = READY, 0
        self._round_trips(1)

    def _round_trips(self, count: int) -> None:
        until = self._group.clock.time + 2 * count * self._sending.latency
        self._sending.wait(until, lambda: False)

    @property
    def _its_session(self) -> Session:
        assert self._session is not None
        return self._session

    def _check_configured(self) -> None:
        if not self._configuration.transactional_id:
            reason = "The Transactional API requires transactional.id to be configured"
            raise errors.exception("_NOT_CONFIGURED", reason)

    def _check_state(self, state: str) -> None:
        if self._wrong is not None:
            raise errors.KafkaException(self._wrong)
        if self.state != state:
            raise errors.exception("_STATE", f"Operation not valid in state {self.state}")

    def _check_fenced(self, what: str) -> None:
        if self._its_session.is_fenced:
            self._wrong = errors.error(_FENCED, f"{what}: {errors.said(_FENCED)}", fatal=True)
            raise errors.KafkaException(self._wrong)

    # What the sending asks and tells.

    def _may_write(self) -> str:
        return _FENCED if self._its_session.is_fenced else ""

    def _wrote(self, written: list[Written]) -> None:
        self._group.transactions.wrote(self._its_session, written)
