"""Plays recorded calls of RocketMQ's allocation strategies, each as one client makes it for one topic.

Everything recorded is compared: the positions returned, in order; null; configured queues; exceptions with type
and text (no text where it is the JVM's own); a constructor's exception; the strategy's name; which ids were asked.
"""

from collections.abc import Callable, Mapping

from compare.conformance.cases import Difference, Line, MalformedCase, Player
from compare.conformance.rocketmq_fields import MOST_VIRTUAL_NODES, NO_FIELD, count, get, only, queues, texts
from compare.json_types import Json
from protocols import Queue, sort_queues
from protocols.java import sorted_as_java, string_hash
from rocketmq_selfbalance.catalogue import (
    AllocationError,
    Averagely,
    AveragelyByCircle,
    ByConfig,
    ByMachineRoom,
    ConsistentHash,
    MachineRoomNearby,
    MachineRoomResolver,
    PositionStrategy,
    Strategy,
)

_HEAD = ("case_id", "kind", "strategy_class", "strategy", "params")
_CALLED = (*_HEAD, "consumer_group", "sorted_inputs", "mq_all", "cid_all", "calls")
_REFUSED = (*_HEAD, "construct_error")
_ANSWERS = ("result", "result_queues", "error")
_STRING_HASH = "abs(java_string_hash(key)) % mod"


def play(line: Line) -> list[Difference]:
    """Make the strategy object, and ask it what the real one was asked."""
    case = str(line.get("case_id"))
    try:
        strategy = _strategy(line)
    except AllocationError as error:
        only(line, "", _REFUSED)
        return [
            *_compare(case, "construct_error", line.get("construct_error", NO_FIELD), _thrown(error)),
            *_compare(case, "strategy", line.get("strategy"), ConsistentHash.name),
        ]
    if "construct_error" in line:
        return [Difference(case, "construct_error", line["construct_error"], "the strategy object is made")]
    only(line, "", _CALLED)
    consumer_group = get(line, "consumer_group", str, type(None))
    mq_all, cid_all = queues(line, "mq_all"), texts(line, "cid_all", nullable=True)
    listed = enumerate(get(line, "calls", list))
    calls = [only(call, f"calls[{number}]", ("current_cid", *_ANSWERS)) for number, call in listed]
    asked = [get(call, "current_cid", str, type(None)) for call in calls]
    to_ask = list(dict.fromkeys(cid_all or ()))
    differences = _compare(case, "strategy", line.get("strategy"), strategy.name)
    differences += _compare(case, "calls", asked[: len(to_ask)], to_ask)
    differences += _compare_sorted_inputs(case, line, mq_all or [], cid_all or [])
    for number, call in enumerate(calls):
        answer = _answer(strategy, consumer_group, asked[number], mq_all, cid_all)
        recorded = {name: call[name] for name in _ANSWERS if name in call}
        differences += _compare(case, f"calls[{number}]", recorded, answer)
    return differences


def _answer(
    strategy: Strategy,
    consumer_group: str | None,
    current_cid: str | None,
    mq_all: list[Queue] | None,
    cid_all: list[str] | None,
) -> dict[str, object]:
    """An answer as the recording writes it."""
    try:
        if isinstance(strategy, PositionStrategy):
            return {"result": list(strategy.positions(current_cid, mq_all, cid_all))}
        taken = strategy.allocate(consumer_group, current_cid, mq_all, cid_all)
    except AllocationError as error:
        return {"error": _thrown(error)}
    return {"result": None} if taken is None else {"result_queues": [list(queue) for queue in taken]}


def _thrown(error: AllocationError) -> dict[str, str | None]:
    return {"type": error.type, "message": error.message}


def _compare(case: str, field: str, expected: object, got: object) -> list[Difference]:
    return [] if expected == got else [Difference(case, field, expected, got)]


