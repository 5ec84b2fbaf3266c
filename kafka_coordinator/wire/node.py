"""A broker of a served cluster as a node: the group coordinator of the simulation, unchanged, and beside it handlers of
all that the simulation has no messages for.

In Kafka `KafkaApis`.
"""

from collections.abc import Mapping
from typing import Final, Self

from kafka_coordinator.broker import ClusterState
from kafka_coordinator.wire import administration, records, requests
from kafka_coordinator.wire.beliefs import Beliefs
from kafka_coordinator.wire.metadata import api_versions, metadata
from kafka_coordinator.wire.names import ClientName, Names
from kafka_coordinator.wire.positions import observe_positions
from kafka_coordinator.wire.refused import refuse
from kafka_coordinator.wire.requests import Answer, AskedNothing
from kafka_coordinator.wire.state import BrokerState, Handler, connection_of
from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName

RECORDS: Final = "records"
"""First part of the names of timers that are not the coordinator's."""


def _nothing(state: BrokerState, now: Time, sender: str, request: AskedNothing, out: Outbox) -> None:
    out.send(sender, Answer(request.correlation, None))


HANDLERS: Final[Mapping[type[Message], Handler]] = {
    requests.ApiVersions: api_versions,
    requests.Metadata: metadata,
    requests.AskedNothing: _nothing,
    requests.SaslHandshake: refuse,
    requests.SaslAuthenticate: refuse,
    requests.DescribeAcls: refuse,
    requests.CreateAcls: refuse,
    requests.DeleteAcls: refuse,
    **records.HANDLERS,
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
        """The broker takes over what it leads."""
        self.state.broker.start(now, self._outbox(out))

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        """A request, the controller's news, or a command."""
        handle = HANDLERS.get(type(message))
        if type(message) is requests.Fetch:
            observe_positions(self.state, self.beliefs, message, out.observe)
        if handle is not None:
            handle(self.state, now, sender, message, out)
        elif type(message) is ClusterState:
            self.state.broker.receive(now, OPERATOR, message, self._outbox(out))
            records.cluster_changed(self.state, now, out)
        else:
            self.beliefs.asked(connection_of(self.state, sender), message, out.observe)
            self.state.broker.receive(now, sender, message, self._outbox(out))

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """A timer of the coordinator or of the records is due."""
        if timer[0] == RECORDS:
            records.timeout(self.state, now, timer, out)
        else:
            self.state.broker.timeout(now, timer, self._outbox(out))

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing changes before the peer sends a request."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """Nobody reads answers on this connection any more."""
        connection = connection_of(self.state, peer)
        self.beliefs.closed(connection, out.observe)
        self.names.closed(connection)
        self.state.broker.closed(now, peer, self._outbox(out))
        records.closed(self.state, now, peer)

    def copy(self) -> Self:
        """Raises: a served broker shares its cluster's records, and no explorer runs it."""
        raise NotImplementedError("a served broker is not copied")

    def key(self, now: Time) -> tuple[object, ...]:
        """The state of its coordinator."""
        return self.state.broker.key(now)

    def _outbox(self, out: Outbox) -> Outbox:
        if self._out is None or self._out.inner is not out:
            self._out = _CoordinatorOutbox(out, self)
        return self._out


class _CoordinatorOutbox:
    """The outbox of the coordinator: what it answers is looked at for beliefs, and its ids begin with client ids."""

    __slots__ = ("_node", "_send", "cancel_timer", "choose", "close", "inner", "observe", "set_timer")

    def __init__(self, inner: Outbox, node: ServedBroker) -> None:
        self.inner, self._node, self._send = inner, node, inner.send
        self.close, self.set_timer, self.cancel_timer = inner.close, inner.set_timer, inner.cancel_timer
        self.observe = inner.observe
        self.choose = inner.choose

    def send(self, to: str, message: Message) -> None:
        node = self._node
        node.beliefs.answered(connection_of(node.state, to), message, self.observe)
        self._send(to, message)

    def new_id(self, prefix: str) -> str:
        return self.inner.new_id(prefix.client_id if isinstance(prefix, ClientName) else prefix)
