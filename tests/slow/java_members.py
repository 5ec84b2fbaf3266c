"""Members of Kafka groups on released Java consumers: many in one process, or one in a process that is to be killed."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import Signals
from threading import Thread
from typing import Final, NamedTuple, Self

from tests.slow.java import find_java, released_jars
from tests.waiting import until

MEMBERS: Final = Path(__file__).with_name("Members.java")
END_S: Final = 30
_OPTIONS = ("-Xmx192m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")


class Told(NamedTuple):
    """A line that a member printed: ``at`` is seconds since the epoch, ``about`` the words after that."""

    at: float
    kind: str
    name: str
    id: str
    generation: int
    about: Sequence[str]

    @property
    def partitions(self) -> Sequence[str]:
        """Of a callback: written as Java does, ``orders-3``."""
        return self.about[0].split(",") if self.about[0] else ()


class Program(NamedTuple):
    """The compiled members beside the jars of one version of kafka-clients."""

    command: Sequence[str]

    @classmethod
    def compiled(cls, version: str, folder: Path) -> "Program":
        """Compiled in ``folder``; `UnavailableError` where Java, Maven or the jars are missing."""
        artifacts = {"org.apache.kafka:kafka-clients": version, "org.slf4j:slf4j-simple": "1.7.36"}
        return cls.of(MEMBERS, released_jars("kafka-clients", version, artifacts), folder)

    @classmethod
    def of(cls, source: Path, jars: Path, folder: Path) -> "Program":
        """This source compiled in ``folder``, beside these jars."""
        java = find_java()
        javac = str(Path(java).resolve().with_name("javac"))
        subprocess.run([javac, "-cp", f"{jars}/*", "-d", str(folder), str(source)], check=True, timeout=120)
        return cls([java, "-cp", f"{folder}:{jars}/*", f"-Duser.home={folder}", *_OPTIONS, source.stem])


class Process:
    """A program that is told words and prints words, a line each, with tabs between them; as a context manager it is
    killed at the end, where it still runs."""

    def __init__(self, command: Sequence[str]) -> None:
        self.rows: list[Sequence[str]] = []
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def say(self, *words: str) -> None:
        """Give a command."""
        assert self._process.stdin is not None
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()

    def signal(self, number: Signals) -> None:
        """Send the process this signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End the process as kill -9 does; nobody is told."""
        self._process.kill()
        self._process.wait(END_S)
        self._listener.join(END_S)

    def heard(self, *words: str) -> None:
        """A line was printed."""
        self.rows.append(words)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.heard(*line.rstrip("\n").split("\t"))


class Members(Process):
    """Members in one process; commands as in ``Members.java``."""

    def __init__(self, program: Program) -> None:
        self.told: list[Told] = []
        super().__init__(program.command)

    def start(self, name: str, topics: Sequence[str], settings: Mapping[str, object]) -> None:
        """Let a member begin."""
        self.say("start", name, ",".join(topics), *(f"{key}={value}" for key, value in settings.items()))

    def close(self, name: str) -> None:
        """Close a member's consumer, and wait until that is done."""
        self.say("close", name)
        until(lambda: self.of(name, "closed") != [], END_S)

    def produce(self, bootstrap: str, topic: str, partitions: int, count: int) -> None:
        """Write so many records to each partition, and wait until all are acknowledged."""
        before = len(self.of("", "produced"))
        self.say("produce", bootstrap, topic, str(partitions), str(count))
        until(lambda: len(self.of("", "produced")) > before, END_S)

    def of(self, name: str, *kinds: str) -> list[Told]:
        """What a member told, of these kinds."""
        return [each for each in self.told if each.name == name and each.kind in kinds]

    def of_any(self, name: str) -> list[Told]:
        """All that a member told."""
        return [each for each in self.told if each.name == name]

    def owned(self, name: str) -> list[str]:
        """What a member believes to own by its callbacks."""
        mine: set[str] = set()
        for each in self.of(name, "assigned", "revoked", "lost", "closed"):
            if each.kind == "assigned":
                mine.update(each.partitions)
            else:
                mine.difference_update(mine.copy() if each.kind == "closed" else each.partitions)
        return sorted(mine)

    def read(self, *names: str) -> list[tuple[str, int]]:
        """(Partition, offset) of each record that the members read."""
        lines = [each.about for name in names for each in self.of(name, "read")]
        return [(partition, at) for partition, first, end in lines for at in range(int(first), int(end))]

    def heard(self, *words: str) -> None:
        at, kind, name, member, generation, *about = words
        self.told.append(Told(int(at) / 1000, kind, name, member, int(generation), about))
