"""A real Kafka on loopback for tests: one KRaft node with a small heap, or more, from the released Maven jars.

The jars are kept in the user's cache folder. What a test starts, it stops by its own process id.
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.slow.java import UnavailableError, find_java, free_ports, released_jars, stop

VERSION = "4.1.0"
VERSIONS = (VERSION, "4.4.0")
USER, PASSWORD, STORE_PASSWORD = "alice", 'alice\'s "secret" \\ 1', "changeit"

_START_S, _TOOL_S = 90, 120
_CLUSTER_ID = "ZXF1aXBvaXNlLXRlc3QtMQ"
_NONE: Mapping[str, str] = {}
_KAFKA = ("org.apache.kafka:kafka_2.13", "org.apache.kafka:kafka-tools")
_OTHER_ARTIFACTS = {"org.slf4j:slf4j-simple": "1.7.36"}
_ARTIFACTS = {**dict.fromkeys(_KAFKA, VERSION), **_OTHER_ARTIFACTS}
_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{plaintext},SASL_SSL://127.0.0.1:{sasl_ssl},SSL://127.0.0.1:{ssl},\
CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.ssl.ssl.client.auth=required
ssl.keystore.type=PKCS12
ssl.keystore.location={folder}/broker.p12
ssl.keystore.password={store}
ssl.truststore.type=PEM
ssl.truststore.location={folder}/client.pem
log.dirs={folder}/data
num.network.threads=2
num.io.threads=2
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=500
group.consumer.heartbeat.interval.ms=1000
group.consumer.min.heartbeat.interval.ms=500
auto.create.topics.enable=false
"""


@dataclass(frozen=True)
class RealKafka:
    """A running node: ``host:port`` per listener, and ``folder`` with ``broker.pem`` and ``client.p12`` for TLS."""

    plaintext: str
    sasl_ssl: str
    ssl: str
    folder: Path
    _java: Sequence[str]
    _broker: Sequence[str]

    def tool(self, main_class: str, *arguments: str) -> str:
        """What one of Kafka's own tools prints."""
        command = [*self._java, main_class, *arguments]
        ran = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=_TOOL_S, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def consumer_groups(self, *arguments: str, server: str | None = None) -> str:
        """``kafka-consumer-groups``, with ``--command-config`` among the arguments where ``server`` asks for it."""
        main_class = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
        return self.tool(main_class, "--bootstrap-server", server or self.plaintext, *arguments)

    def topics(self, *arguments: str) -> str:
        """``kafka-topics``."""
        main_class = "org.apache.kafka.tools.TopicCommand"
        return self.tool(main_class, "--bootstrap-server", self.plaintext, *arguments)

    def groups(self, *arguments: str) -> str:
        """``kafka-groups``."""
        return self.tool("org.apache.kafka.tools.GroupsCommand", "--bootstrap-server", self.plaintext, *arguments)


def kafka_jars(version: str) -> Path:
    """The jars of the broker and the tools; `UnavailableError` where Maven or they are missing."""
    return released_jars("kafka", version, {**dict.fromkeys(_KAFKA, version), **_OTHER_ARTIFACTS})


