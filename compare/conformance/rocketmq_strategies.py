"""Plays recorded calls of RocketMQ's allocation strategies, each as one client makes it for one topic, and groups with
several topics, in which every client balances itself, topic by topic.

Everything recorded is compared. Of calls: the positions returned, in order; null; configured queues; exceptions with
type and text (no text where it is the JVM's own); a constructor's exception; the strategy's name; which ids were asked.
Of groups: the clients, the queues that each took of each topic it reads (of some maybe none), the totals, and the
queues without an owner.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field

from compare.conformance.cases import Difference, Line, MalformedCase, Player
from compare.conformance.fields import NO_FIELD, arguments, get, names_of, only
from compare.json_types import Json
from protocols import Allocation, Group, Member, Queue, sort_queues
from protocols.java import sorted_as_java, string_hash, utf16_key
from rocketmq_selfbalance import allocate
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


class _Inputs(NamedTuple):
    """What every call of a case is given."""

    consumer_group: str | None
    mq_all: list[Queue] | None
    cid_all: list[str] | None
    sorted_inputs: bool
    kind: object


def play_calls(line: Line) -> list[Difference]:
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
    inputs = _Inputs(*arguments(_Inputs, line))
    listed = enumerate(get(line, "calls", list))
    calls = [only(call, f"calls[{number}]", ("current_cid", *_ANSWERS)) for number, call in listed]
    asked = [get(call, "current_cid", str, type(None)) for call in calls]
    to_ask = list(dict.fromkeys(inputs.cid_all or ()))
    differences = _compare(case, "strategy", line.get("strategy"), strategy.name)
    differences += _compare(case, "calls", asked[: len(to_ask)], to_ask)
    differences += _compare_sorted_inputs(case, inputs)
    for number, call in enumerate(calls):
        answer = _answer(strategy, inputs, asked[number])
        recorded = {name: call[name] for name in _ANSWERS if name in call}
        differences += _compare(case, f"calls[{number}]", recorded, answer)
    return differences


def _answer(strategy: Strategy, inputs: _Inputs, current_cid: str | None) -> dict[str, object]:
    """An answer as the recording writes it."""
    try:
        if isinstance(strategy, PositionStrategy):
            return {"result": list(strategy.positions(current_cid, inputs.mq_all, inputs.cid_all))}
        taken = strategy.allocate(inputs.consumer_group, current_cid, inputs.mq_all, inputs.cid_all)
    except AllocationError as error:
        return {"error": _thrown(error)}
    return {"result": None} if taken is None else {"result_queues": [list(queue) for queue in taken]}


def _thrown(error: AllocationError) -> dict[str, str | None]:
    return {"type": error.type, "message": error.message}


def _compare(case: str, field: str, expected: object, got: object) -> list[Difference]:
    return [] if expected == got else [Difference(case, field, expected, got)]


def _compare_sorted_inputs(case: str, inputs: _Inputs) -> list[Difference]:
    """The recording says whether it shuffled the lists; shuffled short lists can be sorted by chance."""
    mq_all, cid_all = inputs.mq_all or [], inputs.cid_all or []
    in_order = mq_all == list(sort_queues(mq_all)) and cid_all == sorted_as_java(cid_all)
    by_chance = in_order and inputs.kind == "edge_unsorted"
    return [] if by_chance else _compare(case, "sorted_inputs", inputs.sorted_inputs, in_order)


# --- strategy objects from a case's parameters ---------------------------------------------------------------------


def _strategy(line: Line) -> Strategy:
    name, params = get(line, "strategy_class", str), get(line, "params", dict)
    if name not in _CLASSES:
        raise MalformedCase("strategy_class", f"one of {', '.join(_CLASSES)}", name)
    make = _CLASSES[name]
    only(params, "params", names_of(make))
    return make(*arguments(make, params))


VirtualNodes: TypeAlias = Annotated[int, Field(le=10_000)]
"""Of each client on the ring of consistent hashing."""

StringHash: TypeAlias = Literal["abs(java_string_hash(key)) % mod"]


def _consistent_hash(
    virtual_node_count: VirtualNodes, custom_hash: StringHash | None = None, mod: int = 0
) -> ConsistentHash:
    return ConsistentHash(virtual_node_count, *([_string_hash_modulo(mod)] if custom_hash else ()))


def _string_hash_modulo(modulus: int) -> Callable[[str], int]:
    def hash_function(text: str) -> int:
        unsigned = string_hash(text)
        return min(unsigned, (1 << 32) - unsigned) % modulus

    return hash_function


def _by_config(message_queue_list: list[Queue] | None) -> ByConfig:
    return ByConfig(None if message_queue_list is None else tuple(message_queue_list))


def _by_machine_room(consumer_idcs: list[str] | None) -> ByMachineRoom:
    return ByMachineRoom(None if consumer_idcs is None else frozenset(consumer_idcs))


def _machine_room_nearby(
    inner_strategy: str, resolver: Literal["dash"], inner_virtual_node_count: VirtualNodes = 0
) -> MachineRoomNearby:
    inner: dict[str, Callable[[], PositionStrategy]] = {
        Averagely.name: Averagely,
        AveragelyByCircle.name: AveragelyByCircle,
        ConsistentHash.name: lambda: ConsistentHash(inner_virtual_node_count),
    }
    if inner_strategy not in inner:
        raise MalformedCase("params.inner_strategy", f"one of {', '.join(inner)}", inner_strategy)
    return MachineRoomNearby(inner[inner_strategy](), _DASH)


_DASH = MachineRoomResolver(
    broker_deploy_in=lambda queue: queue.broker.partition("-")[0] if "-" in queue.broker else None,
    consumer_deploy_in=lambda cid: cid.rpartition("-")[2] if "-" in cid else None,
)

_CLASSES: Mapping[str, Callable[..., Strategy]] = {
    "AllocateMessageQueueAveragely": lambda: Averagely(),
    "AllocateMessageQueueAveragelyByCircle": lambda: AveragelyByCircle(),
    "AllocateMessageQueueConsistentHash": _consistent_hash,
    "AllocateMessageQueueByConfig": _by_config,
    "AllocateMessageQueueByMachineRoom": _by_machine_room,
    "AllocateMachineRoomNearby": _machine_room_nearby,
}

STRATEGY_CALLS = Player(
    "RocketMQ strategy calls",
    lambda line: not {"strategy_class", "mq_all", "construct_error"}.isdisjoint(line) and "trace_id" not in line,
    play_calls,
)


_OF_GROUP = (
    *("case_id", "kind", "strategy", "params", "consumer_group", "cid_all", "topics", "subscriptions"),
    *("allocation", "queues_without_owner"),
)


def play_group(line: Line) -> list[Difference]:
    """Let the group allocate, and compare everybody's share."""
    only(line, "", _OF_GROUP)
    params = get(line, "params", dict)
    only(params, "params", names_of(_settings))
    settings = _settings(*arguments(_settings, params))
    allocation = allocate(get(line, "strategy", str), _group(*arguments(_group, line)), settings)
    case = str(line.get("case_id"))
    differences = _compare_clients(case, get(line, "allocation", list), _clients(allocation))
    # Not `Allocation.unowned`: the recording lists queues of topics that nobody reads as well.
    ownerless = [list(each) for each in sort_queues(q for q, owners in allocation.owners.items() if not owners)]
    recorded = line.get("queues_without_owner", NO_FIELD)
    if recorded != ownerless:
        differences.append(Difference(case, "queues_without_owner", recorded, ownerless))
    return differences


