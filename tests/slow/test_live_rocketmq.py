"""A running RocketMQ tells `observe` what mqadmin prints."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compare.reading.observed import ObservedGroup, SourceText
from compare.reading.rocketmq_live import observe
from tests.compare.reading.reading_rocketmq import read_all
from tests.slow.java import UnavailableError
from tests.slow.real_rocketmq import VERSIONS, RealRocketMQ, running

pytestmark = pytest.mark.slow

SETTLE_S = 60
GROUPS = ("fair", "mixed", "twice", "everybody", "gone")


@pytest.fixture(scope="module", params=VERSIONS)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRocketMQ]:
    try:
        with running(tmp_path_factory.mktemp("rocketmq"), request.param) as cluster:
            for topic, queues in (("orders", "4"), ("payments", "1")):
                cluster.mqadmin("updateTopic", "-c", "Test", "-t", topic, "-r", queues, "-w", queues)
            cluster.start_member("fair", "one", "orders", "payments")
            cluster.start_member("fair", "two", "orders", "payments")
            cluster.start_member("mixed", "one", "orders")
            cluster.start_member("mixed", "two", "orders", strategy="AveragelyByCircle")
            cluster.start_member("twice", "same", "orders")
            cluster.start_member("twice", "same", "orders")
            cluster.start_member("everybody", "one", "orders", model="BROADCASTING")
            gone = cluster.start_member("gone", "one", "orders")
            time.sleep(12)  # until the first offsets are persisted
            assert gone.stdin is not None
            gone.stdin.close()
            gone.wait(30)
            yield cluster
    except UnavailableError as reason:
        pytest.skip(str(reason))


def live(cluster: RealRocketMQ) -> dict[str, ObservedGroup]:
    found = observe(f"rocketmq://{cluster.name_server}")
    return {each.name: each for each in found if isinstance(each, ObservedGroup)}


def told_by_mqadmin(cluster: RealRocketMQ, group: ObservedGroup) -> ObservedGroup:
    views = [cluster.mqadmin("consumerConnection", "-g", group.name)]
    for id in sorted({member.id for member in group.members or ()}):
        views.append(cluster.mqadmin("consumerStatus", "-g", group.name, "-i", id))
    if group.mode == "shared":
        views.append(cluster.mqadmin("consumerProgress", "-g", group.name))
    sources = [SourceText("mqadmin", tuple("\n".join(views).split("\n")), given_group=group.name)]
    # The route's text does not name its topic: the file does.
    for topic in ("orders", "payments"):
        told = cluster.mqadmin("topicRoute", "-t", topic).split("\n")
        sources.append(SourceText(f"{topic}.topicRoute.txt", tuple(told), stem=f"{topic}.topicRoute"))
    ((found,), _) = read_all(sources)
    return found


@pytest.mark.parametrize("name", ["fair", "mixed", "twice", "everybody"])
def test_a_live_group_is_what_mqadmin_prints(cluster: RealRocketMQ, name: str) -> None:
    deadline = time.monotonic() + SETTLE_S
    while True:
        group = live(cluster)[name]
        printed = told_by_mqadmin(cluster, group)
        same = [
            replace(
                each,
                sources=(),
                notes=(),
                queues=tuple(queue for queue in each.queues or () if not queue.topic.startswith("%RETRY%")),
                lag={queue: lag for queue, lag in each.lag.items() if not queue.topic.startswith("%RETRY%")},
                ends={},  # of a text only lags are kept
            )
            for each in (group, printed)
        ]
        if same[0] == same[1] or time.monotonic() > deadline:
            break
    assert same[0] == same[1]


def test_members_with_different_strategies_own_queues_twice(cluster: RealRocketMQ) -> None:
    group = live(cluster)["mixed"]
    assert sorted(group.strategies) == ["AVG", "AVG_BY_CIRCLE"]
    owned = [queue for member in group.members or () for queue in member.owned or () if queue.topic == "orders"]
    assert len(owned) > len(set(owned))


def test_a_group_that_has_left_is_offline(cluster: RealRocketMQ) -> None:
    group = live(cluster)["gone"]
    assert (group.state, group.members) == ("OFFLINE", ())


def test_nothing_is_left_of_the_members_of_a_test(cluster: RealRocketMQ) -> None:
    assert set(live(cluster)) >= set(GROUPS) - {"everybody"}
    assert Path(cluster.folder).is_dir()
