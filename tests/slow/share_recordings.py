"""Records what members of a share group see on a released broker: `python -m tests.slow.share_recordings FOLDER`.

The first line of a recording says what was set up; each other one tells of a member, mostly that it was given or has
handled a record, in seconds since production began. ``tests/kafka_coordinator/share`` plays the same in the model.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from tests.slow.java_members import Process, Program
from tests.slow.real_kafka import RealKafka, kafka_jars, running

VERSION: Final = "4.4.0"
TOPIC: Final = "orders"
SOURCE: Final = Path(__file__).with_name("ShareMembers.java")
SETTINGS: Final = {"group.id": "g"}
_WARM_S: Final = 15.0
_JOINED_S: Final = 8.0
"""So long after its first members a new group gives them records."""


class Row(NamedTuple):
    """A line of a member: seconds, what, who, which record, for the how many-th time."""

    at: float
    kind: str
    name: str
    partition: str
    offset: int
    count: int


class ShareMembers(Process):
    """Members whose lines are rows; those of one process."""

    def __init__(self, program: Program) -> None:
        self.read: list[Row] = []
        super().__init__(program.command)

    def heard(self, *words: str) -> None:
        at, kind, name, partition, offset, count = words
        self.read.append(Row(int(at) / 1000, kind, name, partition, int(offset), int(count)))


class Story:
    """A cluster with a topic, and a process for each of the members."""

    def __init__(self, kafka: RealKafka, program: Program) -> None:
        self._kafka, self._program = kafka, program
        self.members: dict[str, ShareMembers] = {}
        self.extra: list[tuple[float, str, str]] = []

    def start(self, name: str, handle: int, **settings: str) -> None:
        members = self.members[name] = ShareMembers(self._program)
        given = {**SETTINGS, "bootstrap.servers": self._kafka.plaintext, "client.id": name, **settings}
        members.say("start", name, TOPIC, str(handle), *(f"{key}={value}" for key, value in given.items()))

    def say(self, name: str, *words: str) -> None:
        self.members[name].say(words[0], name, *words[1:])

    def produce(self, partitions: int, interval: int, count: int) -> float:
        """Begin to produce; when that was."""
        self.members["producer"] = ShareMembers(self._program)
        self.members["producer"].say("produce", self._kafka.plaintext, TOPIC, *map(str, (partitions, interval, count)))
        while not self.members["producer"].read:
            time.sleep(0.02)
        return self.members["producer"].read[0].at

    def poison(self, partition: int) -> None:
        self.members["producer"].say("poison", self._kafka.plaintext, TOPIC, str(partition))

    def kill(self, name: str) -> None:
        self.members[name].kill()
        self.extra.append((time.time(), "killed", name))

    def rows(self) -> list[Row]:
        found = [row for members in self.members.values() for row in members.read]
        return sorted([*found, *(Row(at, kind, name, "", -1, -1) for at, kind, name in self.extra)])


class Play(NamedTuple):
    """A story: how long its members take for a record, their settings, and what happens when."""

    handle_ms: int
    settings: dict[str, str]
    joins: Sequence[tuple[float, str]]
    slow: Sequence[tuple[float, str, int]] = ()
    """(When, whose next record, how long that takes)."""
    poison: Sequence[tuple[float, int]] = ()
    kills: Sequence[tuple[float, str]] = ()
    closes: Sequence[tuple[float, str]] = ()


EXPLICIT: Final = {"share.acknowledgement.mode": "explicit"}
STORIES: Final = {
    "crowd": Play(100, {}, [(15, "c3")], slow=[(30, "c1", 60_000), (40, "c2", 40_000)], kills=[(33, "c1")]),
    "lonely": Play(50, EXPLICIT, [(70, "c3")], poison=[(10, 0)], kills=[(15, "c2")], closes=[(80, "c1")]),
}
"""``crowd``: a third member joins, one is killed with a record in hand, one handles a record for longer than its lock.
``lonely``: one of two members is killed, whose partitions wait; a record is released until nobody gets it any more; a
member closes."""
PARTITIONS, EVERY_MS, TIMES, END_S = 4, 500, 170, 90.0


def play(story: Story, of: Play) -> float:
    """Let it happen; when production began."""
    story.start("warm", 0, **{"group.id": "warm"})  # the first group of a cluster waits for the topic of the states
    time.sleep(_WARM_S)
    story.members.pop("warm").kill()
    for name in ("c1", "c2"):
        story.start(name, of.handle_ms, **of.settings)
    time.sleep(_JOINED_S)
    began = story.produce(PARTITIONS, EVERY_MS, TIMES)
    steps: list[tuple[float, Callable[[], None]]] = [
        *((at, partial(story.start, name, of.handle_ms, **of.settings)) for at, name in of.joins),
        *((at, partial(story.say, name, "slow", str(ms))) for at, name, ms in of.slow),
        *((at, partial(story.poison, number)) for at, number in of.poison),
        *((at, partial(story.kill, name)) for at, name in of.kills),
        *((at, partial(story.say, name, "close")) for at, name in of.closes),
        (END_S, lambda: None),
    ]
    for at, do in sorted(steps, key=lambda step: step[0]):
        time.sleep(max(0.0, began + at - time.time()))
        do()
    return began


def record(name: str, to: Path) -> None:
    """Play a story on a released broker, and write what its members saw."""
    of = STORIES[name]
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder), {"group.share.heartbeat.interval.ms": "5000"}, version=VERSION) as kafka,
    ):
        program = Program.of(SOURCE, kafka_jars(VERSION), Path(folder))
        kafka.topics("--create", "--topic", TOPIC, "--partitions", str(PARTITIONS), "--replication-factor", "1")
        for group in ("g", "warm"):
            kafka.tool(
                "org.apache.kafka.tools.ConfigCommand",
                *("--bootstrap-server", kafka.plaintext, "--entity-type", "groups", "--entity-name", group),
                *("--alter", "--add-config", "share.auto.offset.reset=earliest"),
            )
        story = Story(kafka, program)
        try:
            began = play(story, of)
        finally:
            for members in story.members.values():
                members.kill()
    head = {
        "kafka": VERSION, "partitions": PARTITIONS, "every_ms": EVERY_MS, "times": TIMES,
        "handle_ms": of.handle_ms, "settings": of.settings, "slow": of.slow, "poison": of.poison,
    }  # fmt: skip
    lines = [[round(row.at - began, 3), *row[1:]] for row in story.rows() if row.kind != "producing"]
    to.write_text("\n".join(map(json.dumps, [head, *lines])) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in sys.argv[2:] or STORIES:
        record(each, Path(sys.argv[1]) / f"{each}.jsonl")
