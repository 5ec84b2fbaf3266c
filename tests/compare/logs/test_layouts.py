"""Lines are unwrapped and dated by what they look like."""

import pytest

from compare.logs.layouts import unwrapped

JOINS = "[Consumer clientId=c1, groupId=g] (Re-)joining group"
AT = 1_795_311_551.25  # 2026-11-22T01:39:11.250Z


def test_exact_times(subtests: pytest.Subtests) -> None:
    for line in [
        f"2026-11-22T01:39:11.250Z INFO [main] o.a.k.ConsumerCoordinator - {JOINS}",
        f"2026-11-22T02:39:11.250+01:00 INFO  [main] {JOINS}",
        f"2026-11-21 20:39:11,250 -0500 INFO {JOINS}",
        f"1795311551250 INFO o.a.k.ConsumerCoordinator - {JOINS}",
        f"%7|1795311551.250|JOIN|c1#consumer-1| [thrd:main]: {JOINS}",
        f'{{"@timestamp":"2026-11-22T01:39:11.250Z","level":"INFO","message":"{JOINS}"}}',
        f'{{"timeMillis":1795311551250,"message":"{JOINS}"}}',
        f'{{"ts":1795311551.25,"msg":"{JOINS}"}}',
        f'{{"log":"2026-11-22T01:39:11.250Z {JOINS}\\n","stream":"stdout","time":"2026-11-22T01:39:11.260000000Z"}}',
        f"2026-11-22T01:39:11.260000000Z stdout F 2026-11-22T01:39:11.250Z INFO {JOINS}",
        f'{{"instant":{{"epochSecond":1795311551,"nanoOfSecond":250000000}},"message":"{JOINS}"}}',
        f'{{"version":"1.1","short_message":"{JOINS}","timestamp":1795311551.25}}',
        f"20261122T013911.250Z INFO {JOINS}",
        f"\x1b[32m2026-11-22T01:39:11.250Z\x1b[0m \x1b[1;31mINFO\x1b[0m {JOINS}",
    ]:
        with subtests.test(line=line):
            found = unwrapped(line)
            assert (found.clock, found.stamp) == ("utc", pytest.approx(AT))
            assert JOINS in found.text
            assert found.container is None


def test_times_without_zone_are_local(subtests: pytest.Subtests) -> None:
    for line in [
        f"[2026-11-22 01:39:11,250] INFO {JOINS} (org.apache.kafka.ConsumerCoordinator)",
        f"2026-11-22 01:39:11.250  INFO 1 --- [           main] o.a.k.ConsumerCoordinator : {JOINS}",
        f"11/22/2026 01:39:11.250 AM [INFO ] ConsumerCoordinator: {JOINS}",
        f"22/11/2026 01:39:11.250 INFO {JOINS}",
        f"22 Nov 2026 01:39:11,250 INFO {JOINS}",
        f"22.11.2026 01:39:11,250 INFO {JOINS}",
        f"2026-11-22 01:39:11.250 CET [main] INFO o.a.k.ConsumerCoordinator - {JOINS}",
        f"20261122T013911,250 INFO [main] o.a.k.ConsumerCoordinator - {JOINS}",
        f"2026-11-22 01:39:11,250 INFO [my worker 1] (o.a.k.ConsumerCoordinator:42) {JOINS}",
    ]:
        with subtests.test(line=line):
            found = unwrapped(line)
            assert (found.clock, found.stamp) == ("local", pytest.approx(AT))


def test_a_time_of_day() -> None:
    found = unwrapped(f"01:39:11.250 [main] INFO  o.a.k.ConsumerCoordinator - {JOINS}")
    assert (found.clock, found.stamp) == ("day", pytest.approx(5951.25))


def test_no_time() -> None:
    found = unwrapped(f"[main] INFO o.a.k.ConsumerCoordinator - {JOINS}")
    assert (found.clock, found.stamp) == ("none", None)


