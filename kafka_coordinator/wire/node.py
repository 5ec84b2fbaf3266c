"""A broker of a served cluster as a node: the group coordinator of the simulation, unchanged, and beside it handlers of
all that the simulation has no messages for. Security is not served: requests about it are answered as by a broker where
it is switched off.

In Kafka `KafkaApis`, and `AclApis` without an authorizer.
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Final
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.cluster.broker import ClusterState
from kafka_coordinator.coordinator.refusals import commit_refused
from kafka_coordinator.coordinator.share_groups.initializing import persist
from kafka_coordinator.coordinator.share_groups.messages import DeleteShareStates, InitializeShareStates
from kafka_coordinator.errors import COORDINATOR_NOT_AVAILABLE, NONE
from kafka_coordinator.messages import OffsetCommit
from kafka_coordinator.wire import administration, markers, requests, share_records, transaction_views, transactions
from kafka_coordinator.wire.beliefs import Beliefs, observe_positions
from kafka_coordinator.wire.dead_letters import LettersWritten
from kafka_coordinator.wire.entities import Kind, make, part, response
from kafka_coordinator.wire.metadata import api_versions, metadata
from kafka_coordinator.wire.names import ClientName, Names
from kafka_coordinator.wire.records.fetch import fetch, look_again
from kafka_coordinator.wire.records.fetch import timeout as fetch_timeout
from kafka_coordinator.wire.records.offsets import delete_records, list_offsets, offsets_for_leader_epochs
from kafka_coordinator.wire.records.produce import produce
from kafka_coordinator.wire.requests import Answer, AskedNothing, Request
from kafka_coordinator.wire.share_groups import describe_offsets
from kafka_coordinator.wire.state import MANY, NO_THROTTLE, BrokerState, Handler, connection_of
from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName

RECORDS: Final = "records"
"""First part of the names of timers that are not the coordinator's."""
_PERSISTER: Final[TimerName] = ("persister",)


def _nothing(state: BrokerState, now: Time, sender: str, request: AskedNothing, out: Outbox) -> None:
    out.send(sender, Answer(request.correlation, None))


_OF_PERSISTER: Final = (InitializeShareStates, DeleteShareStates)
_NO_ACLS: Final = "No Authorizer is configured"
_NO_SASL: Final = "SaslAuthenticate request received after successful authentication"


def refuse(state: BrokerState, now: Time, sender: str, request: Request, out: Outbox) -> None:
    """ILLEGAL_SASL_STATE for SASL, SECURITY_DISABLED for ACLs."""
    kind = response(requests.KEYS[type(request)], request.version)
    out.send(sender, Answer(request.correlation, _answer(kind, request)))


def _answer(kind: Kind, request: Request) -> Entity:
    if isinstance(request, requests.SaslHandshake):
        return make(kind, error_code=ErrorCode.illegal_sasl_state, mechanisms=())
    if isinstance(request, requests.SaslAuthenticate):
        return make(kind, error_code=ErrorCode.illegal_sasl_state, error_message=_NO_SASL, auth_bytes=b"")
    end = " on the broker" if isinstance(request, requests.DescribeAcls) else "."
    refusal = {"error_code": ErrorCode.security_disabled, "error_message": _NO_ACLS + end}
    if isinstance(request, requests.CreateAcls):
        item = part(kind, "results")
        return make(kind, throttle_time=NO_THROTTLE, results=tuple([item(**refusal) for _ in request.body.creations]))
    if isinstance(request, requests.DeleteAcls):
        item = part(kind, "filter_results")
        found = [item(**refusal, matching_acls=()) for _ in request.body.filters]
        return make(kind, throttle_time=NO_THROTTLE, filter_results=tuple(found))
    return make(kind, throttle_time=NO_THROTTLE, **refusal, resources=())


HANDLERS: Final[Mapping[type[Message], Handler]] = {
    requests.ApiVersions: api_versions,
    requests.Metadata: metadata,
    requests.AskedNothing: _nothing,
    requests.SaslHandshake: refuse,
    requests.SaslAuthenticate: refuse,
    requests.DescribeAcls: refuse,
    requests.CreateAcls: refuse,
    requests.DeleteAcls: refuse,
    requests.Produce: produce,
    requests.Fetch: fetch,
    requests.ListOffsets: list_offsets,
    requests.OffsetForLeaderEpoch: offsets_for_leader_epochs,
    requests.DeleteRecords: delete_records,
    requests.DescribeShareGroupOffsets: describe_offsets,
    LettersWritten: share_records.letters_written,
    **transactions.HANDLERS,
    **transaction_views.HANDLERS,
    **administration.HANDLERS,
}
"""What is not the coordinator's."""