def _settings(virtual_node_count: VirtualNodes | None = None) -> dict[str, object]:
    return {} if virtual_node_count is None else {"virtual_nodes": virtual_node_count}


def _group(
    consumer_group: str,
    cid_all: list[str],
    topics: dict[str, list[tuple[str, int]]],
    subscriptions: dict[str, list[str]] | None,
) -> Group:
    if subscriptions is None:
        subscriptions = {cid: list(topics) for cid in cid_all}
    elif subscriptions.keys() != set(cid_all):
        raise MalformedCase("subscriptions", "one entry for each id of cid_all", sorted(subscriptions))
    queues = {topic: tuple(Queue(topic, *each) for each in listed) for topic, listed in topics.items()}
    # Client ids need not be unique, members' ids are.
    members = [
        Member(f"{number}: {cid}", tuple(subscriptions[cid]), client_id=cid) for number, cid in enumerate(cid_all)
    ]
    return Group(tuple(members), queues, name=consumer_group)


def _clients(allocation: Allocation) -> list[dict[str, object]]:
    clients = []
    for member in sorted(allocation.group.members, key=lambda member: utf16_key(member.allocation_id)):
        by_topic: dict[str, list[list[str | int]]] = {topic: [] for topic in member.subscription}
        for topic, broker, number in allocation[member.id]:
            by_topic[topic].append([broker, number])
        total = len(allocation[member.id])
        clients.append({"client_id": member.allocation_id, "total": total, "queues_by_topic": by_topic})
    return clients


def _compare_clients(case: str, recorded: list[Json], clients: list[dict[str, object]]) -> list[Difference]:
    if len(recorded) != len(clients):
        return [Difference(case, "allocation", f"{len(recorded)} clients", f"{len(clients)} clients")]
    differences = []
    for number, (client, got) in enumerate(zip(recorded, clients, strict=True)):
        expected = only(client, f"allocation[{number}]", got)
        for name, value in got.items():
            if expected.get(name, NO_FIELD) != value:
                path = f"allocation[{number}].{name}"
                differences.append(Difference(case, path, expected.get(name, NO_FIELD), value))
    return differences


def _is_group(line: Line) -> bool:
    known = {"queues_without_owner", "subscriptions", "cid_all"}
    return not known.isdisjoint(line) and "mq_all" not in line and "trace_id" not in line


STRATEGY_GROUPS = Player("RocketMQ groups over several topics", _is_group, play_group)
