"""The defects of released RocketMQ servers on docs/defects.md that no recording shows: each on a real cluster."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.slow import real_rocketmq
from tests.slow.java import UnavailableError, find_java, released_jars, stop
from tests.slow.real_rocketmq import RealRocketMQ
from tests.waiting import until

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("PopMembers.java")
NEWEST = "5.5.0"
UNREADABLE = "not support unquoted name"
_START_S, _SLAVE_S = 120, 150
"""A JVM on a machine that others use takes so long; a slave asks every 10 s, a broker stores offsets every 5 s."""
_RENEWED_S, _BACK_S = 110, 180
"""The proxy's clients expire after 120 s, which it looks for now and then; then the messages' time ends."""


@pytest.fixture(params=[NEWEST])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RealRocketMQ]:
    try:
        released_jars("rocketmq-client-java", "5.2.0", {"org.apache.rocketmq:rocketmq-client-java": "5.2.0"})
        with real_rocketmq.running(tmp_path, request.param, settings=real_rocketmq.POPS) as cluster:
            cluster.mqadmin("updateTopic", "-c", "Test", "-t", "orders", "-r", "2", "-w", "2")
            yield cluster
    except UnavailableError as reason:
        pytest.skip(str(reason))


def _member(stack: ExitStack, proxy: str, log: Path, *words: str) -> subprocess.Popen[bytes]:
    """A process of `PopMembers` in the group g; ``log`` has what it prints; it is ended with the stack."""
    jars = released_jars("rocketmq-client-java", "5.2.0", {"org.apache.rocketmq:rocketmq-client-java": "5.2.0"})
    command = [find_java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", str(PROGRAM)]
    with log.open("wb") as output:
        process = subprocess.Popen([*command, proxy, "orders", "g", *words], stdout=output, stderr=subprocess.STDOUT)
    stack.callback(stop, process)
    return process


def _got(log: Path) -> list[tuple[str, int]]:
    """Word and body of each message that was printed."""
    lines = [line.split(" ") for line in log.read_text("utf-8").splitlines()]
    return [(words[0], int(words[1])) for words in lines if len(words) == 2 and words[1].isdigit()]


def _has_offsets(broker: Path, topic_and_group: str) -> bool:
    """Whether the broker has stored such offsets. Its file is no JSON then: numbers of queues are bare names."""
    file = broker / "store" / "config" / "consumerOffset.json"
    table = file.read_text("utf-8").partition('"offsetTable"')[2] if file.exists() else ""
    return f'"{topic_and_group}"' in table.partition('"pullOffsetTable"')[0]


@pytest.mark.parametrize(("cluster", "is_read"), [(NEWEST, False), ("5.3.3", True)], indirect=["cluster"])
def test_a_slave_has_the_offsets_of_its_master_but_in_5_5_0(cluster: RealRocketMQ, is_read: bool) -> None:
    master, slave = cluster.folder / "broker-a", cluster.start_slave("broker-a")
    log = slave / "logs" / "rocketmqlogs" / "broker.log"
    cluster.start_member("plain", "one", "orders")
    cluster.mqadmin("sendMessage", "-t", "orders", "-b", "broker-a", "-i", "0", "-p", "hello")
    until(lambda: _has_offsets(master, "orders@plain"), _SLAVE_S)
    if is_read:
        until(lambda: _has_offsets(slave, "orders@plain"), _SLAVE_S)
        assert UNREADABLE not in log.read_text("utf-8")
    else:
        until(lambda: log.read_text("utf-8").count(UNREADABLE) >= 2, _SLAVE_S)
        assert not _has_offsets(slave, "orders@plain")


def test_messages_at_which_a_member_of_another_tag_has_looked_are_gone_for_the_group(
    cluster: RealRocketMQ, tmp_path: Path
) -> None:
    proxy, log = cluster.start_proxy(), tmp_path / "members.log"
    with ExitStack() as stack:
        assert _member(stack, proxy, tmp_path / "sent.log", "send", "60").wait(_START_S) == 0
        assert _member(stack, proxy, log, "simple", "60").wait(_START_S) == 0
    got = _got(log)
    assert {word == "ab"[body % 2] for word, body in got} == {True}
    assert len({body for _, body in got}) < 60


def test_messages_of_a_killed_member_come_back_after_two_minutes(cluster: RealRocketMQ, tmp_path: Path) -> None:
    proxy, killed, living = cluster.start_proxy(), tmp_path / "killed.log", tmp_path / "living.log"
    with ExitStack() as stack:
        member = _member(stack, proxy, killed, "hang")
        until(lambda: "ready" in killed.read_text(), _START_S)
        assert _member(stack, proxy, tmp_path / "sent.log", "send", "8").wait(_START_S) == 0
        until(lambda: len(_got(killed)) == 8, _START_S)
        member.kill()
        member.wait()
        began = time.monotonic()
        _member(stack, proxy, living, "take")
        until(lambda: _got(living), _BACK_S)
        first = time.monotonic() - began
        until(lambda: {body for _, body in _got(living)} == set(range(8)), _BACK_S)
    assert first >= _RENEWED_S
