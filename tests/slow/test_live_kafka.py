"""A running Kafka tells `observe` what its own tools print, over plain connections, TLS and logins."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from compare.reading.kafka_live import observe
from compare.reading.observed import ObservedGroup
from protocols import Queue, UserError
from tests.compare.reading.reading_kafka import read, text
from tests.slow.real_kafka import PASSWORD, STORE_PASSWORD, USER, RealKafka, UnavailableError, escaped, running

library = pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")
pytestmark = pytest.mark.slow

TOPICS = {"orders": 6, "payments.eu": 4, "single": 1, "old": 2}
SETTLE_S = 60


@dataclass(frozen=True)
class Running:
    """A group that the test runs: one dictionary of settings per member."""

    topics: Sequence[str]
    members: Sequence[Mapping[str, str]]


GROUPS = {
    "range": Running(["orders", "payments.eu"], [{"partition.assignment.strategy": "range"}] * 4),
    "round robin": Running(["orders", "payments.eu"], [{"partition.assignment.strategy": "roundrobin"}] * 3),
    "cooperative": Running(["orders"], [{"partition.assignment.strategy": "cooperative-sticky"}] * 2),
    "idle": Running(["single"], [{"client.id": "shared name"}] * 3),
    "static": Running(["payments.eu"], [{"group.instance.id": "i-1"}, {"group.instance.id": "i-2"}]),
    "订单-ü": Running(["orders"], [{}]),
    "next-uniform": Running(["orders", "payments.eu"], [{"group.protocol": "consumer"}] * 3),
    "next-range": Running(
        ["orders", "payments.eu"], [{"group.protocol": "consumer", "group.remote.assignor": "range"}] * 4
    ),
    "next-idle": Running(["single"], [{"group.protocol": "consumer"}] * 2),
}
LEFT = Running(["orders", "old"], [{}] * 2)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    with ExitStack() as stack:
        try:
            node = stack.enter_context(running(tmp_path_factory.mktemp("kafka")))
        except UnavailableError as error:
            pytest.skip(str(error))
        _make_topics(node)
        for consumer in _run_groups(node):
            stack.callback(consumer.close)
        yield node


def _client(kafka: RealKafka) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": kafka.plaintext})


def _make_topics(kafka: RealKafka) -> None:
    from confluent_kafka.admin import NewTopic

    # A client that nobody holds is taken down with its requests.
    client = _client(kafka)
    for made in client.create_topics([NewTopic(topic, count, 1) for topic, count in TOPICS.items()]).values():
        made.result(SETTLE_S)
    producer = library.Producer({"bootstrap.servers": kafka.plaintext})
    for topic, count in TOPICS.items():
        for number in range(count):
            for value in range(3 + 2 * number):
                producer.produce(topic, str(value), partition=number)
    assert producer.flush(SETTLE_S) == 0


def _consumer(kafka: RealKafka, group: str, settings: Mapping[str, str]) -> Any:
    return library.Consumer(
        {
            "bootstrap.servers": kafka.plaintext,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **settings,
        }
    )


def _commit(consumer: Any, *offsets: tuple[str, int, int]) -> None:
    found = [library.TopicPartition(topic, number, offset) for topic, number, offset in offsets]
    consumer.commit(offsets=found, asynchronous=False)


def _run_groups(kafka: RealKafka) -> Iterator[Any]:
    """Consumers that stay; two more groups are left behind, one of them never had a member."""
    simple = _consumer(kafka, "simple", {})
    _commit(simple, ("old", 0, 1), ("orders", 5, 2))
    simple.close()
    consumers: dict[str, list[Any]] = {}
    for group, of_group in {**GROUPS, "left": LEFT}.items():
        for settings in of_group.members:
            consumer = _consumer(kafka, group, settings)
            if group != "left":
                yield consumer
            consumer.subscribe(list(of_group.topics))
            consumers.setdefault(group, []).append(consumer)
    _settle(kafka, consumers)
    _commit(consumers["left"][0], ("orders", 0, 3), ("old", 1, 0))
    for consumer in consumers.pop("left"):
        consumer.close()
    for group, of_group in consumers.items():
        owner = next(each for each in of_group if each.assignment())
        _commit(owner, *((each.topic, each.partition, 1 + each.partition) for each in owner.assignment()))
        # Nobody in the group reads this topic.
        if group in ("range", "next-uniform"):
            _commit(owner, ("old", 0, 2))


def _settle(kafka: RealKafka, consumers: Mapping[str, Sequence[Any]]) -> None:
    client = _client(kafka)
    deadline = time.monotonic() + SETTLE_S
    waiting = dict(consumers)
    while waiting:
        assert time.monotonic() < deadline, f"did not settle: {sorted(waiting)}"
        for consumer in [each for of_group in waiting.values() for each in of_group]:
            consumer.poll(0.01)
        described = client.describe_consumer_groups(list(waiting), request_timeout=SETTLE_S)
        for group, future in described.items():
            count = sum(TOPICS[topic] for topic in GROUPS.get(group, LEFT).topics)
            about = future.result()
            held = sum(len(each.assignment.topic_partitions) for each in about.members)
            believed = sum(len(each.assignment()) for each in consumers[group])
            if (about.state.name, len(about.members), held, believed) == (
                "STABLE",
                len(consumers[group]),
                count,
                count,
            ):
                del waiting[group]


def _observed(address: str, **options: Any) -> dict[str, ObservedGroup]:
    found = observe(f"kafka://{address}", **options)
    groups = {each.name: each for each in found if isinstance(each, ObservedGroup)}
    assert len(groups) == len(found), found
    return groups


def _comparable(group: ObservedGroup) -> ObservedGroup:
    members = None if group.members is None else tuple(sorted(group.members, key=lambda member: member.id))
    return replace(group, members=members, sources=())


def test_the_live_cluster_and_the_tools_text_tell_the_same(kafka: RealKafka) -> None:
    live = _observed(kafka.plaintext)
    views = [["--members", "--verbose"], ["--state", "--verbose"], []]
    shown = [kafka.consumer_groups("--describe", "--all-groups", *view) for view in views]
    told, _ = read(*(text(each) for each in [*shown, kafka.topics("--describe"), kafka.groups("--list")]))
    assert live.keys() == told.keys() == {*GROUPS, "simple", "left"}
    for name, group in told.items():
        assert _comparable(live[name]) == _comparable(group)


def test_the_groups_are_what_the_test_made_them(kafka: RealKafka) -> None:
    live = _observed(kafka.plaintext)
    strategies = {name: group.strategy for name, group in live.items()}
    assert strategies == {
        "range": "range",
        "round robin": "roundrobin",
        "cooperative": "cooperative-sticky",
        "idle": "range",
        "static": "range",
        "订单-ü": "range",
        "next-uniform": "uniform",
        "next-range": "server-range",
        "next-idle": "uniform",
        "simple": None,
        "left": None,
    }
    for name, made in GROUPS.items():
        group = live[name]
        members = group.members or ()
        read = {Queue(topic, "", number) for topic in made.topics for number in range(TOPICS[topic])}
        assert (group.state, len(members), set(group.queues or ())) == ("Stable", len(made.members), read)
        assert sorted(queue for member in members for queue in member.owned or ()) == sorted(read)
        assert {member.instance_id for member in members} == {each.get("group.instance.id") for each in made.members}
    idle = {name: sum(not member.owned for member in group.members or ()) for name, group in live.items()}
    assert (idle["idle"], idle["next-idle"], idle["static"]) == (2, 1, 0)
    for name, lag in (("simple", {("old", 0): 2, ("orders", 5): 11}), ("left", {("orders", 0): 0, ("old", 1): 5})):
        assert (live[name].state, live[name].members) == ("Empty", ())
        assert {(queue.topic, queue.number): each for queue, each in live[name].lag.items()} == lag
    assert any("topic old has no owner" in note for note in live["range"].notes)


def _audit(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "compare", "audit", "--format", "json", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=SETTLE_S, check=False)


def _groups(document: str) -> list[dict[str, Any]]:
    groups = json.loads(document)["groups"]
    for group in groups:
        del group["sources"]
    return sorted(groups, key=lambda group: str(group["group"]))


def test_the_command_audits_the_cluster_as_it_audits_the_tools_text(kafka: RealKafka, tmp_path: Path) -> None:
    shown = {
        "topics.txt": kafka.topics("--describe"),
        "groups.txt": kafka.groups("--list"),
        "offsets.txt": kafka.consumer_groups("--describe", "--all-groups"),
    }
    for view in ("members", "state"):
        shown[f"{view}.txt"] = kafka.consumer_groups("--describe", "--all-groups", f"--{view}", "--verbose")
    for name, content in shown.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    live, told = _audit(f"kafka://{kafka.plaintext}"), _audit(str(tmp_path))
    assert (live.returncode, live.stderr) == (told.returncode, told.stderr) == (0, "")
    assert _groups(live.stdout) == _groups(told.stdout)
    assert json.loads(live.stdout)["skipped"] == []


def test_the_command_takes_a_file_for_tls_and_login(kafka: RealKafka, tmp_path: Path) -> None:
    address = f"kafka://{kafka.sasl_ssl}"
    lines = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", *_trust(kafka)]
    right = _properties(tmp_path, *lines, _login("plain.PlainLoginModule"))
    assert len(_groups(_audit(address, "--command-config", str(right)).stdout)) == len(GROUPS) + 2
    wrong = _properties(tmp_path, *lines, _login("plain.PlainLoginModule", "wrong-secret"))
    refused = _audit(address, "--command-config", str(wrong), "--timeout", "20")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert "refuses the login" in refused.stderr
    assert "wrong-secret" not in refused.stderr


def _properties(folder: Path, *lines: str) -> Path:
    file = folder / "client.properties"
    file.write_text("\n".join(lines), encoding="latin-1")
    return file


def _login(module: str, password: str = PASSWORD) -> str:
    full = f"org.apache.kafka.common.security.{module}"
    return f'sasl.jaas.config={full} required \\\n  username="{USER}" password="{escaped(password)}";'


def _trust(kafka: RealKafka, name: str = "broker") -> tuple[str, str]:
    return "ssl.truststore.type=PEM", f"ssl.truststore.location={kafka.folder}/{name}.pem"


Lines = Callable[[RealKafka], Sequence[str]]
WORKING: dict[str, tuple[str, Lines]] = {
    "scram": (
        "sasl_ssl",
        lambda kafka: [
            "security.protocol=SASL_SSL",
            "sasl.mechanism=SCRAM-SHA-256",
            _login("scram.ScramLoginModule"),
            *_trust(kafka),
        ],
    ),
    "plain": (
        "sasl_ssl",
        lambda kafka: [
            "security.protocol=SASL_SSL",
            "sasl.mechanism=PLAIN",
            _login("plain.PlainLoginModule"),
            *_trust(kafka),
        ],
    ),
    "certificate in PKCS12": (
        "ssl",
        lambda kafka: [
            "security.protocol=SSL",
            "ssl.keystore.type=PKCS12",
            f"ssl.keystore.location={kafka.folder}/client.p12",
            f"ssl.keystore.password={STORE_PASSWORD}",
            f"ssl.key.password={STORE_PASSWORD}",
            *_trust(kafka),
        ],
    ),
    "trusted certificate within the file": (
        "ssl",
        lambda kafka: [
            "security.protocol=SSL",
            f"ssl.keystore.location={kafka.folder}/client.p12",
            f"ssl.keystore.password={STORE_PASSWORD}",
            "ssl.truststore.type=PEM",
            "ssl.truststore.certificates=" + (kafka.folder / "broker.pem").read_text().strip().replace("\n", " \\\n"),
        ],
    ),
}


@pytest.mark.parametrize("way", WORKING)
def test_a_file_that_kafkas_own_tools_take_connects(way: str, kafka: RealKafka, tmp_path: Path) -> None:
    listener, lines = WORKING[way]
    address, file = getattr(kafka, listener), _properties(tmp_path, *lines(kafka))
    listed = kafka.consumer_groups("--list", "--command-config", str(file), server=address).splitlines()
    live = _observed(address, command_config=file)
    assert sorted(live) == sorted(listed)
    assert {name: _comparable(group) for name, group in live.items()} == {
        name: _comparable(group) for name, group in _observed(kafka.plaintext).items()
    }


REFUSED: dict[str, tuple[str, Lines, str]] = {
    "wrong password": (
        "sasl_ssl",
        lambda kafka: [
            "security.protocol=SASL_SSL",
            "sasl.mechanism=SCRAM-SHA-256",
            _login("scram.ScramLoginModule", "wrong-secret"),
            *_trust(kafka),
        ],
        "refuses the login: SASL authentication error",
    ),
    "a mechanism that the node lacks": (
        "sasl_ssl",
        lambda kafka: [
            "security.protocol=SASL_SSL",
            "sasl.mechanism=SCRAM-SHA-512",
            _login("scram.ScramLoginModule"),
            *_trust(kafka),
        ],
        "supported mechanisms: PLAIN,SCRAM-SHA-256",
    ),
    "a certificate that nobody trusts": (
        "sasl_ssl",
        lambda kafka: [
            "security.protocol=SASL_SSL",
            "sasl.mechanism=PLAIN",
            _login("plain.PlainLoginModule"),
            *_trust(kafka, "client"),
        ],
        "no TLS connection",
    ),
    "no certificate where one is wanted": (
        "ssl",
        lambda kafka: ["security.protocol=SSL", *_trust(kafka)],
        "no TLS connection to the Kafka cluster",
    ),
    "a wrong password of the key store": (
        "ssl",
        lambda kafka: [
            "security.protocol=SSL",
            f"ssl.keystore.location={kafka.folder}/client.p12",
            "ssl.keystore.password=wrong-secret",
            *_trust(kafka),
        ],
        "client.properties: Failed to parse ssl.keystore.location",
    ),
    "no TLS where it is wanted": ("sasl_ssl", lambda kafka: [], "--command-config if that listener requires TLS"),
    "TLS where there is none": (
        "plaintext",
        lambda kafka: ["security.protocol=SSL", *_trust(kafka)],
        "connecting to a PLAINTEXT broker listener?",
    ),
}


@pytest.mark.parametrize("way", REFUSED)
def test_a_refused_connection_is_one_line_without_secrets(
    way: str, kafka: RealKafka, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    listener, lines, expected = REFUSED[way]
    file = _properties(tmp_path, *lines(kafka))
    with pytest.raises(UserError) as refused:
        observe(f"kafka://{getattr(kafka, listener)}", command_config=file, timeout_s=20)
    line = str(refused.value)
    assert expected in line
    assert "\n" not in line
    assert not any(secret in line for secret in ("wrong-secret", PASSWORD, STORE_PASSWORD))
    assert capfd.readouterr() == ("", "")


def test_many_groups_are_read_side_by_side(kafka: RealKafka) -> None:
    client = _client(kafka)
    names = [f"many-{number:04}" for number in range(300)]
    offsets = [library.TopicPartition("orders", 0, 1)]
    futures = [
        client.alter_consumer_group_offsets([library.ConsumerGroupTopicPartitions(name, offsets)])[name]
        for name in names
    ]
    for future in futures:
        future.result(SETTLE_S)
    try:
        told: list[str] = []
        live = _observed(kafka.plaintext, progress=told.append)
        assert {*names} < live.keys()
        assert all(live[name].lag == {Queue("orders", "", 0): 2} for name in names)
        assert told[-1] == f"kafka://{kafka.plaintext}: group {len(live)} of {len(live)}"
    finally:
        for deleted in client.delete_consumer_groups(names).values():
            deleted.result(SETTLE_S)