def _compare_sorted_inputs(case: str, line: Line, mq_all: list[Queue], cid_all: list[str]) -> list[Difference]:
    """The recording says whether it shuffled the lists; shuffled short lists can be sorted by chance."""
    claimed = get(line, "sorted_inputs", bool)
    in_order = mq_all == list(sort_queues(mq_all)) and cid_all == sorted_as_java(cid_all)
    by_chance = in_order and line.get("kind") == "edge_unsorted"
    return [] if by_chance else _compare(case, "sorted_inputs", claimed, in_order)


# --- strategy objects from a case's parameters ---------------------------------------------------------------------


def _strategy(line: Line) -> Strategy:
    name, params = get(line, "strategy_class", str), get(line, "params", dict)
    if name not in _CLASSES:
        raise MalformedCase("strategy_class", f"one of {', '.join(_CLASSES)}", name)
    known, make = _CLASSES[name]
    only(params, "params", known)
    return make(params)


def _consistent_hash(params: Mapping[str, Json]) -> ConsistentHash:
    virtual_nodes = count(params, "virtual_node_count", MOST_VIRTUAL_NODES)
    if "custom_hash" not in params:
        return ConsistentHash(virtual_nodes)
    if params["custom_hash"] != _STRING_HASH:
        raise MalformedCase("params.custom_hash", _STRING_HASH, params["custom_hash"])
    return ConsistentHash(virtual_nodes, _string_hash_modulo(get(params, "mod", int)))


def _string_hash_modulo(modulus: int) -> Callable[[str], int]:
    def hash_function(text: str) -> int:
        unsigned = string_hash(text)
        return min(unsigned, (1 << 32) - unsigned) % modulus

    return hash_function


def _by_config(params: Mapping[str, Json]) -> ByConfig:
    listed = queues(params, "message_queue_list")
    return ByConfig(None if listed is None else tuple(listed))


def _by_machine_room(params: Mapping[str, Json]) -> ByMachineRoom:
    rooms = texts(params, "consumer_idcs", nullable=True)
    return ByMachineRoom(None if rooms is None else frozenset(rooms))


def _machine_room_nearby(params: Mapping[str, Json]) -> MachineRoomNearby:
    inner: dict[str, Callable[[], PositionStrategy]] = {
        Averagely.name: Averagely,
        AveragelyByCircle.name: AveragelyByCircle,
        ConsistentHash.name: lambda: ConsistentHash(count(params, "inner_virtual_node_count", MOST_VIRTUAL_NODES)),
    }
    name = get(params, "inner_strategy", str)
    if name not in inner:
        raise MalformedCase("params.inner_strategy", f"one of {', '.join(inner)}", name)
    if params.get("resolver") != "dash":
        raise MalformedCase("params.resolver", "dash", params.get("resolver"))
    return MachineRoomNearby(inner[name](), _DASH)


_DASH = MachineRoomResolver(
    broker_deploy_in=lambda queue: queue.broker.partition("-")[0] if "-" in queue.broker else None,
    consumer_deploy_in=lambda cid: cid.rpartition("-")[2] if "-" in cid else None,
)

_CLASSES: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, Json]], Strategy]]] = {
    "AllocateMessageQueueAveragely": ((), lambda params: Averagely()),
    "AllocateMessageQueueAveragelyByCircle": ((), lambda params: AveragelyByCircle()),
    "AllocateMessageQueueConsistentHash": (("virtual_node_count", "custom_hash", "mod"), _consistent_hash),
    "AllocateMessageQueueByConfig": (("message_queue_list",), _by_config),
    "AllocateMessageQueueByMachineRoom": (("consumer_idcs",), _by_machine_room),
    "AllocateMachineRoomNearby": (("inner_strategy", "inner_virtual_node_count", "resolver"), _machine_room_nearby),
}

STRATEGY_CALLS = Player(
    "RocketMQ strategy calls",
    lambda line: not {"strategy_class", "mq_all", "construct_error"}.isdisjoint(line) and "trace_id" not in line,
    play,
)
