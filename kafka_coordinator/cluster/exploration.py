"""What the explorer has to know of Kafka's nodes (`protocols.engine.exploration`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.cluster.shares import shares
from kafka_coordinator.consumer import Consumer
from kafka_coordinator.consumer.states import METADATA, REQUESTS
from kafka_coordinator.coordinator.log import Key, PartitionLog, Value
from kafka_coordinator.messages import FindCoordinator, MetadataRequest
from protocols.engine.exploration.rules import NodeRules
from protocols.engine.nodes import Time, TimerName
from protocols.node_state import Apart, NodeState, Shared


class _Requests:
    """See `protocols.engine.exploration.rules.Numbering`."""

    def outstanding(self, node: Consumer) -> Mapping[int, str]:
        return {number: each.to for number, each in node.state.requests.in_flight.items()}

    def restart(self, node: Consumer, number: int) -> None:
        node.state.requests.correlation = number

    def rename(self, node: Consumer, names: Mapping[int, int]) -> None:
        requests = node.state.requests
        requests.in_flight = {names.get(number, number): each for number, each in requests.in_flight.items()}


class _Unread(PartitionLog):
    """A log that nobody reads, because no broker begins to lead."""

    __slots__ = ()

    def append(self, key: Key, value: Value | None) -> None:
        pass


@dataclass(slots=True, eq=False)
class _UnreadTopic(NodeState):
    """``__consumer_offsets`` of a world in which it is never read."""

    partitions: Apart[Sequence[_Unread]]


def _write_nothing(node: Any) -> None:
    node.coordinator.core.storage = _UnreadTopic([_Unread(1.0, 1)] * len(node.coordinator.core.leaders))


@dataclass(slots=True, eq=False)
class _ReplicatedTopic(NodeState):
    """``__consumer_offsets`` as one broker has it: what it wrote itself, and what others had written when the
    controller told it anything last, which it does whenever leaders change.

    ``ends``: partition to how many records were written. ``newest``: to the newest value of each key, so that states do
    not say how it came about. Those without records are left out.
    """

    ends: dict[int, int]
    newest: dict[int, dict[Key, Shared[Value]]]

    @property
    def partitions(self) -> "_ReplicatedTopic":
        return self

    def __getitem__(self, partition: int) -> "_ReplicatedLog":
        return _ReplicatedLog(self, partition)


class _ReplicatedLog(NamedTuple):
    """One partition."""

    topic: _ReplicatedTopic
    partition: int

    @property
    def records(self) -> Mapping[Key, Value]:
        return self.topic.newest.get(self.partition, {})

    def append(self, key: Key, value: Value | None) -> None:
        topic, partition = self
        values = topic.newest[partition] = {other: kept for other, kept in self.records.items() if other != key}
        if value is not None:
            values[key] = value
        topic.ends[partition] = topic.ends.get(partition, 0) + 1

    def latest(self) -> dict[Key, Value]:
        return dict(self.records)


def _keep_newest(node: Any) -> None:
    core = node.coordinator.core
    logs = {partition: log for partition, log in enumerate(core.storage.partitions) if log.end}
    core.storage = _ReplicatedTopic(
        {partition: log.end for partition, log in logs.items()},
        {partition: log.latest() for partition, log in logs.items()},
    )


class _Storage:
    """See `protocols.engine.exploration.rules.Lasting`: the topic is the cluster's. One broker at a time writes to a
    partition, after it has been told what is there; so the longest log is the partition's."""

    def remains(self, node: Broker) -> Any:
        return node.coordinator.core.storage.copy()

    def take_over(self, node: Broker, name: str, remains: Mapping[str, Any]) -> None:
        own: Any = node.coordinator.core.storage
        for topic in remains.values():
            for partition, end in topic.ends.items():
                if end > own.ends.get(partition, 0):
                    own.ends[partition], own.newest[partition] = end, topic.newest[partition].copy()


def _forget_connections(node: Broker, timers: dict[TimerName, Time]) -> None:
    """Of a parked request only counts whether its connection is open."""
    core = node.coordinator.core
    for group in core.groups.values():
        for member in group.members.values():
            for name in ("join", "sync"):
                parked = getattr(member, name)
                if parked is not None:
                    is_alive = core.closes.get(parked.sender, 0) == parked.closes
                    setattr(member, name, parked._replace(closes=0 if is_alive else -1))
    core.closes = {}


def _forget_past(node: Consumer, timers: dict[TimerName, Time]) -> None:
    """Deadlines of what is over; the timer of the requests, which the client moves only when it fires, stands where it
    is needed."""
    state = node.state
    deadlines = [each.deadline for each in state.requests.in_flight.values()]
    state.requests.check_at = min(deadlines, default=None)
    timers.pop(REQUESTS, None)
    if deadlines:
        timers[REQUESTS] = min(deadlines)
    if state.joining.awaiting != "commit":
        state.joining.prepare_deadline = 0.0


def _housekeeping(timer: TimerName) -> bool:
    return timer == METADATA or _is_expiry(timer)


def _is_expiry(timer: TimerName) -> bool:
    return isinstance(timer, tuple) and timer[0] == "expiry"


_RULES: Final = NodeRules(
    numberings={Consumer: _Requests()},
    clients=(Consumer,),
    seen=lambda node: (type(node).__name__, isinstance(node, Consumer) and node.is_over),
    answering=(Broker,),
    constant=(MetadataRequest, FindCoordinator),
    housekeeping=_housekeeping,
    adopt={Broker: _write_nothing},
    forget={Broker: _forget_connections, Consumer: _forget_past},
    shares=shares,
)

_RULES_OF_LEADERS: Final = replace(
    _RULES, adopt={Broker: _keep_newest}, lasting={Broker: _Storage()}, housekeeping=_is_expiry
)


def rules(*, brokers_end: bool) -> NodeRules:
    """Of a world in which brokers end and others lead in their place, or none does."""
    return _RULES_OF_LEADERS if brokers_end else _RULES
