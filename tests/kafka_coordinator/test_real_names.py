"""Each file names in its docstring the class or method of Kafka that it models: a search for that leads there."""

import ast
from pathlib import Path

import pytest

import kafka_coordinator

ROOT = Path(kafka_coordinator.__file__).parent
PACKAGES = ("consumer", "consumer/state", "coordinator", "zookeeper", "assignors")

NOTHING_LIKE_IT = {
    "consumer/__init__.py",
    "coordinator/__init__.py",
    "zookeeper/__init__.py",
    "assignors/__init__.py",
    "consumer/state/__init__.py",
    "consumer/state/consumer.py",  # the records put together
    "coordinator/grant_facts.py",  # what the simulation's observer sees
    "consumer/poison_watch.py",  # the user's own code, which tries a record again
    "consumer/standing_still.py",
    "zookeeper/cluster.py",  # how a scenario reaches the nodes
    "zookeeper/topics.py",
    "zookeeper/catalogue.py",
    "zookeeper/exploration.py",  # what the explorer is told of the nodes
    "zookeeper/messages.py",  # names ZooKeeper's operations one by one
    "assignors/inputs.py",  # steps of an assignor, cut otherwise than Kafka's methods are
    "assignors/dealing.py",
    "assignors/doubly_owned.py",
    "assignors/loads.py",
    "assignors/placement.py",
    "assignors/rack_round.py",
    "assignors/racks.py",
    "assignors/shares.py",
    "assignors/subscribers.py",
    "assignors/subscription_kinds.py",
    "assignors/topics.py",
}
"""Files without a counterpart, with the reason where it is not plain."""

ROOMS = {
    "onJoinPrepare": "consumer/joining.py",
    "joinGroupIfNeeded": "consumer/joining.py",
    "JoinGroupResponseHandler": "consumer/joining.py",
    "onJoinComplete": "consumer/join_complete.py",
    "HeartbeatThread": "consumer/heartbeats.py",
    "OffsetCommitResponseHandler": "consumer/commits.py",
    "ensureCoordinatorReady": "consumer/lookup.py",
    "onLeavePrepare": "consumer/leaving.py",
    "ConsumerRebalanceListener": "consumer/callbacks.py",
    "Fetcher": "consumer/reading.py",
    "MemberState": "consumer/states.py",
    "classicGroupJoin": "coordinator/join.py",
    "prepareRebalance": "coordinator/rebalance.py",
    "DelayedJoin": "coordinator/rebalance.py",
    "classicGroupSync": "coordinator/sync.py",
    "classicGroupLeave": "coordinator/leave.py",
    "DelayedHeartbeat": "coordinator/sessions.py",
    "cleanupExpiredOffsets": "coordinator/expiry.py",
    "ClassicGroup": "coordinator/group.py",
    "ClassicGroupMember": "coordinator/members.py",
    "ZKRebalancerListener": "zookeeper/rebalancer.py",
    "ConstrainedAssignmentBuilder": "assignors/constrained.py",
    "CooperativeStickyAssignor": "assignors/sticky.py",
}
"""A name that somebody who knows Kafka searches for, and the file where it is modelled."""


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


FILES = {path.relative_to(ROOT).as_posix(): docstring(path) for each in PACKAGES for path in (ROOT / each).glob("*.py")}


@pytest.mark.parametrize("file", sorted(FILES.keys() - NOTHING_LIKE_IT))
def test_a_file_names_what_it_models(file: str) -> None:
    text = " ".join(FILES[file].split())
    assert any(f"{begins} {system}" in text for begins in ("In", "in") for system in ("Kafka", "ZooKeeper")), text


@pytest.mark.parametrize(("name", "file"), ROOMS.items())
def test_a_search_for_a_real_name_leads_to_its_file(name: str, file: str) -> None:
    assert f"`{name}`" in FILES[file] or f".{name}`" in FILES[file]
