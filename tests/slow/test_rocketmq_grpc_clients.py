"""The released Java client of the 5.x line, unmodified, before the served proxy."""

import subprocess
from pathlib import Path

import pytest

from compare.testing.brokers import RocketMQBrokers
from tests.slow.java import UnavailableError, find_java, released_jars

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("GrpcClients.java")
_CLIENT_S = 120


def test_clients_with_their_own_defaults_get_what_producers_send_over_tls_and_end_what_was_left_open() -> None:
    try:
        java = find_java()
        jars = released_jars("rocketmq-client-java", "5.2.0", {"org.apache.rocketmq:rocketmq-client-java": "5.2.0"})
    except UnavailableError as error:
        pytest.skip(str(error))
    brokers = RocketMQBrokers({"orders": 2}, brokers=2)
    try:
        brokers.create_topic("ledger", 2, kind="FIFO")
        brokers.create_topic("deals", 1, kind="TRANSACTION")
        brokers.create_group("booking", in_order=True)
        command = [java, "-Xmx128m", "-cp", f"{jars}/*", str(PROGRAM), brokers.proxy]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=_CLIENT_S, check=False)
    finally:
        brokers.close()
    assert ran.returncode == 0, ran.stderr[-2000:]
    told = [tuple(line.split(" ")) for line in ran.stdout.splitlines() if line.count(" ") == 2]
    assert sorted(line for line in told if line[0] == "simple") == [
        ("simple", f"m{number}", "1") for number in range(3)
    ]
    assert [line for line in told if line[0] in ("check", "deal")] == [("check", "open", "1"), ("deal", "open", "1")]
    pushed = sorted(line for line in told if line[0] == "push")
    assert pushed == [("push", f"m{number}", attempt) for number in range(3) for attempt in ("1", "2")]
    for group in ("0", "1"):
        bodies = [body for consumer, body, _ in told if consumer == "fifo" and body[0] == group]
        assert bodies == [f"{group}:{number}" for number in range(int(group), 6, 2)]
