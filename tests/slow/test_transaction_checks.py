"""What released Java producers are asked about transactions that nobody ends: by a real proxy of 5.5.0, and by ours."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from compare.testing.brokers import RocketMQBrokers
from tests.slow import real_rocketmq
from tests.slow.java import UnavailableError, find_java, released_jars, stop
from tests.waiting import until

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("TransactionClient.java")
VERSION, TOPIC = "5.5.0", "deals"
_START_S, _ASKED_S = 120, 180
_LOOKS, _LATE = 30, 3
"""Seconds from one look of a broker to the next, and how much later a busy machine may make it."""


def started(endpoint: str, log: Path, bodies: str, unknown: int) -> subprocess.Popen[bytes]:
    jars = released_jars("rocketmq-client-java", "5.2.0", {"org.apache.rocketmq:rocketmq-client-java": "5.2.0"})
    command = [find_java(), "-Xmx96m", "-cp", f"{jars}/*", str(PROGRAM), endpoint, TOPIC, bodies, str(unknown)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
    until(lambda: "open" in log.read_text(), _START_S)
    return process


def questions(log: Path) -> list[tuple[int, str, str, str]]:
    lines = [line.split(" ") for line in log.read_text().splitlines()]
    return [(int(line[0]), line[1], line[2], line[3]) for line in lines if len(line) == 4]


def asked(endpoint: str, folder: Path) -> tuple[set[str], set[tuple[str, str]], set[bool]]:
    """What a producer is asked that says twice that it does not know, beside one that is killed: bodies, attempts with
    names of properties, and whether questions about the same are 30 s apart."""
    folder.mkdir(exist_ok=True)
    log = folder / "stays.log"
    stays = started(endpoint, log, "own", 2)
    try:
        killed = started(endpoint, folder / "killed.log", "first,second", 0)
        killed.kill()
        killed.wait()
        until(lambda: {"own", "first", "second"} <= {body for _, body, _, _ in questions(log)[2:]}, _ASKED_S)
    finally:
        stop(stays)
    found = questions(log)
    apart = set[int]()
    for asked_for in {body for _, body, _, _ in found}:
        apart |= {
            later - sooner for sooner, later in pairwise(second for second, body, _, _ in found if body == asked_for)
        }
    return (
        {body for _, body, _, _ in found},
        {(attempt, names) for _, _, attempt, names in found},
        {abs(seconds - round(seconds / _LOOKS) * _LOOKS) <= _LATE for seconds in apart},
    )


def test_any_producer_of_the_topic_is_asked_as_by_a_real_proxy(tmp_path: Path) -> None:
    try:
        with real_rocketmq.running(tmp_path, VERSION) as cluster:
            cluster.mqadmin("updateTopic", "-c", "Test", "-t", TOPIC, "-a", "+message.type=TRANSACTION")
            real = asked(cluster.start_proxy(), tmp_path / "real")
    except UnavailableError as error:
        pytest.skip(str(error))
    brokers = RocketMQBrokers(brokers=2)
    try:
        brokers.create_topic(TOPIC, 8, kind="TRANSACTION")
        ours = asked(brokers.proxy, tmp_path / "ours")
    finally:
        brokers.close()
    assert (
        ours == real == ({"own", "first", "second"}, {("1", "TRANSACTION_CHECK_TIMES,__transactionId__,mine")}, {True})
    )