class ServedBroker:
    """One broker before real clients; ``names`` and ``beliefs`` are the cluster's."""

    __slots__ = ("_out", "beliefs", "names", "state")

    def __init__(self, state: BrokerState, names: Names, beliefs: Beliefs) -> None:
        self.state, self.names, self.beliefs = state, names, beliefs
        self._out: _CoordinatorOutbox | None = None

    def start(self, now: Time, out: Outbox) -> None:
        self.state.broker.start(now, self._outbox(out))
        transactions.start(self.state, now, out)
        markers.take_over(self.state, now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        handle = HANDLERS.get(type(message))
        if type(message) is requests.Fetch:
            observe_positions(self.state, self.beliefs, message, out.observe)
        if handle is not None:
            handle(self.state, now, sender, message, out)
        elif isinstance(message, share_records.REQUESTS):
            share_records.receive(self.state, now, sender, message, out)
        elif type(message) is ClusterState:
            self.state.broker.receive(now, OPERATOR, message, self._outbox(out))
            look_again(self.state, now, out)
            share_records.cluster_changed(self.state, now, out)
            markers.take_over(self.state, now, out)
        elif type(message) is OffsetCommit and not self._has_room(now, message, out):
            out.send(sender, commit_refused(message, COORDINATOR_NOT_AVAILABLE))
        else:
            self.beliefs.asked(connection_of(self.state, sender), message, out.observe)
            self.state.broker.receive(now, sender, message, self._outbox(out))
        self._persist(now, out)

    def _has_room(self, now: Time, request: OffsetCommit, out: Outbox) -> bool:
        """Whether the group's coordinator can keep the offsets; another broker refuses them anyway."""
        state = self.state
        core = state.broker.coordinator.core
        if core.refusal(request.group) != NONE:
            return True
        return state.offset_room.make(core, now, request, state.storage.bounds.offset_bytes, self._outbox(out))

    def _persist(self, now: Time, out: Outbox, *, is_due: bool = False) -> None:
        """The coordinator has asked the persister of share groups, which answers at once; to what takes long, when
        others have had their turn."""
        box = self._outbox(out)
        while box.calls:
            if len(box.calls[0].partitions) > MANY and not is_due:
                out.set_timer(_PERSISTER, now)
                return
            answer, is_due = persist(self.state.storage.shares, box.calls.pop(0)), False
            self.state.broker.receive(now, OPERATOR, answer, box)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if timer == _PERSISTER:
            self._persist(now, out, is_due=True)
        elif timer[0] == RECORDS:
            fetch_timeout(self.state, now, timer, out)
        elif timer[0] in share_records.TIMERS:
            share_records.timeout(self.state, now, timer, out)
        elif timer == transactions.TRANSACTIONS:
            transactions.time_out(self.state, now, out)
        elif timer == markers.MARKERS:
            markers.go_on(self.state, now, out)
        else:
            self.state.broker.timeout(now, timer, self._outbox(out))

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing changes before the peer sends a request."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        connection = connection_of(self.state, peer)
        self.beliefs.closed(connection, out.observe)
        share_records.closed(self.state, now, peer, out)
        self.names.closed(connection)
        self.state.broker.closed(now, peer, self._outbox(out))
        self.state.fetches.forget(peer)  # its session stays until it gives way

    def _outbox(self, out: Outbox) -> "_CoordinatorOutbox":
        if self._out is None or self._out.inner is not out:
            self._out = _CoordinatorOutbox(out)
        return self._out


class _CoordinatorOutbox:
    """The outbox of the coordinator: it keeps what the persister of share groups is asked, and ids begin with client
    ids."""

    __slots__ = ("_send", "calls", "cancel_timer", "choose", "close", "inner", "observe", "set_timer")

    def __init__(self, inner: Outbox) -> None:
        self.inner, self._send = inner, inner.send
        self.close, self.set_timer, self.cancel_timer = inner.close, inner.set_timer, inner.cancel_timer
        self.observe = inner.observe
        self.calls: list[InitializeShareStates | DeleteShareStates] = []
        """What it asks the persister of share groups."""
        self.choose = inner.choose

    def send(self, to: str, message: Message) -> None:
        if isinstance(message, _OF_PERSISTER):
            self.calls.append(message)
        else:
            self._send(to, message)

    def new_id(self, prefix: str) -> str:
        if isinstance(prefix, ClientName):
            return f"{'' if prefix.client_id else '-'}{self.inner.new_id(prefix.client_id)}"
        made = self.inner.new_id(prefix)
        # An id of a member of the consumer protocol has the form in which Kafka's `Uuid` is written.
        return made if prefix else urlsafe_b64encode(UUID(made).bytes).decode().rstrip("=")
