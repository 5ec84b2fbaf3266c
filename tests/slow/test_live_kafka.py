"""A running Kafka tells `observe` what its own tools print, over plain connections, TLS and logins."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from compare.reading.kafka_live import observe
from compare.reading.kafka_live.epochs import types
from protocols import Queue, UserError
from tests.compare.reading.reading_kafka import read, text
from tests.slow.live_groups import (
    GROUPS,
    SETTLE_S,
    TOPICS,
    admin_client,
    audit,
    audited_groups,
    comparable,
    make_topics,
    observed,
    run_groups,
)
from tests.slow.real_kafka import (
    PASSWORD,
    STORE_PASSWORD,
    USER,
    VERSIONS,
    RealKafka,
    UnavailableError,
    escaped,
    running,
)

library = pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=VERSIONS)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    with ExitStack() as stack:
        try:
            node = stack.enter_context(running(tmp_path_factory.mktemp("kafka"), version=request.param))
        except UnavailableError as error:
            pytest.skip(str(error))
        make_topics(node)
        for consumer in run_groups(node):
            stack.callback(consumer.close)
        yield node


def test_the_live_cluster_and_the_tools_text_tell_the_same(kafka: RealKafka) -> None:
    live = observed(kafka.plaintext)
    views = [["--members", "--verbose"], ["--state", "--verbose"], []]
    shown = [kafka.consumer_groups("--describe", "--all-groups", *view) for view in views]
    told, _ = read(*(text(each) for each in [*shown, kafka.topics("--describe"), kafka.groups("--list")]))
    assert live.keys() == told.keys() == {*GROUPS, "simple", "left"}
    for name, group in told.items():
        assert comparable(live[name]) == comparable(group)


def test_the_groups_are_what_the_test_made_them(kafka: RealKafka) -> None:
    live = observed(kafka.plaintext)
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
    host, _, port = kafka.plaintext.rpartition(":")
    kinds = types({(host, int(port)): list(live)}, {}, SETTLE_S, time.monotonic() + SETTLE_S)
    assert kinds == {name: "consumer" if name.startswith("next-") else "classic" for name in live}
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
    live, told = audit(f"kafka://{kafka.plaintext}"), audit(str(tmp_path))
    assert (live.returncode, live.stderr) == (told.returncode, told.stderr) == (0, "")
    assert audited_groups(live.stdout) == audited_groups(told.stdout)
    assert json.loads(live.stdout)["skipped"] == []


def test_the_command_takes_a_file_for_tls_and_login(kafka: RealKafka, tmp_path: Path) -> None:
    address = f"kafka://{kafka.sasl_ssl}"
    lines = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", *_trust(kafka)]
    right = _properties(tmp_path, *lines, _login("plain.PlainLoginModule"))
    assert len(audited_groups(audit(address, "--command-config", str(right)).stdout)) == len(GROUPS) + 2
    wrong = _properties(tmp_path, *lines, _login("plain.PlainLoginModule", "wrong-secret"))
    refused = audit(address, "--command-config", str(wrong), "--timeout", "20")
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
    live = observed(address, command_config=file)
    assert sorted(live) == sorted(listed)
    told = {name: comparable(group) for name, group in observed(kafka.plaintext).items()}
    if any("client.p12" in line for line in lines(kafka)):  # only librdkafka reads it, and that tells no epochs
        told = {name: replace(group, epoch=None) for name, group in told.items()}
    assert {name: comparable(group) for name, group in live.items()} == told


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
    client = admin_client(kafka)
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
        live = observed(kafka.plaintext, progress=told.append)
        assert {*names} < live.keys()
        assert all(live[name].lag == {Queue("orders", "", 0): 2} for name in names)
        assert told[-1] == f"kafka://{kafka.plaintext}: group {len(live)} of {len(live)}"
    finally:
        for deleted in client.delete_consumer_groups(names).values():
            deleted.result(SETTLE_S)
