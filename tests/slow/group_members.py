"""Members of a real Kafka group, Java's or librdkafka's, which read until they are stopped, and what they were told."""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Protocol

from tests.slow.java_members import Process, Program
from tests.waiting import until

END_S: Final = 30


@dataclass
class Told:
    """What a member's listener was told: ``callbacks`` are (seconds since the epoch, kind, partitions), ``read`` are
    (partition, offset), a partition written as Java does: ``orders-3``. ``id``: the member's, once it has one;
    ``caught``: where its code caught which exception and went on, ``errors``: what ended it."""

    id: str = ""
    callbacks: list[tuple[float, str, Sequence[str]]] = field(default_factory=list)
    read: list[tuple[str, int]] = field(default_factory=list)
    caught: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Member(Protocol):
    """A member that runs from its beginning on; ``stop`` closes its consumer and returns when that is done."""

    told: Told

    def stop(self) -> None: ...


class Java(Process):
    """Java's consumer, in a process of its own."""

    def __init__(self, program: Program, topics: Sequence[str], settings: Mapping[str, str]) -> None:
        self.told = Told()
        super().__init__(program.command)
        self.say("start", "member", ",".join(topics), *(f"{name}={value}" for name, value in settings.items()))

    def heard(self, *words: str) -> None:
        at, kind, _, member, _, *about = words
        self.told.id = member or self.told.id
        if kind == "read":
            self.told.read += [(about[0], offset) for offset in range(int(about[1]), int(about[2]))]
        elif kind == "caught":
            self.told.caught.append(about[0])
        elif kind == "error":
            self.told.errors.append(about[0])
        elif kind in ("assigned", "revoked", "lost", "closed"):
            self.told.callbacks.append((int(at) / 1000, kind, about[0].split(",") if about[0] else ()))

    def stop(self) -> None:
        self.say("close", "member")
        try:
            until(lambda: any(kind == "closed" for _, kind, _ in self.told.callbacks), END_S)
        finally:
            self.kill()


class Librdkafka:
    """The consumer of confluent-kafka, in a thread. Raises what its constructor raises for settings it refuses."""

    def __init__(self, topics: Sequence[str], settings: Mapping[str, str]) -> None:
        import confluent_kafka

        self.told = Told()
        self._ended = threading.Event()
        self._consumer: Any = confluent_kafka.Consumer(dict(settings), logger=silent())
        self._consumer.subscribe(
            list(topics), on_assign=self._tell("assigned"), on_revoke=self._tell("revoked"), on_lost=self._tell("lost")
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _tell(self, kind: str) -> Any:
        def told(consumer: Any, partitions: Iterable[Any]) -> None:
            names = [f"{each.topic}-{each.partition}" for each in partitions]
            self.told.id = consumer.memberid() or self.told.id
            self.told.callbacks.append((time.time(), kind, names))

        return told

    def _run(self) -> None:
        while not self._ended.is_set():
            message = self._consumer.poll(0.05)
            if message is None:
                continue
            if message.error():
                self.told.errors.append(message.error().str())
            else:
                self.told.read.append((f"{message.topic()}-{message.partition()}", message.offset()))
        self._consumer.close()
        self.told.callbacks.append((time.time(), "closed", ()))

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(END_S)
        assert not self._thread.is_alive()


def silent() -> Any:
    """A logger for librdkafka that keeps everything to itself."""
    import logging

    logger = logging.Logger("librdkafka")
    logger.addHandler(logging.NullHandler())
    return logger


class Written:
    """Records written to every partition of some topics (name to number of partitions), ``rate`` per second, until
    the end."""

    def __init__(self, bootstrap: str, topics: Mapping[str, int], rate: float) -> None:
        import confluent_kafka

        self._counts = {(topic, number): 0 for topic, count in topics.items() for number in range(count)}
        self._pause = 1 / rate
        self._producer: Any = confluent_kafka.Producer({"bootstrap.servers": bootstrap}, logger=silent())
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        while not self._ended.wait(self._pause):
            for (topic, number), count in self._counts.items():
                self._producer.produce(topic, str(count), partition=number)
                self._counts[topic, number] = count + 1
            self._producer.poll(0)

    def end(self) -> set[tuple[str, int]]:
        """(partition, offset) of all that was written."""
        self._ended.set()
        self._thread.join(END_S)
        assert self._producer.flush(END_S) == 0
        return {(f"{topic}-{number}", at) for (topic, number), count in self._counts.items() for at in range(count)}


@dataclass(frozen=True)
class Held:
    """One partition held by one member of a name from ``since`` to ``until`` (seconds since the epoch)."""

    partition: str
    name: str
    since: float
    until: float


def held(lives: Iterable[tuple[str, Told]]) -> list[Held]:
    """Who held which partition when, from the callbacks of (name, what it was told), in order of time."""
    found: list[Held] = []
    for name, told in lives:
        since: dict[str, float] = {}
        for at, kind, partitions in told.callbacks:
            if kind == "assigned":
                since.update({each: at for each in partitions if each not in since})
                continue
            gone = list(since) if kind == "closed" else [each for each in partitions if each in since]
            found += [Held(each, name, since.pop(each), at) for each in gone]
        found += [Held(each, name, at, float("inf")) for each, at in since.items()]
    return sorted(found, key=lambda each: each.since)


def pauses(intervals: Sequence[Held], since: float, until: float) -> dict[str, float]:
    """Partition to the seconds between ``since`` and ``until`` in which nobody held it."""
    found: dict[str, float] = {}
    for partition in sorted({each.partition for each in intervals}):
        covered, waited = since, 0.0
        for each in (each for each in intervals if each.partition == partition and each.until > since):
            waited += max(0.0, min(each.since, until) - covered)
            covered = max(covered, min(each.until, until))
        found[partition] = waited + until - covered
    return found


def two_owners(intervals: Sequence[Held]) -> float:
    """Seconds in which two members held a partition, summed over the partitions."""
    together = 0.0
    for partition in {each.partition for each in intervals}:
        of_it = [each for each in intervals if each.partition == partition]
        together += sum(max(0.0, one.until - other.since) for one, other in pairwise(of_it))
    return together


def moves(intervals: Sequence[Held], since: float) -> int:
    """How often a partition went to another name than before, from ``since`` on."""
    count = 0
    for partition in {each.partition for each in intervals}:
        of_it = [each for each in intervals if each.partition == partition]
        pairs = pairwise(of_it)
        count += sum(one.name != other.name for one, other in pairs if other.since >= since)
    return count
