"""Records what members of a share group see on a released broker: `python -m tests.slow.share_recordings FOLDER`.

Each story is a scenario file in ``tests/captures/kafka/share``, which the model plays, too; the recording beside it has
a line for each record that a member was given or has handled, in seconds since production began.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.slow.java_members import Members, Program
from tests.slow.real_kafka import RealKafka, kafka_jars, running

VERSION: Final = "4.4.0"
TOPIC: Final = "orders"
SOURCE: Final = Path(__file__).with_name("ShareMembers.java")
SETTINGS: Final = {"group.id": "g"}
_JOINED_S: Final = 8.0
"""So long after its first members a new group gives them records."""


class Step(NamedTuple):
    """What happens so many seconds after production began."""

    at: float
    do: Callable[["Story"], None]


class Row(NamedTuple):
    """A line of a member: seconds, what, who, which record, for the how many-th time."""

    at: float
    kind: str
    name: str
    partition: str
    offset: int
    count: int


class Members_(Members):
    """Members whose lines are rows; those of one process."""

    def _listen(self) -> None:
        assert self._process.stdout is not None
        self.rows: list[Row] = []
        for line in self._process.stdout:
            at, kind, name, partition, offset, count = line.rstrip("\n").split("\t")
            self.rows.append(Row(int(at) / 1000, kind, name, partition, int(offset), int(count)))


class Story:
    """A cluster with a topic, and a process for each of the members."""

    def __init__(self, kafka: RealKafka, program: Program) -> None:
        self._kafka, self._program = kafka, program
        self.members: dict[str, Members_] = {}
        self.extra: list[tuple[float, str, str]] = []

    def start(self, name: str, handle: int, **settings: str) -> None:
        members = self.members[name] = Members_(self._program)
        given = {**SETTINGS, "bootstrap.servers": self._kafka.plaintext, "client.id": name, **settings}
        members.say("start", name, TOPIC, str(handle), *(f"{key}={value}" for key, value in given.items()))

    def say(self, name: str, *words: str) -> None:
        self.members[name].say(words[0], name, *words[1:])

    def produce(self, partitions: int, interval: int, count: int) -> float:
        """Begin to produce; when that was."""
        self.members["producer"] = Members_(self._program)
        self.members["producer"].say("produce", self._kafka.plaintext, TOPIC, *map(str, (partitions, interval, count)))
        while not getattr(self.members["producer"], "rows", []):
            time.sleep(0.02)
        return self.members["producer"].rows[0].at

    def poison(self, partition: int) -> None:
        self.members["producer"].say("poison", self._kafka.plaintext, TOPIC, str(partition))

    def kill(self, name: str) -> None:
        self.members[name].kill()
        self.extra.append((time.time(), "killed", name))

    def rows(self) -> list[Row]:
        found = [row for members in self.members.values() for row in getattr(members, "rows", [])]
        return sorted([*found, *(Row(at, kind, name, "", -1, -1) for at, kind, name in self.extra)])


def crowd(story: Story) -> float:
    """Two members, a third one joins, one is killed while it handles, one gets a record that takes too long."""
    for name in ("c1", "c2"):
        story.start(name, 100)
    time.sleep(_JOINED_S)
    began = story.produce(4, 500, 170)
    _steps(began, [
        (15, lambda: story.start("c3", 100)),
        (30, lambda: story.say("c1", "slow", "60000")),
        (33, lambda: story.kill("c1")),
        (40, lambda: story.say("c2", "slow", "40000")),
        (85, lambda: None),
    ])  # fmt: skip
    return began


def lonely(story: Story) -> float:
    """Two members of four partitions, of which one is killed: its partitions wait. A poison record is given out again
    until nobody tries it any more; a member leaves."""
    for name in ("c1", "c2"):
        story.start(name, 50, **{"share.acknowledgement.mode": "explicit"})
    time.sleep(_JOINED_S)
    began = story.produce(4, 500, 170)
    _steps(began, [
        (10, lambda: story.poison(0)),
        (15, lambda: story.kill("c2")),
        (70, lambda: story.start("c3", 50, **{"share.acknowledgement.mode": "explicit"})),
        (80, lambda: story.say("c1", "close")),
        (90, lambda: None),
    ])  # fmt: skip
    return began


def _steps(began: float, steps: Sequence[tuple[float, Callable[[], None]]]) -> None:
    for at, do in steps:
        time.sleep(max(0.0, began + at - time.time()))
        do()


STORIES: Final = {"crowd": crowd, "lonely": lonely}


def record(name: str, to: Path) -> None:
    """Play a story on a released broker, and write what its members saw."""
    with tempfile.TemporaryDirectory() as folder:
        with running(Path(folder), {"group.share.heartbeat.interval.ms": "5000"}, version=VERSION) as kafka:
            jars = kafka_jars(VERSION)
            program = Program.of(SOURCE, jars, Path(folder))
            kafka.topics("--create", "--topic", TOPIC, "--partitions", "4", "--replication-factor", "1")
            config = "org.apache.kafka.tools.ConfigCommand"
            which = ("--entity-type", "groups", "--entity-name", "g", "--alter")
            kafka.tool(
                config,
                "--bootstrap-server",
                kafka.plaintext,
                *which,
                "--add-config",
                "share.auto.offset.reset=earliest",
            )
            story = Story(kafka, program)
            try:
                began = STORIES[name](story)
            finally:
                for members in story.members.values():
                    members.kill()
            lines = [
                json.dumps([round(row.at - began, 3), *row[1:]])
                for row in story.rows()
                if row.kind not in ("producing",)
            ]
            to.write_text("\n".join([json.dumps({"kafka": VERSION, "story": name}), *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in sys.argv[2:] or STORIES:
        record(each, Path(sys.argv[1]) / f"{each}.jsonl")
