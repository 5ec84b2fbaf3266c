"""RocketMQ's own admin tool, from the released jars, before a served cluster of its version: it prints what `audit`
reads."""

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from compare.reading.observed import ObservedGroup, SourceText
from compare.reading.rocketmq_live import observe
from rocketmq_selfbalance.broker.state import BrokerSettings
from rocketmq_selfbalance.versions import VERSIONS as MODELS
from tests.compare.reading.reading_rocketmq import read_all
from tests.slow.java import UnavailableError, find_java
from tests.slow.real_rocketmq import VERSIONS, released
from tests.slow.served_rocketmq import ServedRocketMQ, served
from tests.slow.test_rocketmq_clients import Command, consume, java_client, produce

pytestmark = pytest.mark.slow

SETTLE_S = 60


class Tool:
    """mqadmin, against one cluster."""

    def __init__(self, cluster: ServedRocketMQ, version: str) -> None:
        self._java = [
            find_java(),
            "-cp",
            f"{released(version)}/*",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx128m",
        ]
        self._cluster, self.version = cluster, version

    def __call__(self, *arguments: str) -> str:
        main_class = "org.apache.rocketmq.tools.command.MQAdminStartup"
        folder = self._cluster.folder
        ran = subprocess.run(
            [*self._java, f"-Duser.home={folder}", main_class, *arguments, "-n", self._cluster.name_server],
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        told = "".join(line for line in ran.stdout.splitlines(keepends=True) if " |-" not in line)
        assert "Exception:" not in told + ran.stderr, told + ran.stderr
        return told


@pytest.fixture(scope="module", params=VERSIONS)
def setting(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ServedRocketMQ, Tool]]:
    try:
        client: Command = java_client("5.3.3")
        settings = BrokerSettings.of(MODELS.named(request.param, "version"))
        with served(tmp_path_factory.mktemp("served"), settings) as cluster:
            tool = Tool(cluster, request.param)
            members = [consume(cluster, client, "fair", name) for name in ("one", "two")]
            gone = consume(cluster, client, "gone", "three")
            produce(cluster, client, 0, 20)
            cluster.until(lambda: sum(len(each.said("got")) for each in members) >= 20)
            time.sleep(12)  # until the first offsets are persisted
            gone.leave()
            yield cluster, tool
    except UnavailableError as reason:
        pytest.skip(str(reason))


def live(cluster: ServedRocketMQ, name: str) -> ObservedGroup:
    found = observe(f"rocketmq://{cluster.name_server}")
    return next(each for each in found if isinstance(each, ObservedGroup) and each.name == name)


def printed(tool: Tool, group: ObservedGroup) -> ObservedGroup:
    views = [tool("consumerConnection", "-g", group.name)]
    views += [
        tool("consumerStatus", "-g", group.name, "-i", id)
        for id in sorted({member.id for member in group.members or ()})
    ]
    views.append(tool("consumerProgress", "-g", group.name))
    sources = [SourceText("mqadmin", tuple("\n".join(views).split("\n")), given_group=group.name)]
    told = tool("topicRoute", "-t", "orders").split("\n")
    sources.append(SourceText("orders.topicRoute.txt", tuple(told), stem="orders.topicRoute"))
    ((found,), _) = read_all(sources)
    return found


def test_mqadmin_prints_what_audit_reads(setting: tuple[ServedRocketMQ, Tool]) -> None:
    cluster, tool = setting
    deadline = time.monotonic() + SETTLE_S
    while True:
        group = live(cluster, "fair")
        same = [
            replace(
                each,
                sources=(),
                notes=(),
                queues=tuple(queue for queue in each.queues or () if not queue.topic.startswith("%RETRY%")),
                lag={queue: lag for queue, lag in each.lag.items() if not queue.topic.startswith("%RETRY%")},
                ends={},  # of a text only lags are kept
            )
            for each in (group, printed(tool, group))
        ]
        if same[0] == same[1] or time.monotonic() > deadline:
            break
    assert same[0] == same[1]
    assert len(group.members or ()) == 2
    owned = {
        queue for member in group.members or () for queue in member.owned or () if not queue.topic.startswith("%RETRY%")
    }
    concluded = [queues for (name, _), queues in cluster.owned().items() if name == "fair"]
    assert owned == set().union(*concluded)  # the members themselves say what was concluded from their pulls


def test_a_group_that_has_left_is_offline(setting: tuple[ServedRocketMQ, Tool]) -> None:
    cluster, _ = setting
    assert (live(cluster, "gone").state, live(cluster, "gone").members) == ("OFFLINE", ())


def test_the_other_views_are_printed(setting: tuple[ServedRocketMQ, Tool]) -> None:
    cluster, tool = setting
    address = cluster.cluster.addresses["broker-a"]
    listed, told = tool("clusterList"), f"V{tool.version.replace('.', '_')}"
    assert all(name in listed for name in ("broker-a", "broker-b", address, told))
    rows = [line.split() for line in tool("topicStatus", "-t", "orders").splitlines() if line.startswith("broker-")]
    assert sum(int(row[3]) for row in rows) == 20
    assert "bootTimestamp" in tool("brokerStatus", "-b", address)
    assert "fair" in tool("topicList", "-c")
    tool("updateTopic", "-c", "DefaultCluster", "-t", "made", "-r", "3", "-w", "3")
    assert '"readQueueNums":3' in tool("topicRoute", "-t", "made")
    tool("updateSubGroup", "-c", "DefaultCluster", "-g", "made_group", "-r", "5")
    broker = cluster.cluster.broker("broker-b")
    assert broker is not None
    assert broker.broker.disk.groups.configs["made_group"].retry_max_times == 5
    tool("resetOffsetByTime", "-g", "gone", "-t", "orders", "-s", "0")
    assert live(cluster, "gone").lag
    tool("deleteTopic", "-c", "DefaultCluster", "-t", "made")
    assert "made" not in tool("topicList").split()
