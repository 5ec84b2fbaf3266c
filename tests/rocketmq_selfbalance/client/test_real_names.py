"""Who knows RocketMQ's client by its real names finds the room that models each of them, and can follow a pass of the
rebalance thread from its trigger to the changed table."""

import ast
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from rocketmq_selfbalance.client import process_queue_table, rebalance_service
from tests.rocketmq_selfbalance.client.client_cluster import Cluster

CLIENT = Path(__file__).parents[3] / "rocketmq_selfbalance" / "client"
ROOMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(CLIENT.glob("*.py"))}

NAMES: Mapping[str, str] = {
    "RebalanceService": "rebalance_service",
    "rebalanceImmediately": "rebalance_service",
    "doRebalance": "rebalance_service",
    "tryRebalance": "rebalance_service",
    "rebalanceByTopic": "rebalance_service",
    "truncateMessageQueueNotMyTopic": "rebalance_service",
    "updateProcessQueueTableInRebalance": "process_queue_table",
    "dispatchPullRequest": "process_queue_table",
    "removeDirtyOffset": "process_queue_table",
    "messageQueueChanged": "message_queue_changed",
    "computePullFromWhere": "pull_from_where",
    "removeUnnecessaryMessageQueue": "removal",
    "removeProcessQueue": "removal",
    "tryRemoveOrderMessageQueue": "removal",
    "lockAll": "locks",
    "ProcessQueue": "process_queue",
    "MQClientInstance": "instance",
    "OffsetStore": "offset_store",
    "RemoteBrokerOffsetStore": "offset_store",
    "LocalFileOffsetStore": "offset_store",
    "persistAll": "persisting",
    "PullMessageService": "pulling",
    "PullCallback": "pulling",
    "ConsumeMessageConcurrentlyService": "consuming",
    "ConsumeMessageOrderlyService": "consuming_orderly",
    "ConsumeMessagePopOrderlyService": "consuming_orderly",
    "DefaultLitePullConsumerImpl": "polling",
    "sendMessageBack": "giving_back",
    "sendHeartbeatToAllBrokerWithLock": "heartbeat",
    "notifyConsumerIdsChanged": "node",
    "updateTopicRouteInfoFromNameServer": "routing",
    "persistAllConsumerOffset": "tasks",
    "resetOffset": "resetting",
    "AllocateMessageQueueStrategy": "allocation",
}
"""A name of RocketMQ's own to the room where a search for it has to lead."""

OURS = {"__init__", "following", "instance_state", "observed", "passing_over", "resting", "timers", "world"}
"""Rooms that model no class of RocketMQ's."""

MOST_ROOMS = 4
"""A name that stands in more rooms than these leads nowhere."""


@pytest.mark.parametrize("name", NAMES)
def test_a_search_for_a_real_name_leads_to_its_room(name: str) -> None:
    found = [room for room, text in ROOMS.items() if re.search(rf"``(\w+\.)?{name}(\.\w+)?``", text)]
    assert NAMES[name] in found
    assert len(found) <= MOST_ROOMS


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in OURS])
def test_every_room_says_what_it_models(room: str) -> None:
    told = ast.get_docstring(ast.parse(ROOMS[room])) or ""
    assert re.search(r"``[A-Za-z.]*[a-z][A-Z]\w*(\.\w+)?``|``[a-z]+[A-Z]\w*``|``ProcessQueue``", told)


PATH = (
    "rebalance_immediately",
    "run",
    "try_rebalance",
    "do_rebalance",
    "rebalance_by_topic",
    "update_process_queue_table_in_rebalance",
    "dispatch_pull_request",
)
TWO = {str(CLIENT / f"{room}.py") for room in ("rebalance_service", "process_queue_table")}


def called_in(work: Any, files: set[str]) -> list[tuple[str, str, int]]:
    """What of these files is called meanwhile, in order: file, function and line."""
    found = []

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename in files:
            found.append((code.co_filename, code.co_name, code.co_firstlineno))

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def test_a_pass_goes_through_two_files_under_the_real_names_and_downwards() -> None:
    cluster = Cluster({"T": 2})
    cluster.start("c1")
    called = called_in(lambda: cluster.run(2_000.0), TWO)
    assert len(cluster.owns("c1")) == 4
    left = iter(called)
    steps = [next(each for each in left if each[1] == name) for name in PATH]  # in this order
    for of in TWO:
        lines = [line for file, _, line in steps if file == of]
        assert lines == sorted(lines)


@pytest.mark.parametrize("module", [rebalance_service, process_queue_table], ids=lambda module: module.__name__)
def test_each_step_stands_above_what_does_it_and_below_what_asks_for_it(module: Any) -> None:
    tree = ast.parse(ROOMS[module.__name__.rpartition(".")[2]])
    steps = {node.name: node.lineno for node in tree.body if isinstance(node, ast.ClassDef)}
    handled = {step.__name__: handler.__code__ for step, handler in module.HANDLERS.items()}
    wrong = [
        f"{function.name} asks for {name}"
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        for name in {node.func.id for node in ast.walk(function) if _calls_name(node)} & steps.keys()
        if steps[name] < function.lineno and handled[name].co_name != function.name
    ]
    assert not wrong
    assert all(steps[name] < handled[name].co_firstlineno for name in steps)


def _calls_name(node: Any) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
