"""What mqadmin would print of a simulated RocketMQ cluster is read back as what the cluster holds."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from protocols import Queue
from rocketmq_selfbalance.cluster.cluster import RocketMQCluster
from rocketmq_selfbalance.messages.nameserver import QueueData, Route
from tests.compare.showing import CAPTURES, EXAMPLES, equipoise
from tests.rocketmq_selfbalance.lived import Lived
from tools.lessons.mqadmin import allocate_mq, consumer_connection, consumer_progress

TOPICS = {"orders": {"broker-a": 2, "broker-b": 2}, "payments": {"broker-a": 1}}


def lived(**more: Any) -> Lived:
    members = {f"c{n}": {"subscribe": tuple(TOPICS), "client_id": f"10.0.0.{n}@i", **more} for n in (1, 2, 3, 10)}
    return Lived(TOPICS, members, seconds=100.3, produce=2.0)


def progress(cluster: RocketMQCluster, now: float, with_owners: bool = True) -> str:
    brokers = cluster.servers.replicas.running()
    return consumer_progress("g", brokers, now, held(cluster) if with_owners else None)


def held(cluster: RocketMQCluster) -> dict[Queue, str]:
    """Queue to the client id that holds it."""
    clients = [client for name in ("c1", "c2", "c3", "c10") if (client := cluster.client(name)) is not None]
    return {
        queue: client.instance.client_id
        for client in clients
        for consumer in client.instance.consumers.values()
        for queue in consumer.table
    }


def audited(folder: Path) -> dict[str, Any]:
    done = equipoise("audit", str(folder), "--format", "json")
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["skipped"] == []
    [group] = read["groups"]
    return dict(group)


@pytest.mark.parametrize("with_owners", [True, False])
def test_audit_reads_members_owners_and_lag_of_the_cluster(with_owners: bool, tmp_path: Path) -> None:
    run = lived(handle=700.0)
    cluster, now = run.cluster, run.variant.simulation.now
    (tmp_path / "consumerProgress.txt").write_text(progress(cluster, now, with_owners))
    connected = consumer_connection("g", run.broker("broker-b"))
    assert connected is not None
    (tmp_path / "consumerConnection.txt").write_text(connected)
    group = audited(tmp_path)
    assert (group["group"], group["members"], group["mode"]) == ("g", 4, "shared")
    assert group["lag"] == sum(behind(run, queue) for queue in run.queues()) > 0
    if with_owners:
        owners = {Queue(*queue): member for member, queues in group["owners"].items() for queue in queues}
        assert owners == held(cluster)
        assert {queue.topic for queue in owners} == {"orders", "payments", "%RETRY%g"}


def behind(run: Lived, queue: Queue) -> int:
    broker = run.broker(queue.broker)
    end = broker.disk.store.max_offset(queue.topic, queue.number, run.variant.simulation.now)
    return end - broker.offsets.query("g", queue.topic, queue.number)


def test_a_group_that_is_not_online_has_offsets_and_no_connections() -> None:
    run = lived()
    for name in ("c1", "c2", "c3", "c10"):
        run.variant.simulation.end(name)
    run.variant.simulation.run(101_000)
    assert consumer_connection("g", run.broker("broker-a")) is None
    assert "payments" in progress(run.cluster, 101_000, with_owners=False)


@pytest.mark.parametrize("view", ["consumerProgress_s.txt"])
def test_columns_stand_where_the_real_tool_puts_them(view: str) -> None:
    real = (EXAMPLES / "rocketmq/seed_group" / view).read_text().splitlines()
    made = progress(lived().cluster, 100_300).splitlines()
    assert made[0] == real[0]
    assert columns(made[1]) == columns(real[1])
    dated = [row for row in real if re.search(r":\d\d$", row)]
    assert columns(made[3]) == columns(dated[0])
    assert [line.split(":")[0] for line in made[-4:]] == [line.split(":")[0] for line in real[-4:]]


def test_connections_stand_where_the_real_tool_puts_them() -> None:
    real = (EXAMPLES / "rocketmq/seed_group/consumerConnection.txt").read_text().splitlines()
    made = (consumer_connection("g", lived().broker("broker-a")) or "").splitlines()
    assert made[0] == real[0]
    assert columns(made[1]) == columns(real[1])
    assert [line for line in made if line.startswith(("#", "B", "M"))] == [
        line for line in real if line.startswith(("#", "B", "M"))
    ]
    assert made[-3:-1] == real[-3:-1]


def columns(line: str) -> list[int]:
    """Where words begin."""
    return [found.start() for found in re.finditer(r"\S+(?: \d\d:\d\d:\d\d)?", line)]


RECORDED = sorted((CAPTURES / "rocketmq/topics").glob("*.allocateMQ_*.txt"))
ASKED = {"3": ["10.0.0.1", "10.0.0.2", "10.0.0.3"], "unsorted": ["10.0.0.9", "10.0.0.10"]}


def test_there_are_recorded_previews() -> None:
    assert len(RECORDED) == 10


def test_the_preview_is_that_of_the_real_tool(subtests: pytest.Subtests) -> None:
    for recorded in RECORDED:
        with subtests.test(recorded=recorded):
            topic, _, asked = recorded.stem.replace(".allocateMQ_", "\n").partition("\n")
            table = recorded.with_name(f"{topic}.topicRoute_l.txt").read_text()
            counts = re.findall(r"(broker-\w+) +\{.*?\} +(\d+) +(\d+) +(\d)", table)
            queues = [
                QueueData(broker, int(read), int(write), int(perm)) for broker, read, write, perm in sorted(counts)
            ]
            assert allocate_mq(topic, Route(tuple(queues), ()), ASKED[asked]) == recorded.read_text()
