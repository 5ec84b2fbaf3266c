"""Plays recorded RocketMQ groups with several topics, in which every client balances itself, topic by topic.

Compared are the clients, the queues that each took of each topic it reads (of some maybe none), the totals,
and the queues without an owner.
"""

from compare.conformance.cases import Difference, Line, MalformedCase, Player
from compare.conformance.rocketmq_fields import MOST_VIRTUAL_NODES, NO_FIELD, count, get, only, queue, texts
from compare.json_types import Json
from protocols import Allocation, Group, Member, Queue, sort_queues
from protocols.java import utf16_key
from rocketmq_selfbalance import allocate

_FIELDS = (
    *("case_id", "kind", "strategy", "params", "consumer_group", "cid_all", "topics", "subscriptions"),
    *("allocation", "queues_without_owner"),
)
_SETTINGS = {"virtual_node_count": "virtual_nodes"}


def play(line: Line) -> list[Difference]:
    """Let the group allocate, and compare everybody's share."""
    only(line, "", _FIELDS)
    params = get(line, "params", dict)
    only(params, "params", _SETTINGS)
    settings = {_SETTINGS[name]: count(params, name, MOST_VIRTUAL_NODES) for name in params}
    allocation = allocate(get(line, "strategy", str), _group(line), settings)
    case = str(line.get("case_id"))
    differences = _compare_clients(case, get(line, "allocation", list), _clients(allocation))
    # Not `Allocation.unowned`: the recording lists queues of topics that nobody reads as well.
    ownerless = [list(each) for each in sort_queues(q for q, owners in allocation.owners.items() if not owners)]
    recorded = line.get("queues_without_owner", NO_FIELD)
    if recorded != ownerless:
        differences.append(Difference(case, "queues_without_owner", recorded, ownerless))
    return differences


def _group(line: Line) -> Group:
    topics: dict[str, tuple[Queue, ...]] = {}
    for topic in (listed := get(line, "topics", dict)):
        topics[topic] = tuple(queue(f"topics.{topic}", each, topic) for each in get(listed, topic, list))
    cids = texts(line, "cid_all") or []
    subscriptions = get(line, "subscriptions", dict, type(None))
    if subscriptions is None:
        subscriptions = {cid: list(topics) for cid in cids}
    elif subscriptions.keys() != set(cids):
        raise MalformedCase("subscriptions", "one entry for each id of cid_all", sorted(subscriptions))
    # Client ids need not be unique, members' ids are.
    members = [
        Member(f"{number}: {cid}", tuple(texts(subscriptions, cid) or ()), client_id=cid)
        for number, cid in enumerate(cids)
    ]
    return Group(tuple(members), topics, name=get(line, "consumer_group", str))


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


STRATEGY_GROUPS = Player("RocketMQ groups over several topics", _is_group, play)
