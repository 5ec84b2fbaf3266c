"""RocketMQ's own admin tool, from the released jars, before released brokers and before a served cluster of their
version: what it prints of a group is what `observe` reads from the cluster itself."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

import pytest

from compare.reading.observed import ObservedGroup, SourceText
from compare.reading.rocketmq_live import observe
from rocketmq_selfbalance.broker.state import BrokerSettings
from rocketmq_selfbalance.versions import VERSIONS as MODELS
from tests.compare.reading.reading_rocketmq import read_all
from tests.slow.java import UnavailableError
from tests.slow.real_rocketmq import VERSIONS, ReleasedPrograms, released_programs, running
from tests.slow.served_rocketmq import ServedRocketMQ, served

pytestmark = pytest.mark.slow

SETTLE_S = 60
RECORDS = 20
TOPICS = {"orders": 4, "payments": 1, "dropped%-_topic": 2}
"""Topic to its queues at each broker."""
LONG = "l" * 119
"""The brokers take names of groups below 120 characters."""
PRESENT = ("fair", "mixed", "twice", "everybody", "odd%-_|name", LONG)
ABSENT = ("gone", "killed", "never")


class Setting(NamedTuple):
    """Released programs before a cluster; ``served`` where it is one of ours."""

    programs: ReleasedPrograms
    cluster: str
    version: str
    served: ServedRocketMQ | None
    routes: list[SourceText]


@pytest.fixture(scope="module", params=[(kind, version) for kind in ("real", "served") for version in VERSIONS])
def setting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    kind, version = request.param
    folder = tmp_path_factory.mktemp(kind)
    with ExitStack() as stack:
        try:
            if kind == "real":
                found = Setting(stack.enter_context(running(folder, version)), "Test", version, None, [])
            else:
                settings = BrokerSettings.of(MODELS.named(version, "version"))
                ours = stack.enter_context(served(folder, settings))
                programs = stack.enter_context(released_programs(ours.name_server, folder, version))
                found = Setting(programs, "DefaultCluster", version, ours, [])
        except UnavailableError as reason:
            pytest.skip(str(reason))
        _start_groups(found.programs, found.cluster)
        # A route's text does not name its topic: the file does.
        for topic in TOPICS:
            told = found.programs.mqadmin("topicRoute", "-t", topic).split("\n")
            found.routes.append(SourceText(f"{topic}.topicRoute.txt", tuple(told), stem=f"{topic}.topicRoute"))
        yield found


def _start_groups(programs: ReleasedPrograms, cluster: str) -> None:
    for topic, queues in TOPICS.items():
        programs.mqadmin("updateTopic", "-c", cluster, "-t", topic, "-r", str(queues), "-w", str(queues))
    programs.start_member("fair", "one", "orders", "payments")
    programs.start_member("fair", "two", "orders", "payments")
    programs.start_member("mixed", "one", "orders")
    programs.start_member("mixed", "two", "orders", strategy="AveragelyByCircle")
    programs.start_member("twice", "same", "orders")
    programs.start_member("twice", "same", "orders")
    programs.start_member("everybody", "one", "orders", model="BROADCASTING")
    programs.start_member("odd%-_|name", "one", "orders", "dropped%-_topic")
    programs.start_member(LONG, "one", "orders")
    gone = programs.start_member("gone", "one", "orders")
    killed = programs.start_member("killed", "one", "orders")
    programs.mqadmin("updateSubGroup", "-c", cluster, "-g", "never", "-r", "5")
    programs.run("WireClient.java", "produce", programs.name_server, "orders", "red", "0", str(RECORDS))
    time.sleep(12)  # until the first offsets are persisted
    programs.mqadmin("deleteTopic", "-c", cluster, "-t", "dropped%-_topic")
    assert gone.stdin is not None
    gone.stdin.close()
    gone.wait(30)
    killed.kill()
    killed.wait()
    programs.run("WireClient.java", "produce", programs.name_server, "orders", "red", str(RECORDS), str(RECORDS))


def live(programs: ReleasedPrograms) -> dict[str, ObservedGroup]:
    found = observe(f"rocketmq://{programs.name_server}")
    return {each.name: each for each in found if isinstance(each, ObservedGroup)}


def printed(setting: Setting, group: ObservedGroup) -> ObservedGroup:
    programs = setting.programs
    views = [programs.mqadmin("consumerConnection", "-g", group.name)]
    for id in sorted({member.id for member in group.members or ()}):
        views.append(programs.mqadmin("consumerStatus", "-g", group.name, "-i", id))
    if group.mode == "shared":
        views.append(programs.mqadmin("consumerProgress", "-g", group.name))
    text = SourceText("mqadmin", tuple("\n".join(views).split("\n")), given_group=group.name)
    ((found,), _) = read_all([text, *setting.routes])
    return found


def comparable(group: ObservedGroup) -> ObservedGroup:
    """Without what only one of the two ways tells: retry topics' queues, and the ends of which a text has the lag."""
    return replace(
        group,
        sources=(),
        notes=(),
        queues=tuple(queue for queue in group.queues or () if not queue.topic.startswith("%RETRY%")),
        lag={queue: lag for queue, lag in group.lag.items() if not queue.topic.startswith("%RETRY%")},
        ends={},
    )


