"""Whoever searches for a class of RocketMQ's broker or name server finds the module that models it."""

import ast
import re
from pathlib import Path

import pytest

import rocketmq_selfbalance

ROOT = Path(rocketmq_selfbalance.__file__).parent
OWN = {"__init__", "followed", "following", "resting"}
"""Modules that model no class: the package's door, and the passing over of quiet times."""

MODULES = [path for folder in ("broker", "nameserver") for path in sorted((ROOT / folder).glob("*.py"))]

HOMES = {
    "PullMessageProcessor": "broker/pulls.py",
    "PullRequestHoldService": "broker/pulls.py",
    "ClientManageProcessor": "broker/requests.py",
    "ConsumerManageProcessor": "broker/requests.py",
    "SendMessageProcessor": "broker/sent_back.py",
    "AdminBrokerProcessor": "broker/administration.py",
    "ClientHousekeepingService": "broker/connections.py",
    "DefaultConsumerIdsChangeListener": "broker/notifying.py",
    "Broker2Client": "broker/notifying.py",
    "BrokerOuterAPI": "broker/registering.py",
    "ScheduleMessageService": "broker/delivering.py",
    "ConsumerManager": "broker/consumers.py",
    "ConsumerGroupInfo": "broker/consumer_group.py",
    "ConsumerOffsetManager": "broker/offsets.py",
    "RebalanceLockManager": "broker/locks.py",
    "SubscriptionGroupManager": "broker/subscription_groups.py",
    "TopicConfigManager": "broker/topics.py",
    "DefaultMessageStore": "broker/store.py",
    "BrokerController": "broker/state.py",
    "BrokerConfig": "broker/settings.py",
    "RouteInfoManager": "nameserver/route_info.py",
    "DefaultRequestProcessor": "nameserver/node.py",
    "NamesrvConfig": "nameserver/settings.py",
}
"""Class of RocketMQ 5.3.3 to the module that models it."""


def named_in(path: Path) -> set[str]:
    """RocketMQ's classes that the module's docstring names."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return set(re.findall(r"``([A-Z]\w+)", text))


@pytest.mark.parametrize("path", [path for path in MODULES if path.stem not in OWN], ids=lambda path: path.stem)
def test_every_module_names_the_class_that_it_models(path: Path) -> None:
    assert named_in(path)


@pytest.mark.parametrize("real", HOMES)
def test_a_real_class_has_a_module(real: str) -> None:
    assert real in named_in(ROOT / HOMES[real])
