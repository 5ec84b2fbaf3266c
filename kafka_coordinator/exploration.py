"""What the explorer has to know of Kafka's nodes (`protocols.engine.exploration`)."""

from collections.abc import Mapping
from typing import Any, Final

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
    """A log that nobody reads: no broker begins to lead in the explorer's world."""

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


def _forget_connections(node: Any, timers: dict[TimerName, Time]) -> None:
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
    return timer == METADATA or (isinstance(timer, tuple) and timer[0] == "expiry")


RULES: Final = NodeRules(
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