@pytest.mark.parametrize("name", [*PRESENT, "gone", "killed"])
def test_a_live_group_is_what_mqadmin_prints(setting: Setting, name: str) -> None:
    deadline = time.monotonic() + SETTLE_S
    while True:
        group = live(setting.programs)[name]
        told, read = comparable(printed(setting, group)), comparable(group)
        if told == read or time.monotonic() > deadline:
            break
    assert told == read


@pytest.mark.parametrize("name", ABSENT)
def test_a_group_without_members_is_offline(setting: Setting, name: str) -> None:
    """Brokers keep no retry topic of a group that never had a member, and so it is none of the cluster's groups."""
    group = live(setting.programs).get(name)
    if name == "never":
        assert group is None
    else:
        assert group is not None
        assert (group.state, group.members) == ("OFFLINE", ())
        assert sum(lag or 0 for lag in group.lag.values()) == RECORDS


def test_members_with_different_strategies_own_queues_twice(setting: Setting) -> None:
    group = live(setting.programs)["mixed"]
    assert sorted(group.strategies) == ["AVG", "AVG_BY_CIRCLE"]
    owned = [queue for member in group.members or () for queue in member.owned or () if queue.topic == "orders"]
    assert len(owned) > len(set(owned))


def test_members_say_what_is_concluded_from_their_pulls(setting: Setting) -> None:
    if setting.served is None:
        pytest.skip("nothing is concluded at a real broker")
    owned = {
        queue
        for member in live(setting.programs)["fair"].members or ()
        for queue in member.owned or ()
        if not queue.topic.startswith("%RETRY%")
    }
    concluded = [queues for (name, _), queues in setting.served.owned().items() if name == "fair"]
    assert owned == set().union(*concluded)


def test_the_other_views_are_printed(setting: Setting) -> None:
    programs, cluster, version, ours, _ = setting
    listed = programs.mqadmin("clusterList")
    assert all(name in listed for name in ("broker-a", "broker-b", f"V{version.replace('.', '_')}"))
    status = programs.mqadmin("topicStatus", "-t", "orders")
    rows = [line.split() for line in status.splitlines() if line.startswith("broker-")]
    assert sum(int(row[3]) for row in rows) == 2 * RECORDS
    assert "fair" in programs.mqadmin("topicList", "-c")
    programs.mqadmin("updateTopic", "-c", cluster, "-t", "made", "-r", "3", "-w", "3")
    assert '"readQueueNums":3' in programs.mqadmin("topicRoute", "-t", "made")
    programs.mqadmin("resetOffsetByTime", "-g", "gone", "-t", "orders", "-s", "0")
    assert sum(lag or 0 for lag in live(programs)["gone"].lag.values()) == 2 * RECORDS
    programs.mqadmin("deleteTopic", "-c", cluster, "-t", "made")
    if ours is not None:  # a real 5.5.0 listed it right after it was deleted
        assert "made" not in programs.mqadmin("topicList").split()
        address, broker = ours.cluster.addresses["broker-a"], ours.cluster.broker("broker-b")
        assert address in listed
        assert "bootTimestamp" in programs.mqadmin("brokerStatus", "-b", address)
        assert broker is not None
        assert broker.broker.disk.groups.configs["never"].retry_max_times == 5