@contextmanager
def running(
    folder: Path,
    settings: Mapping[str, str] = _NONE,
    advertise: Callable[[str], str] | None = None,
    version: str = VERSION,
    options: Sequence[str] = (),
) -> Iterator[RealKafka]:
    """A node that keeps everything in ``folder``; `UnavailableError` where Java 17, Maven or the jars are missing.
    ``settings`` of the broker stand instead of those of the tests. ``advertise``: its plain listener's address to the
    one that it shall tell clients. ``options`` of its virtual machine, such as what it shall log."""
    java, jars = find_java(), kafka_jars(version)
    command = [java, "-cp", f"{jars}/*", "-Xmx512m", "-Xms128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    log_level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    tool = [java, "-cp", f"{jars}/*", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", log_level]
    _make_stores(java, folder)
    plaintext, sasl_ssl, ssl, controller = free_ports(4)
    if advertise is not None:
        settings = {**settings, "advertised.listeners": f"PLAINTEXT://{advertise(f'127.0.0.1:{plaintext}')}"}
    properties = folder / "server.properties"
    properties.write_text(
        _PROPERTIES.format(
            plaintext=plaintext,
            sasl_ssl=sasl_ssl,
            ssl=ssl,
            controller=controller,
            folder=folder,
            user=USER,
            password=escaped(PASSWORD),
            store=STORE_PASSWORD,
        )
        + "".join(f"{name}={value}\n" for name, value in settings.items()),
        encoding="latin-1",
    )
    addresses = [f"127.0.0.1:{port}" for port in (plaintext, sasl_ssl, ssl)]
    kafka = RealKafka(*addresses, folder, tool, [*command, log_level, *options, "kafka.Kafka"])
    with _started(kafka, kafka.plaintext, properties):
        _add_scram_user(kafka)
        yield kafka


@dataclass(frozen=True)
class FurtherBroker:
    """A broker beside the one that `running` gives, which is the controller. ``address`` is its ``host:port``."""

    address: str
    process: subprocess.Popen[bytes]


@contextmanager
def further_broker(kafka: RealKafka, number: int) -> Iterator[FurtherBroker]:
    """A broker of the same cluster and the same settings with the id ``number``, which is not 1."""
    folder = kafka.folder / str(number)
    folder.mkdir()
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    own = {
        "process.roles": "broker",
        "node.id": str(number),
        "listeners": f"PLAINTEXT://{address}",
        "log.dirs": str(folder / "data"),
    }
    # Of a name that stands there twice the last value counts.
    properties = folder / "server.properties"
    common = (kafka.folder / "server.properties").read_text("latin-1")
    properties.write_text(common + "".join(f"{name}={value}\n" for name, value in own.items()), encoding="latin-1")
    with _started(kafka, address, properties) as process:
        yield FurtherBroker(address, process)


@contextmanager
def _started(kafka: RealKafka, address: str, properties: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The node with these properties, formatted and begun, once its listener at ``address`` accepts."""
    kafka.tool("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(properties))
    log = properties.with_name("broker.log")
    with log.open("wb") as output:
        process = subprocess.Popen([*kafka._broker, str(properties)], stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait_until_up(address, process, log)
        yield process
    finally:
        stop(process)


def escaped(password: str) -> str:
    """A password between the quotes of ``sasl.jaas.config`` in a properties file, where both languages have escapes."""
    in_jaas = password.replace("\\", "\\\\").replace('"', '\\"')
    return in_jaas.replace("\\", "\\\\")


def _wait_until_up(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    host, port = address.split(":")
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with socket.create_connection((host, int(port)), 1):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"Kafka did not start:\n{log.read_text('utf-8', 'replace')[-4000:]}")


def _add_scram_user(kafka: RealKafka) -> None:
    from confluent_kafka import admin

    client = admin.AdminClient({"bootstrap.servers": kafka.plaintext})
    scram = admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_256, 4096)
    for done in client.alter_user_scram_credentials(
        [admin.UserScramCredentialUpsertion(USER, scram, PASSWORD.encode())]
    ).values():
        done.result(_TOOL_S)


def _make_stores(java: str, folder: Path) -> None:
    """Self-signed certificates: ``NAME.p12`` with key and certificate, ``NAME.pem`` with the certificate alone."""
    keytool = shutil.which("keytool", path=str(Path(java).resolve().parent)) or shutil.which("keytool")
    if keytool is None:
        raise UnavailableError("no keytool beside java: the test needs it for TLS")
    for name in ("broker", "client"):
        store = ["-keystore", f"{name}.p12", "-storetype", "PKCS12", "-storepass", STORE_PASSWORD, "-alias", name]
        pair = ["-genkeypair", "-keyalg", "RSA", "-validity", "2", "-dname", f"CN={name}", "-ext", "san=ip:127.0.0.1"]
        for arguments in ([*pair, *store], ["-exportcert", "-rfc", "-file", f"{name}.pem", *store]):
            subprocess.run([keytool, *arguments], cwd=folder, capture_output=True, timeout=_TOOL_S, check=True)
