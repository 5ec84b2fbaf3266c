"""Kafka's own tools of two versions before a served cluster: what kafka-consumer-groups and kafka-topics print of its
groups is what the audit reads from the cluster itself, and what the brokers know."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from compare.reading.observed import ObservedGroup
from kafka_coordinator.coordinator.core import Core
from protocols import Queue
from tests.compare.reading.reading_kafka import read, text
from tests.kafka_coordinator.wire.serving import Serving, serving
from tests.slow.java import UnavailableError, find_java
from tests.slow.live_groups import GROUPS, TOPICS, audit, audited_groups, comparable, make_topics, observed, run_groups
from tests.slow.real_kafka import VERSIONS, RealKafka, kafka_jars

pytestmark = pytest.mark.slow

VIEWS = ([], ["--members"], ["--members", "--verbose"], ["--state"], ["--state", "--verbose"])
SETTINGS = {
    "group.initial.rebalance.delay.ms": 500,
    "group.consumer.heartbeat.interval.ms": 1000,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "offsets.topic.num.partitions": 4,
}


class Served(NamedTuple):
    """The cluster, and Kafka's tools before it."""

    cluster: Serving
    tools: RealKafka


@pytest.fixture(scope="module", params=VERSIONS)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    try:
        java, jars = find_java(), kafka_jars(request.param)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    command = [java, "-cp", f"{jars}/*", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    command.append("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
    with ExitStack() as stack:
        it = stack.enter_context(serving({}, brokers=("a", "b"), settings=SETTINGS))
        tools = RealKafka(it.bootstrap, "", "", tmp_path_factory.mktemp("tools"), command)
        make_topics(tools)
        for consumer in run_groups(tools):
            stack.callback(consumer.close)
        yield Served(it, tools)


def tools_tell(tools: RealKafka) -> dict[str, str]:
    """View to what the tools print of it."""
    views = {"-".join(view) or "offsets": tools.consumer_groups("--describe", "--all-groups", *view) for view in VIEWS}
    return {**views, "topics": tools.topics("--describe"), "groups": tools.groups("--list")}


def test_the_tools_tell_what_is_read_from_the_cluster_itself(served: Served) -> None:
    live = observed(served.tools.plaintext)
    told, _ = read(*(text(each) for each in tools_tell(served.tools).values()))
    assert live.keys() == told.keys() == {*GROUPS, "simple", "left"}
    for name, group in told.items():
        assert comparable(live[name]) == comparable(group)


def test_the_command_audits_the_cluster_as_it_audits_the_tools_text(served: Served, tmp_path: Path) -> None:
    shown = tools_tell(served.tools)
    del shown["--members"], shown["--state"]  # the verbose views tell more
    for name, content in shown.items():
        (tmp_path / f"{name.strip('-')}.txt").write_text(content, encoding="utf-8")
    live, told = audit(f"kafka://{served.tools.plaintext}"), audit(str(tmp_path))
    assert (live.returncode, live.stderr) == (told.returncode, told.stderr) == (0, "")
    for one, other in zip(audited_groups(live.stdout), audited_groups(told.stdout), strict=True):
        assert one == other, {name: (one[name], other[name]) for name in one if one[name] != other[name]}


class Known(NamedTuple):
    """A group as its coordinator knows it."""

    state: str
    owned: dict[str, list[Queue]]
    """Member id to its partitions."""
    committed: dict[Queue, int]


def known(it: Serving) -> dict[str, Known]:
    """What the coordinators know of all groups."""

    def look() -> dict[str, Known]:
        found: dict[str, Known] = {}
        for state in it.cluster.states.values():
            found |= _of(state.broker.coordinator.core)
        return found

    return it.loop.call(look)


def _of(core: Core) -> dict[str, Known]:
    found = {}
    for name, group in core.groups.items():
        owned = {each.id: _queues(each.assignment) for each in group.members.values()}
        found[name] = Known(group.state, owned, _offsets(group.offsets))
    for name, other in core.consumer_groups.items():
        owned = {each.id: _queues(each.standing.assigned) for each in other.members.values()}
        found[name] = Known(other.state, owned, _offsets(other.offsets))
    return found


def _queues(partitions: object) -> list[Queue]:
    assert isinstance(partitions, tuple | frozenset | set | dict)
    return sorted(Queue(topic, "", number) for topic, number in partitions)


def _offsets(offsets: dict[tuple[str, int], object]) -> dict[Queue, int]:
    return {Queue(topic, "", number): each.offset for (topic, number), each in offsets.items()}  # type: ignore[attr-defined]


def test_the_tools_tell_what_the_brokers_know(served: Served) -> None:
    told, _ = read(*(text(each) for each in tools_tell(served.tools).values()))
    ends = {Queue(topic, "", n): 3 + 2 * n for topic, count in TOPICS.items() for n in range(count)}
    for name, coordinator in known(served.cluster).items():
        group: ObservedGroup = told[name]
        assert (group.state or "").lower() == coordinator.state.lower(), name
        assert {each.id: sorted(each.owned or ()) for each in group.members or ()} == coordinator.owned, name
        read_now = {queue.topic for queue in group.queues or ()}
        committed = {queue: at for queue, at in coordinator.committed.items() if queue.topic in read_now}
        lags = {queue: ends[queue] - offset for queue, offset in committed.items()}
        assert {queue: lag for queue, lag in group.lag.items() if lag is not None} == lags, name
