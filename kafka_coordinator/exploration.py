"""What the explorer has to know of Kafka's nodes (`protocols.engine.exploration`)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from kafka_coordinator.broker import Broker
from kafka_coordinator.consumer import Consumer
from kafka_coordinator.consumer.timers import METADATA, REQUESTS
from kafka_coordinator.coordinator.log import Key, PartitionLog, Value
from kafka_coordinator.messages import FindCoordinator, MetadataRequest
from protocols.engine.exploration.rules import NodeRules
from protocols.engine.nodes import Time, TimerName


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


class _UnreadTopic:
    """``__consumer_offsets`` of a world in which it is never read."""

    __slots__ = ("partitions",)

    def __init__(self, partitions: int) -> None:
        self.partitions = [_Unread(1.0, 1)] * partitions

    def copy(self) -> "_UnreadTopic":
        return self


def _write_nothing(node: Any) -> None:
    node.coordinator.core.storage = _UnreadTopic(len(node.coordinator.core.leaders))


class _ReplicatedTopic:
    """``__consumer_offsets`` as one broker has it: what it wrote itself, and what others had written when the
    controller told it anything last, which it does whenever leaders change.

    ``logs``: partition to how many records were written, and the newest value of each key, so that states do not say
    how it came about; those without records are left out.
    """

    __slots__ = ("logs",)

    def __init__(self, logs: dict[int, tuple[int, dict[Key, Value]]]) -> None:
        self.logs = logs

    @property
    def partitions(self) -> "_ReplicatedTopic":
        return self

    def __getitem__(self, partition: int) -> "_ReplicatedLog":
        return _ReplicatedLog(self, partition)

    def copy(self) -> "_ReplicatedTopic":
        return _ReplicatedTopic({at: (end, dict(values)) for at, (end, values) in self.logs.items()})


class _ReplicatedLog(NamedTuple):
    """One partition."""

    topic: _ReplicatedTopic
    partition: int

    @property
    def records(self) -> Mapping[Key, Value]:
        return self.topic.logs.get(self.partition, (0, {}))[1]

    def append(self, key: Key, value: Value | None) -> None:
        end, values = self.topic.logs.get(self.partition, (0, {}))
        values = {each: found for each, found in values.items() if each != key}
        if value is not None:
            values[key] = value
        self.topic.logs[self.partition] = end + 1, values

    def latest(self) -> dict[Key, Value]:
        return dict(self.records)


def _keep_newest(node: Any) -> None:
    core = node.coordinator.core
    logs = enumerate(core.storage.partitions)
    core.storage = _ReplicatedTopic({at: (log.end, log.latest()) for at, log in logs if log.end})


class _Storage:
    """See `protocols.engine.exploration.rules.Lasting`: the topic is the cluster's. One broker at a time writes to a
    partition, after it has been told what is there; so the longest log is the partition's."""

    def remains(self, node: Broker) -> Any:
        return node.coordinator.core.storage.copy()

    def take_over(self, node: Broker, name: str, remains: Mapping[str, Any]) -> None:
        core: Any = node.coordinator.core
        for topic in remains.values():
            for partition, log in topic.copy().logs.items():
                if log[0] > core.storage.logs.get(partition, (0,))[0]:
                    core.storage.logs[partition] = log


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
    caches={
        "Core": frozenset({"storage", "queues", "_known"}),
        "Broker": frozenset({"_answers"}),
        "ConsumerGroup": frozenset({"balance", "iterated"}),
    },
    clients=(Consumer,),
    seen=lambda node: (type(node).__name__, isinstance(node, Consumer) and node.is_over),
    answering=(Broker,),
    constant=(MetadataRequest, FindCoordinator),
    housekeeping=_housekeeping,
    adopt={Broker: _write_nothing},
    forget={Broker: _forget_connections, Consumer: _forget_past},
)

_RULES_OF_LEADERS: Final = replace(
    _RULES,
    caches={**_RULES.caches, "Core": frozenset({"queues", "_known"})},
    adopt={Broker: _keep_newest},
    lasting={Broker: _Storage()},
    housekeeping=_is_expiry,
)


def rules(*, brokers_end: bool) -> NodeRules:
    """Of a world in which brokers end and others lead in their place, or none does."""
    return _RULES_OF_LEADERS if brokers_end else _RULES
