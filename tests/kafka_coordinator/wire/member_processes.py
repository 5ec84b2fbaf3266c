"""Members of a group in processes of their own (`member_program`), each with one of the Python libraries."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

PROGRAM = Path(__file__).with_name("member_program.py")
END_S = 20

_PLAIN: Mapping[str, Mapping[str, Any]] = {
    "kafka-python": {
        "group_id": "g",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "heartbeat_interval_ms": 100,
    },
    "aiokafka": {
        "group_id": "g",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "heartbeat_interval_ms": 100,
    },
    "confluent-kafka": {
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "heartbeat.interval.ms": 100,
        "log_level": 0,
    },
}
"""Library to its settings for a member that commits by itself."""


class MemberProcess:
    """One member; ``read`` are (partition, offset) of the records that it has printed."""

    def __init__(self, library: str, bootstrap: str, name: str, settings: Mapping[str, Any]) -> None:
        where = {"bootstrap.servers": bootstrap, "client.id": name}
        if library != "confluent-kafka":
            where = {"bootstrap_servers": bootstrap, "client_id": name}
        self.read: list[tuple[int, int]] = []
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), library, json.dumps({**where, **_PLAIN[library], **settings})],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()

    def kill(self) -> None:
        """End it as kill -9 does; nobody is told."""
        self._process.kill()
        self._process.wait(END_S)
        self._listener.join(END_S)

    def close(self) -> None:
        """Let it close its consumer, and wait until it has ended."""
        self._process.terminate()
        assert self._process.wait(END_S) == 0
        self._listener.join(END_S)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            _, partition, offset = line.split()
            self.read.append((int(partition), int(offset)))


class MemberProcesses:
    """Members of one library; all of them are killed at the end."""

    def __init__(self, library: str, bootstrap: str, settings: Mapping[str, Any]) -> None:
        self._given = (library, bootstrap, settings)
        self.all: list[MemberProcess] = []

    def start(self, name: str, **settings: Any) -> MemberProcess:
        """Start a member with this client id."""
        library, bootstrap, common = self._given
        made = MemberProcess(library, bootstrap, name, {**common, **settings})
        self.all.append(made)
        return made

    def read(self) -> list[tuple[int, int]]:
        """What all members have read, sorted."""
        return sorted(each for member in self.all for each in member.read)


@contextmanager
def members(library: str, bootstrap: str, **settings: Any) -> Iterator[MemberProcesses]:
    made = MemberProcesses(library, bootstrap, settings)
    try:
        yield made
    finally:
        for each in made.all:
            each.kill()
