"""The blocks of docs/lessons-rocketmq.md."""

from collections.abc import Callable, Mapping
from functools import cache

from compare.running.systems import cluster_of
from compare.showing.pictures.charts import Picture
from protocols import Group, Queue
from protocols.facts import Callback
from protocols.scenario.model import SystemPart
from protocols.scenario.reading import read_text
from protocols.scenario.running import Run
from rocketmq_selfbalance import allocate
from rocketmq_selfbalance.cluster.cluster import RocketMQCluster
from rocketmq_selfbalance.messages.nameserver import QueueData, Route
from tools.lessons.mqadmin import allocate_mq, consumer_connection, consumer_progress
from tools.lessons.ring import hash_ring
from tools.lessons.shown import messages, story, table, traced

SMALL = """
name: two members, two brokers
brokers: [broker-a, broker-b]
topics: {orders: {queues: {broker-a: 3, broker-b: 2}}}
group:
  name: billing
  members:
    c1: {subscribe: [orders]}
    c2: {subscribe: [orders]}
load: {produce: 3/s}
run: {for: 2min, seed: 1}
events:
  - {at: 60s, leave: c2}
"""
PULLED = """
name: a consumer that pulls
brokers: [broker-a]
topics: {orders: {queues: 4}}
group:
  name: billing
  members:
    c1: {subscribe: [orders]}
load: {produce: 1/s}
run: {for: 1min, seed: 1}
systems: [{system: rocketmq:AVG, label: lite pull, settings: {consumer: lite_pull}}]
events:
  - {at: 20s, join: c2, subscribe: [orders]}
"""
AT = 50.0
"""Seconds at which the tools look at the cluster."""


@cache
def _cluster() -> tuple[RocketMQCluster, float]:
    scenario = read_text(SMALL)
    run = Run.of(scenario, SystemPart(system="rocketmq:AVG"), cluster_of("rocketmq:AVG"), full=True)
    run.simulation.run(AT * 1000)
    assert isinstance(run.cluster, RocketMQCluster)
    return run.cluster, run.simulation.now


def _route() -> str:
    cluster, _ = _cluster()
    rows = []
    for broker in cluster.servers.replicas.running():
        config = broker.disk.topics.configs["orders"]
        rows.append(("orders", broker.name, config.read, config.write, config.perm))
    return table(("topic", "broker", "read queues", "write queues", "permission"), rows)


def _connection() -> str:
    cluster, _ = _cluster()
    found = consumer_connection("billing", cluster.servers.replicas.running()[0])
    assert found is not None
    return f"text\n{_bare(found)}"


def _progress() -> str:
    cluster, now = _cluster()
    owners: dict[Queue, str] = {}
    for name in ("c1", "c2"):
        client = cluster.client(name)
        assert client is not None
        for consumer in client.instance.consumers.values():
            owners.update(dict.fromkeys(consumer.table, client.instance.client_id))
    return f"text\n{_bare(consumer_progress('billing', cluster.servers.replicas.running(), now, owners))}"


def _bare(output: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in output.splitlines())


def _preview() -> str:
    route = Route((QueueData("broker-a", 3, 3, 6), QueueData("broker-b", 2, 2, 6)), ())
    members = ("c1", "c2")
    group = Group.of(
        topics={"orders": {"broker-a": 3, "broker-b": 2}}, members={member: ["orders"] for member in members}
    )
    taken = allocate("AVG", group)
    real = [f"{member}: {', '.join(f'{queue.broker}-{queue.number}' for queue in taken[member])}" for member in members]
    return "text\n" + allocate_mq("orders", route, members) + "\nwhat the clients really take:\n" + "\n".join(real)


def _rooms() -> str:
    topics = {"orders": {"room1@broker-a": 4, "room2@broker-b": 4}}
    racks = {"c1": "room1", "c2": "room2", "c3": "room2"}
    members = {name: {"subscribe": ["orders"], "rack": rack} for name, rack in racks.items()}
    group = Group.of(topics=topics, members=members)
    config = [["orders", "room1@broker-a", 0], ["orders", "room2@broker-b", 0]]
    ways = {
        "AVG": allocate("AVG", group),
        "MACHINE_ROOM (room1)": allocate("MACHINE_ROOM", group, settings={"consumer_idcs": ["room1"]}),
        "MACHINE_ROOM_NEARBY": allocate("MACHINE_ROOM_NEARBY", group),
        "CONFIG (two queues listed)": allocate("CONFIG", group, settings={"message_queue_list": config}),
    }
    rows = [
        (name, *(" ".join(f"{queue.broker[-1]}{queue.number}" for queue in found[member]) or "-" for member in members))
        for name, found in ways.items()
    ]
    return table(("strategy", "c1 in room1", "c2 in room2", "c3 in room2"), rows)


def _listener() -> str:
    result = traced(PULLED, "lite pull")
    rows = [
        (f"{each.now / 1000:.3f}", fact.member, fact.kind, ", ".join(str(queue.number) for queue in fact.queues))
        for each in result.timeline.facts
        if isinstance(fact := each.fact, Callback)
    ]
    return table(("second", "member", "call", "queues"), rows)


def ring() -> Picture:
    """The hash ring of three members and sixteen queues."""
    return hash_ring(("c1", "c2", "c3"), [Queue("orders", "broker-a", number) for number in range(16)])


MADE: Mapping[str, Callable[[], str]] = {
    "route": _route,
    "first-pull": messages("start-to-first-pull", "rocketmq:AVG", 0, 1.6),
    "consumer-connection": _connection,
    "consumer-progress": _progress,
    "allocate-mq": _preview,
    "broker-down": story("broker-down", "rocketmq:AVG"),
    "shutdown": messages(SMALL, "rocketmq:AVG", 60, 60.2),
    "message-queue-listener": _listener,
    "rooms": _rooms,
    "pause-and-burst": story("pause-and-burst", "rocketmq:AVG"),
    "broadcasting": story("broadcasting-local-offsets", "BROADCASTING"),
    "lost-commit": story("lost-commit", "rocketmq:AVG"),
}
