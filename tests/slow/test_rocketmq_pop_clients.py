"""Released Java push consumers before the served cluster, which says which queues they may ask by POP: mode and share
are set with mqadmin, and the members pop, ack, refuse, hang, die and leave."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slow.java import UnavailableError
from tests.slow.real_rocketmq import released_programs
from tests.slow.served_rocketmq import Program, ServedRocketMQ, served
from tests.slow.test_rocketmq_clients import Command, consume, got, java_client, produce

pytestmark = pytest.mark.slow

VERSIONS = ("5.3.3", "5.5.0")
START_S = 30.0
"""A JVM on a machine that others use takes so long at most until its member asks."""
BACK_S = 5.0 + 5.1
"""Records are invisible for 5 s, and come back 2.1 to 5.1 s later (spec pop 5.4)."""


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(version: str) -> Command:
    try:
        return java_client(version)
    except UnavailableError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ServedRocketMQ]:
    with served(tmp_path) as cluster:
        yield cluster


def set_pop(cluster: ServedRocketMQ, version: str, share: int) -> None:
    words = ["-c", "DefaultCluster", "-t", "orders", "-g", "g", "-m", "POP", "-q", str(share)]
    with released_programs(cluster.name_server, cluster.folder, version) as programs:
        told = programs.mqadmin("setConsumeMode", *words)
    assert told.count("success") == len(cluster.cluster.brokers)


def pops(cluster: ServedRocketMQ) -> set[int]:
    """Numbers of the queues for which requests wait at the brokers."""
    stores = (disk.store for disk in cluster.cluster.disks.values())
    states = [state for store in stores for state in store.popped.values()]
    return {waiting.request.number for state in states for waiting in state.line.waiting}


def test_members_pop_what_the_mode_lets_them_and_ack_each_record_once(
    version: str, client: Command, cluster: ServedRocketMQ
) -> None:
    set_pop(cluster, version, 0)
    members = [consume(cluster, client, "g", name, "popping") for name in ("one", "two")]
    cluster.until(lambda: pops(cluster) == {-1})
    for first in range(0, 60, 6):
        produce(cluster, client, first, 6)
    cluster.until(lambda: len(got(*members)) == 60)
    time.sleep(BACK_S)
    assert got(*members) == Counter(range(60)), "acked records do not come back"
    assert all(member.said("got") for member in members)
    assert not cluster.owned(), "who pops owns nothing"


def test_a_small_share_names_queues(version: str, client: Command, cluster: ServedRocketMQ) -> None:
    set_pop(cluster, version, 1)
    members = [consume(cluster, client, "g", name, "popping") for name in ("one", "two", "three")]
    cluster.until(lambda: pops(cluster) >= {0, 1})
    produce(cluster, client, 0, 30)
    cluster.until(lambda: got(*members) == Counter(range(30)))


def test_refused_records_and_those_of_a_dead_member_come_back(
    version: str, client: Command, cluster: ServedRocketMQ
) -> None:
    set_pop(cluster, version, 0)
    dying = consume(cluster, client, "g", "dying", "popping-hanging")
    cluster.until(lambda: pops(cluster) == {-1})
    produce(cluster, client, 0, 4)
    cluster.until(lambda: dying.said("got"))
    dying.crash()
    began = time.monotonic()
    living = consume(cluster, client, "g", "living", "popping")
    cluster.until(lambda: set(got(living)) == set(range(4)))
    assert time.monotonic() - began < BACK_S + START_S
    assert tries(living) == {1}
    leave(cluster, living)
    refusing = consume(cluster, client, "g", "refusing", "popping-refusing")
    produce(cluster, client, 10, 2)
    cluster.until(lambda: got(refusing) == Counter({10: 2, 11: 2}))
    assert tries(refusing) == {0, 1}


def leave(cluster: ServedRocketMQ, member: Program) -> None:
    """Its consumer shuts down. The threads that handled popped records are never ended, and with them the process."""
    assert member.process.stdin is not None
    member.process.stdin.close()
    cluster.until(lambda: member.said("stopped"))
    member.crash()


def tries(member: Program) -> set[int]:
    return {int(words[6]) for words in member.said("got")}
