"""Plays recorded answers of brokers that allocate for members (QUERY_ASSIGNMENT): `pop-assignment.jsonl.gz`.

A case is one broker, topic and group, with the question of each member and of strangers; every answer is compared. The
format is in tests/golden/rocketmq/FORMAT-pop.md.
"""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from compare.conformance.cases import Difference, Line, Player, validated
from protocols import Queue
from rocketmq_selfbalance.cluster import Mode, Question, RequestModes, assigned

_READABLE: Final = 4
_MOST_QUEUES: Final = 100_000


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Broker(_Part):
    name: str
    default_message_request_mode: str
    default_pop_share_queue_num: StrictInt
    server_load_balancer_enable: StrictBool


class _ModeSet(_Part):
    mode: str | None
    pop_share_queue_num: StrictInt


class _Call(_Part):
    client_id: str | None
    assignment: list[tuple[str, StrictInt, str]] | None


class _Case(_Part):
    case_id: str
    kind: str
    broker: _Broker
    topic: str
    group: str
    message_model: Literal["CLUSTERING", "BROADCASTING"]
    strategy_name: str | None
    mode_set: _ModeSet | None
    route: list[tuple[str, Annotated[StrictInt, Field(ge=0, le=_MOST_QUEUES)], StrictInt]] | None
    """Broker, queues to read, permission; the broker takes the physical queues, whatever ``static_mapping`` says."""
    static_mapping: list[tuple[str, StrictInt]] | None = None
    client_ids: list[str] | None
    calls: list[_Call]


def play(line: Line) -> list[Difference]:
    """Ask the broker what the real one was asked."""
    case = validated(_Case, line)
    broker = case.broker
    modes = RequestModes(Mode(broker.default_message_request_mode, broker.default_pop_share_queue_num))
    if case.mode_set is not None:
        # By hand: an entry may hold no mode, which nobody can ask for.
        modes.table[case.topic, case.group] = Mode(case.mode_set.mode or "PULL", case.mode_set.pop_share_queue_num)
    mode = modes.of(case.topic, case.group)
    route = None if case.route is None else [queue for row in case.route for queue in _readable(case.topic, *row)]
    differences = []
    for number, call in enumerate(case.calls):
        asked = Question(case.topic, call.client_id, case.strategy_name, case.message_model == "BROADCASTING")
        queues = assigned(asked, mode, broker.name, route, case.client_ids, broker.server_load_balancer_enable)
        got = None if queues is None else [(queue.broker, queue.number, mode.mode) for queue in queues]
        if call.assignment != got:
            differences.append(Difference(case.case_id, f"calls[{number}].assignment", call.assignment, got))
    return differences


ASSIGNMENTS = Player(
    "RocketMQ answers of brokers that allocate", lambda line: {"mode_set", "route", "calls"} <= line.keys(), play
)


def _readable(topic: str, broker: str, count: int, permission: int) -> list[Queue]:
    return [Queue(topic, broker, number) for number in range(count if permission & _READABLE else 0)]
