"""Kafka's own Java tools (4.1.0) before a served broker: topics, settings, records of every compression, offsets."""

import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.kafka_coordinator.wire.serving import serving
from tests.slow.java import UnavailableError, find_java, released_jars
from tests.slow.real_kafka import _ARTIFACTS, VERSION

pytestmark = pytest.mark.slow

Tool = Callable[..., str]
_TOOL_S = 60


@pytest.fixture(scope="module")
def tool() -> Iterator[Tool]:
    try:
        java, jars = find_java(), released_jars("kafka", VERSION, _ARTIFACTS)
    except UnavailableError as error:
        pytest.skip(str(error))
    command = [java, "-cp", f"{jars}/*", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    command.append("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
    with serving({}, brokers=("a", "b", "c")) as server:

        def run(main_class: str, *arguments: str, given: str = "") -> str:
            ran = subprocess.run(
                [*command, main_class, "--bootstrap-server", server.bootstrap, *arguments],
                input=given,
                capture_output=True,
                encoding="utf-8",
                timeout=_TOOL_S,
                check=False,
            )
            assert ran.returncode == 0, ran.stdout + ran.stderr
            return ran.stdout

        yield run


def topics(tool: Tool, *arguments: str) -> str:
    return tool("org.apache.kafka.tools.TopicCommand", *arguments)


def test_topics_are_created_described_grown_and_deleted(tool: Tool) -> None:
    options = ("--partitions", "3", "--replication-factor", "2", "--config", "retention.bytes=5000")
    topics(tool, "--create", "--topic", "orders", *options)
    described = topics(tool, "--describe", "--topic", "orders")
    assert "PartitionCount: 3\tReplicationFactor: 2\tConfigs: min.insync.replicas=1,retention.bytes=5000" in described
    assert "Partition: 1\tLeader: 2\tReplicas: 2,3\tIsr: 2,3" in described
    topics(tool, "--alter", "--topic", "orders", "--partitions", "5")
    assert "PartitionCount: 5" in topics(tool, "--describe", "--topic", "orders")
    topics(tool, "--create", "--topic", "gone")
    topics(tool, "--delete", "--topic", "gone")
    assert "gone" not in topics(tool, "--list").split()


def test_settings_are_described_and_changed(tool: Tool) -> None:
    topics(tool, "--create", "--topic", "settings")
    named = ("--entity-type", "topics", "--entity-name", "settings")
    tool("kafka.admin.ConfigCommand", *named, "--alter", "--add-config", "retention.ms=5000,cleanup.policy=compact")
    tool("kafka.admin.ConfigCommand", *named, "--alter", "--delete-config", "retention.ms")
    assert "cleanup.policy=compact sensitive=false" in tool("kafka.admin.ConfigCommand", *named, "--describe")
    broker = tool("kafka.admin.ConfigCommand", "--entity-type", "brokers", "--entity-name", "1", "--describe", "--all")
    assert "  num.partitions=1 sensitive=false" in broker
    group = ("--entity-type", "groups", "--entity-name", "g")
    tool("kafka.admin.ConfigCommand", *group, "--alter", "--add-config", "consumer.session.timeout.ms=50000")
    assert "consumer.session.timeout.ms=50000" in tool("kafka.admin.ConfigCommand", *group, "--describe")


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_compression_come_back(codec: str, tool: Tool) -> None:
    topics(tool, "--create", "--topic", codec, "--partitions", "1")
    lines = [f"key{number}\tvalue {number} {'x' * number}" for number in range(200)]
    tool(
        "org.apache.kafka.tools.ConsoleProducer",
        *("--topic", codec, "--compression-codec", codec, "--producer-property", "linger.ms=50"),
        *("--property", "parse.key=true"),
        given="\n".join(lines) + "\n",
    )
    read = tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--topic", codec, "--from-beginning", "--max-messages", "200", "--timeout-ms", "20000"),
        *("--property", "print.key=true"),
    )
    assert read.splitlines() == lines


def test_offsets_are_told_and_records_deleted(tool: Tool, tmp_path_factory: pytest.TempPathFactory) -> None:
    topics(tool, "--create", "--topic", "offsets", "--partitions", "1")
    tool("org.apache.kafka.tools.ConsoleProducer", "--topic", "offsets", given="a\nb\nc\n")
    file = tmp_path_factory.mktemp("offsets") / "delete.json"
    file.write_text('{"partitions": [{"topic": "offsets", "partition": 0, "offset": 2}], "version": 1}')
    deleted = tool("org.apache.kafka.tools.DeleteRecordsCommand", "--offset-json-file", str(file))
    assert "partition: offsets-0\tlow_watermark: 2" in deleted
    shell = "org.apache.kafka.tools.GetOffsetShell"
    found = [tool(shell, "--topic", "offsets", "--time", each).strip() for each in ("-1", "-2", "-4")]
    assert found == ["offsets:0:3", "offsets:0:2", "offsets:0:2"]
