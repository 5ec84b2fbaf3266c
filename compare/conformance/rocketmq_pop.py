"""Plays recorded answers of brokers that allocate for members (QUERY_ASSIGNMENT): `pop-assignment.jsonl.gz`.

A case is one broker, topic and group, with the question of each member and of strangers; every answer is compared. The
format is in tests/golden/rocketmq/FORMAT-pop.md.
"""

from collections.abc import Mapping
from typing import Final

from compare.conformance.cases import Difference, Line, MalformedCase, Player
from compare.conformance.fields import count, get, only, texts
from compare.json_types import Json
from protocols import Queue
from rocketmq_selfbalance.cluster import Mode, Question, RequestModes, assigned

_LINE: Final = (
    *("case_id", "kind", "broker", "topic", "group", "message_model", "strategy_name", "mode_set", "route"),
    *("static_mapping", "client_ids", "calls"),
)
_BROKER: Final = ("name", "default_message_request_mode", "default_pop_share_queue_num", "server_load_balancer_enable")
_READABLE: Final = 4


def play(line: Line) -> list[Difference]:
    """Ask the broker what the real one was asked."""
    only(line, "", _LINE)
    case, topic, group = get(line, "case_id", str), get(line, "topic", str), get(line, "group", str)
    get(line, "kind", str)
    broker = only(get(line, "broker", dict), "broker", _BROKER)
    modes = RequestModes(
        Mode(get(broker, "default_message_request_mode", str), get(broker, "default_pop_share_queue_num", int))
    )
    if mode_set := get(line, "mode_set", dict, type(None)):
        entry = Mode(get(mode_set, "mode", str, type(None)) or "PULL", get(mode_set, "pop_share_queue_num", int))
        modes.table[topic, group] = entry
    mode, route, client_ids = modes.of(topic, group), readable(line, "route", topic), texts(line, "client_ids", True)
    broadcasting = get(line, "message_model", str) == "BROADCASTING"
    balances = get(broker, "server_load_balancer_enable", bool)
    differences = []
    for number, given in enumerate(get(line, "calls", list)):
        call = only(given, f"calls[{number}]", ("client_id", "assignment"))
        asked = Question(
            topic, get(call, "client_id", str, type(None)), get(line, "strategy_name", str, type(None)), broadcasting
        )
        queues = assigned(asked, mode, get(broker, "name", str), route, client_ids, balances)
        got = None if queues is None else [[queue.broker, queue.number, mode.mode] for queue in queues]
        if call.get("assignment", "missing") != got:
            differences.append(Difference(case, f"calls[{number}].assignment", call.get("assignment"), got))
    return differences


ASSIGNMENTS = Player(
    "RocketMQ answers of brokers that allocate", lambda line: {"mode_set", "route", "calls"} <= line.keys(), play
)


def readable(record: Mapping[str, Json], name: str, topic: str) -> list[Queue] | None:
    """The readable queues of a route ``[[broker, read queues, permission], ...]``; None where there is no route."""
    rows = get(record, name, list, type(None))
    if rows is None:
        return None
    queues: list[Queue] = []
    for row in rows:
        match row:
            case [str(broker), int(), int(permission)]:
                numbers = range(count({"queues": row[1]}, "queues") if permission & _READABLE else 0)
                queues += [Queue(topic, broker, number) for number in numbers]
            case _:
                raise MalformedCase(name, "[broker, read queues, permission]", row)
    return queues
