"""A real RocketMQ on loopback for tests: a name server, two brokers with small heaps, the released Maven jars."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.slow.java import find_java, free_ports, released_jars, stop

VERSION = "5.3.3"
VERSIONS = (VERSION, "5.5.0")
BROKERS = ("broker-a", "broker-b")

POPS: Mapping[str, str] = {"timerWheelEnable": "true"}
"""The timer without which 5.x brokers refuse to pop."""

_START_S, _TOOL_S = 120, 120
_NONE: Mapping[str, str] = {}
_SERVERS = ("rocketmq-namesrv", "rocketmq-broker", "rocketmq-tools")
_BROKER = """brokerClusterName=Test
brokerName={name}
brokerId={number}
brokerRole={role}
brokerIP1=127.0.0.1
listenPort={port}
haListenPort={high_availability}
namesrvAddr={name_server}
storePathRootDir={folder}/store
storePathCommitLog={folder}/store/commitlog
mappedFileSizeCommitLog=4194304
mappedFileSizeConsumeQueue=60000
timerWheelEnable=false
enableControllerMode=false
autoCreateTopicEnable=false
diskMaxUsedSpaceRatio=99
"""
_PACKAGE = "org.apache.rocketmq.client.consumer.rebalance."


@dataclass(frozen=True)
class ReleasedPrograms:
    """Tools and members of one release before a cluster, real or served. ``name_server`` is its ``host:port``;
    ``folder`` is scratch."""

    name_server: str
    folder: Path
    _java: Sequence[str]
    _processes: ExitStack

    def mqadmin(self, *arguments: str) -> str:
        """What mqadmin prints, its errors too; the name server is added."""
        main_class = "org.apache.rocketmq.tools.command.MQAdminStartup"
        ran = subprocess.run(
            [*self._java, main_class, *arguments, "-n", self.name_server],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=_TOOL_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout
        # The tool's logger tells of its own start first.
        return "".join(line for line in ran.stdout.splitlines(keepends=True) if " |-" not in line)

    def run(self, program: str, *arguments: str) -> str:
        """What a program of this folder prints, run with the jars of this release until it ends."""
        source = Path(__file__).with_name(program)
        ran = subprocess.run(
            [*self._java, str(source), *arguments], capture_output=True, encoding="utf-8", timeout=_TOOL_S, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def start_member(
        self, group: str, instance: str, *topics: str, strategy: str = "Averagely", model: str = "CLUSTERING"
    ) -> subprocess.Popen[bytes]:
        """A Java push consumer in a process of its own; it has started when this returns."""
        source = Path(__file__).with_name("Member.java")
        strategy_class = f"{_PACKAGE}AllocateMessageQueue{strategy}"
        command = [*self._java, str(source), self.name_server, group, instance, strategy_class, model, *topics]
        log = self.folder / f"{group}-{instance}.log"
        member = _started(command, log, self._processes, self.folder)
        _wait_for(log, "started", member)
        return member


class RealRocketMQ(ReleasedPrograms):
    """A running cluster of released servers."""

    def start_proxy(self) -> str:
        """A proxy for clients of the 5.x line; its ``host:port``. It is the newest release's."""
        version = VERSIONS[-1]
        jars = released_jars("rocketmq-proxy", version, {"org.apache.rocketmq:rocketmq-proxy": version})
        port, remoting = free_ports(2)
        configuration, log = self.folder / "rmq-proxy.json", self.folder / "proxy.log"
        settings = {"rocketMQClusterName": "Test", "grpcServerPort": port, "remotingListenPort": remoting}
        configuration.write_text(json.dumps({**settings, "namesrvAddr": self.name_server}), encoding="utf-8")
        home = [f"-Duser.home={self.folder}", f"-DROCKETMQ_HOME={self.folder}"]
        java = [find_java(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", *home, "-cp", f"{jars}/*"]
        command = [*java, "org.apache.rocketmq.proxy.ProxyStartup", "-pc", str(configuration)]
        process = _started(command, log, self._processes, self.folder, RMQ_PROXY_HOME=str(self.folder))
        _wait_for(log, "startup successfully", process)
        return f"127.0.0.1:{port}"

    def start_slave(self, name: str) -> Path:
        """A slave of this broker; its folder, which has its logs and what it stores."""
        folder = self.folder / f"{name}-slave"
        java = [*self._java, "-Xmx512m", f"-Duser.home={folder}"]
        _start_broker(name, self.name_server, java, folder, self._processes, number=1)
        return folder


def released(version: str = VERSION) -> Path:
    """The jars of the servers, the tools and the client; `UnavailableError` where Maven or they are missing."""
    return released_jars("rocketmq", version, {f"org.apache.rocketmq:{name}": version for name in _SERVERS})


@contextmanager
def released_programs(name_server: str, folder: Path, version: str) -> Iterator[ReleasedPrograms]:
    """The programs of this release before a cluster that is running; `UnavailableError` as of `released`."""
    with ExitStack() as processes:
        yield ReleasedPrograms(name_server, folder, [*_java(folder, version), "-Xmx256m"], processes)


def _java(folder: Path, version: str) -> list[str]:
    base = [find_java(), "-cp", f"{released(version)}/*", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xms64m"]
    return [*base, f"-Duser.home={folder}", f"-Drocketmq.home.dir={folder}"]


@contextmanager
def running(
    folder: Path,
    version: str = VERSION,
    *,
    settings: Mapping[str, str] = _NONE,
    brokers: Sequence[str] = BROKERS,
) -> Iterator[RealRocketMQ]:
    """A cluster of these brokers that keeps everything in ``folder``; `UnavailableError` where Java, Maven or the jars
    are missing. ``settings`` of the brokers stand instead of those of the tests."""
    base = _java(folder, version)
    with ExitStack() as processes:
        (port,) = free_ports(1)
        name_server = f"127.0.0.1:{port}"
        configuration = folder / "namesrv.conf"
        configuration.write_text(f"listenPort={port}\n", encoding="utf-8")
        log = folder / "namesrv.log"
        main_class = "org.apache.rocketmq.namesrv.NamesrvStartup"
        process = _started([*base, "-Xmx256m", main_class, "-c", str(configuration)], log, processes, folder)
        _wait_for(log, "boot success", process)
        for name in brokers:
            _start_broker(name, name_server, [*base, "-Xmx512m"], folder / name, processes, settings=settings)
        cluster = RealRocketMQ(name_server, folder, [*base, "-Xmx256m"], processes)
        _wait_until_registered(cluster, brokers)
        yield cluster


def _start_broker(
    name: str,
    name_server: str,
    java: Sequence[str],
    folder: Path,
    processes: ExitStack,
    *,
    number: int = 0,
    settings: Mapping[str, str] = _NONE,
) -> None:
    """``number``: 0 the master of this name, above it a slave."""
    folder.mkdir()
    port, high_availability = free_ports(2)
    configuration = folder / "broker.conf"
    configuration.write_text(
        _BROKER.format(
            name=name,
            number=number,
            role="SLAVE" if number else "ASYNC_MASTER",
            port=port,
            high_availability=high_availability,
            name_server=name_server,
            folder=folder,
        )
        + "".join(f"{name}={value}\n" for name, value in settings.items()),
        encoding="utf-8",
    )
    log = folder / "broker.log"
    main_class = "org.apache.rocketmq.broker.BrokerStartup"
    process = _started([*java, main_class, "-c", str(configuration)], log, processes, folder)
    _wait_for(log, "boot success", process)


def _wait_until_registered(cluster: RealRocketMQ, brokers: Sequence[str]) -> None:
    deadline = time.monotonic() + _START_S
    told = ""
    while time.monotonic() < deadline:
        told = cluster.mqadmin("clusterList")
        if all(broker in told for broker in brokers):
            return
    raise AssertionError(f"the brokers do not register:\n{told[-4000:]}")


def _started(
    command: Sequence[str], log: Path, processes: ExitStack, folder: Path, **more: str
) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "HOME": str(folder), **more},
        )
    processes.callback(stop, process)
    return process


def _wait_for(log: Path, text: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        if text in log.read_text("utf-8", "replace"):
            return
        time.sleep(0.2)
    raise AssertionError(f"{log.name} does not say {text!r}:\n{log.read_text('utf-8', 'replace')[-4000:]}")