@pytest.mark.parametrize(
    ("line", "container"),
    [
        (f"[pod/billing-1-abc/app] [2026-11-22 01:39:11,250] INFO {JOINS}", "pod/billing-1-abc/app"),
        (f"Nov 22 01:39:11 host1 billing-1[811]: [2026-11-22 01:39:11,250] INFO {JOINS}", "billing-1"),
        (f"2026-11-22T01:39:11+0000 host1 billing-1[811]: [2026-11-22 01:39:11,250] INFO {JOINS}", "billing-1"),
        (
            f'{{"MESSAGE":"[2026-11-22 01:39:11,250] INFO {JOINS}","__REALTIME_TIMESTAMP":"1795311551250000",'
            '"_SYSTEMD_UNIT":"billing-1"}',
            "billing-1",
        ),
        (
            f"Sun 2026-11-22 01:39:11 UTC host1 billing-1[811]: [2026-11-22 01:39:11,250] INFO {JOINS}",
            "billing-1",
        ),
        (f"<14>1 2026-11-22T01:39:11.250Z host1 billing-1 811 - - [2026-11-22 01:39:11,250] INFO {JOINS}", "billing-1"),
        (f"billing-1  | [2026-11-22 01:39:11,250] INFO {JOINS}", "billing-1"),
        (f"billing-1 › app [2026-11-22 01:39:11,250] INFO {JOINS}", "billing-1"),
    ],
)
def test_prefixes_name_the_container(line: str, container: str) -> None:
    found = unwrapped(line)
    assert (found.container, found.stamp) == (container, pytest.approx(AT))


@pytest.mark.parametrize("line", ["INFO | main | joined", "[kafka-coordinator-heartbeat-thread | g] INFO x"])
def test_a_bar_in_a_pattern_is_no_container(line: str) -> None:
    assert unwrapped(line).container is None


def test_the_containers_own_time_is_a_hint() -> None:
    found = unwrapped(f"2026-11-22T01:39:11.260000000Z stdout F [2026-11-22 02:39:11,250] INFO {JOINS}")
    assert found.hint == pytest.approx(AT + 0.01)
    assert (found.clock, found.stamp) == ("local", pytest.approx(AT + 3600))


def test_python_loggers_have_their_names_in_brackets_or_without(subtests: pytest.Subtests) -> None:
    message = "Discovered coordinator 1 for group g"
    for line in [
        f"2026-11-23 18:38:57,775 INFO    [aiokafka.consumer.group_coordinator] {message}",
        f"2026-11-23 18:38:57,775 [aiokafka.consumer.group_coordinator] INFO: {message}",
        f"INFO:aiokafka.consumer.group_coordinator:{message}",
        f"2026-11-23 18:38:57,775 - aiokafka.consumer.group_coordinator - INFO - {message}",
    ]:
        with subtests.test(line=line):
            found = unwrapped(line)
            assert (found.logger, found.message) == ("aiokafka.consumer.group_coordinator", message)


def test_a_thread_in_brackets_is_no_logger() -> None:
    found = unwrapped(f"2026-11-22T01:39:11.250Z INFO [pool.worker.7] org.apache.kafka.clients.Consumer: {JOINS}")
    assert (found.logger, found.message) == ("org.apache.kafka.clients.Consumer", JOINS)


def test_jboss_puts_the_thread_in_parentheses_behind_the_logger() -> None:
    """As Quarkus and WildFly print; an application's own parentheses belong to its message."""
    logger = "org.apa.kaf.cli.con.int.ConsumerCoordinator"
    found = unwrapped(f"2026-11-22 01:39:11,250 INFO  [{logger}] (kafka-coordinator | g) {JOINS}")
    assert (found.logger, found.message) == (logger, JOINS)
    own = unwrapped(f"2026-11-22 01:39:11,250 INFO  [main] (retry) {JOINS}")
    assert own.message == f"(retry) {JOINS}"


def test_rocketmqs_loggers_have_no_package() -> None:
    said = "new consumer connected, group: g CONSUME_PASSIVELY CLUSTERING channel: ClientChannelInfo"
    line = f"2026-11-22 01:39:11.250  INFO 1 --- [HeartbeatThread] RocketmqBroker                 : {said}"
    assert unwrapped(line).message == said
