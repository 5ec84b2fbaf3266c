"""A served RocketMQ cluster beside real clients in processes of their own, which print what they do."""

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from protocols.engine.sockets import Sockets
from protocols.engine.turns import LoopThread
from protocols.facts import Owns
from protocols.java import Queue
from rocketmq_selfbalance.broker.state import BrokerSettings
from rocketmq_selfbalance.wire.cluster import RocketMQCluster
from tests.rocketmq_selfbalance.wire.serving import Facts
from tests.slow.java import stop

PATIENCE_S = 60


class Program:
    """A running program; its lines are read by a thread."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
        )
        self.lines: list[str] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.decode("utf-8", "replace").rstrip())

    def said(self, begin: str) -> list[list[str]]:
        """The words of the lines that begin so."""
        return [line.split() for line in list(self.lines) if line.startswith(begin)]

    def leave(self) -> None:
        """End its input: it shuts down."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self._reading.join(PATIENCE_S)

    def crash(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()


class ServedRocketMQ:
    """A cluster of two brokers in a thread of its own."""

    def __init__(self, loop: LoopThread, cluster: RocketMQCluster, facts: Facts, folder: Path) -> None:
        self.loop, self.cluster, self.facts, self.folder = loop, cluster, facts, folder
        self.programs: list[Program] = []

    @property
    def name_server(self) -> str:
        """Its ``host:port``."""
        return self.cluster.name_server

    def run(self, command: Sequence[str]) -> Program:
        """Start a client."""
        program = Program(command, self.folder)
        self.programs.append(program)
        return program

    def until(self, holds: Callable[[], Any]) -> None:
        """Wait for something."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline:
                told = "\n\n".join("\n".join(each.lines[-30:]) for each in self.programs)
                raise AssertionError(f"it never came to that; owned: {self.owned()}\n{told}")
            time.sleep(0.05)

    def owned(self) -> Mapping[tuple[str, str], set[Queue]]:
        """Group and instance to the queues of its topic that it owns; those without any are left out."""
        found: dict[tuple[str, str], set[Queue]] = {}
        for fact in list(self.facts.seen):
            if isinstance(fact, Owns):
                name = fact.member.partition("@")[2].partition("#")[0]
                queues = {queue for queue in fact.queues if not queue.topic.startswith("%")}
                found[fact.group, name] = queues
        return {member: queues for member, queues in found.items() if queues}


@contextmanager
def served(folder: Path, broker: BrokerSettings | None = None) -> Iterator[ServedRocketMQ]:
    """A cluster with the topic ``orders``, of two queues at each of two brokers. Nothing may have failed at its end."""
    facts = Facts()

    async def start() -> tuple[Sockets, RocketMQCluster]:
        world = Sockets(observer=facts)
        topics = {"orders": {"broker-a": 2, "broker-b": 2}}
        epoch_ms = time.time() * 1000 - world.tell_time()
        cluster = await RocketMQCluster.start(
            world, epoch_ms=epoch_ms, brokers=("broker-a", "broker-b"), topics=topics, broker=broker
        )
        return world, cluster

    with LoopThread() as loop:
        world, cluster = loop.run(start())
        found = ServedRocketMQ(loop, cluster, facts, folder)
        try:
            yield found
            assert world.failures == []
        finally:
            for program in found.programs:
                stop(program.process)
            loop.run(asyncio.wait_for(world.close(), 10))
