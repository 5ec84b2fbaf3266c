"""Kafka's assignors through `kafka_coordinator.assign`, and `uniform` with 10,000 members and 100,000 partitions.

Peers: kafka-python and aiokafka in the same process; with --java the released assignors, in a JVM that the first
rounds warm up. Ours is the whole way from a `Group` to an `Allocation`; theirs starts from decoded subscriptions.
All answers must have equal sizes: the least, the most and all partitions. Budgets: 3 to 400 times kafka-python, by
strategy and group (column "must reach"); the large group 2 s and 1,000 MB.

python -m benchmarks.assignors [--java]
"""

import contextlib
import json
import logging
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiokafka.coordinator.assignors.range as aio_range
import aiokafka.coordinator.assignors.roundrobin as aio_roundrobin
import aiokafka.coordinator.assignors.sticky.sticky_assignor as aio_sticky
import click
import kafka.coordinator.assignors.range as kp_range
import kafka.coordinator.assignors.roundrobin as kp_roundrobin
import kafka.coordinator.assignors.sticky.sticky_assignor as kp_sticky
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
from kafka.structs import TopicPartition
from tabulate import tabulate

from benchmarks.process_tree import peak_megabytes
from kafka_coordinator import assign
from protocols import Allocation, Group

LEAVER = 33


@dataclass(frozen=True)
class Shape:
    """``skipping``: member m leaves out every topic t with (t + m) % 5 == 0. ``one_left``: all owned what
    `sticky` gave them, then one member left."""

    members: int
    topics: int
    partitions: int
    skipping: bool = False
    one_left: bool = False

    def __str__(self) -> str:
        subscriptions = "every fifth topic skipped" if self.skipping else "equal subscriptions"
        return f"{subscriptions}, {'one left' if self.one_left else 'fresh'}"

    @property
    def size(self) -> str:
        return f"{self.members} x {self.topics} x {self.partitions}"

    @cached_property
    def topic_names(self) -> list[str]:
        return [f"topic-{number:03d}" for number in range(self.topics)]

    @cached_property
    def full_group(self) -> Group:
        members = {
            f"member-{member:04d}": [
                name for topic, name in enumerate(self.topic_names) if not self.skipping or (topic + member) % 5
            ]
            for member in range(self.members)
        }
        return Group.of(dict.fromkeys(self.topic_names, self.partitions), members)

    @cached_property
    def group(self) -> Group:
        return self.full_group.without(f"member-{LEAVER:04d}") if self.one_left else self.full_group

    @cached_property
    def previous(self) -> Allocation | None:
        return assign("sticky", self.full_group) if self.one_left else None

    def subscriptions(self) -> Iterator[tuple[str, list[str], dict[str, list[int]]]]:
        """Per member: id, topics, and what it owned before, by topic."""
        for member in self.group.members:
            owned: dict[str, list[int]] = {}
            for queue in self.previous[member.id] if self.previous is not None else ():
                owned.setdefault(queue.topic, []).append(queue.number)
            yield member.id, list(member.subscription), owned


@dataclass(frozen=True)
class Measured:
    """Best wall milliseconds, and the sizes of the answer: least, most and all partitions of a member."""

    milliseconds: float
    sizes: tuple[int, int, int]


def sizes(loads: list[int]) -> tuple[int, int, int]:
    """Least, most and total of the members' loads."""
    return min(loads), max(loads), sum(loads)


GENERATION = 1


class Cluster:
    """As much of the clients' cluster metadata as the assignors ask for."""

    def __init__(self, shape: Shape) -> None:
        self._partitions = {topic: set(range(shape.partitions)) for topic in shape.topic_names}

    def topics(self) -> set[str]:
        return set(self._partitions)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self._partitions.get(topic)


def kafka_python(strategy: str, shape: Shape, rounds: int) -> Measured:
    """kafka-python's answer; it has no cooperative-sticky, its sticky stands in."""
    assignor: Any = {
        "range": kp_range.RangePartitionAssignor,
        "roundrobin": kp_roundrobin.RoundRobinPartitionAssignor,
    }.get(strategy, kp_sticky.StickyPartitionAssignor)()
    cluster, members = Cluster(shape), []
    for id, topics, owned in shape.subscriptions():
        user_data = kp_sticky.StickyAssignorUserData(list(owned.items()), GENERATION).encode() if owned else b""
        members.append(
            SimpleNamespace(
                member_id=id, group_instance_id=None, metadata=ConsumerProtocolSubscription(0, topics, user_data)
            )
        )
    answer, best = timed(lambda: assignor.assign(cluster, members), rounds)
    return Measured(best, sizes([len(each.partitions()) for each in answer.values()]))


def aiokafka(strategy: str, shape: Shape, rounds: int) -> Measured:
    """aiokafka's answer; it has no cooperative-sticky, its sticky stands in."""
    assignor: Any = {
        "range": aio_range.RangePartitionAssignor,
        "roundrobin": aio_roundrobin.RoundRobinPartitionAssignor,
    }.get(strategy, aio_sticky.StickyPartitionAssignor)
    cluster: Any = Cluster(shape)
    members = {}
    for id, topics, owned in shape.subscriptions():
        claims = [TopicPartition(topic, number) for topic, numbers in owned.items() for number in numbers]
        user_data = assignor._metadata(topics, claims, GENERATION).user_data if claims else b""
        members[id] = ConsumerProtocolMemberMetadata(0, topics, user_data)
    answer, best = timed(lambda: assignor.assign(cluster, members), rounds)
    return Measured(best, sizes([len(each.partitions()) for each in answer.values()]))


def timed(work: Callable[[], Any], rounds: int) -> tuple[Any, float]:
    """The last answer, and the best wall milliseconds."""
    best = float("inf")
    answer = None
    for _ in range(rounds):
        start = time.perf_counter()
        answer = work()
        best = min(best, time.perf_counter() - start)
    return answer, best * 1000


VERSION = "4.1.0"
ARTIFACTS = [
    *(
        f"org.apache.kafka:kafka-{name}:{VERSION}"
        for name in ("clients", "group-coordinator", "group-coordinator-api", "server-common")
    ),
    "org.slf4j:slf4j-api:1.7.36",
]
DRIVER = Path(__file__).parent / "java/ReleasedAssignors.java"
NONE = "-"


class ReleasedAssignors:
    """Measures cases in one JVM. `missing` tells in one line why it cannot, else it is empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        tools = [tool for tool in ("mvn", "javac", "java") if shutil.which(tool) is None]
        self.missing = f"no {', '.join(tools)} on the PATH" if tools else self._prepare()

    def _prepare(self) -> str:
        for artifact in ARTIFACTS:
            copy = [f"-Dartifact={artifact}", f"-DoutputDirectory={self._folder}"]
            if not _succeeds(["mvn", "-q", "-B", "dependency:copy", *copy]):
                return f"Maven could not bring {artifact}"
        if not _succeeds(["javac", "-cp", f"{self._folder}/*", "-d", str(self._folder), str(DRIVER)]):
            return "javac could not compile the driver"
        return ""

    def measure(self, strategy: str, shape: Shape, rounds: int) -> Measured:
        """Best of ``rounds`` in a JVM of its own; the first rounds warm it up."""
        run = subprocess.run(
            ["java", "-cp", f"{self._folder}:{self._folder}/*", "ReleasedAssignors"],
            input="\n".join(java_case(strategy, shape, rounds)),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        _, milliseconds, least, most, total = run.stdout.split()
        return Measured(float(milliseconds), (int(least), int(most), int(total)))


def java_case(strategy: str, shape: Shape, rounds: int) -> Iterator[str]:
    """The lines that the driver reads."""
    yield f"case\t{strategy}\t{rounds}"
    for topic in shape.topic_names:
        yield f"topic\t{topic}\t{shape.partitions}\t{NONE}"
    for id, topics, owned in shape.subscriptions():
        claims = ",".join(f"{topic}:{number}" for topic, numbers in owned.items() for number in numbers)
        generation = "1" if claims else NONE
        fields = [id, NONE, NONE, ",".join(topics) or NONE, claims or NONE, generation, generation]
        yield "\t".join(["member", *fields])
    yield "end\n"


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Where jars and classes go while the benchmark runs."""
    return tempfile.TemporaryDirectory(prefix="released-assignors-")


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


UNIFORM = Shape(members=10_000, topics=100, partitions=1_000)


def print_large_uniform(*, one_left: bool) -> None:
    """Print JSON: seconds of wall time and CPU, peak resident megabytes of the whole process, sizes."""
    group = UNIFORM.full_group
    previous = None
    if one_left:
        previous = assign("uniform", group)
        group = group.without(group.members[33].id)
    start, cpu = time.perf_counter(), time.process_time()
    answer = assign("uniform", group, previous=previous)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = peak_megabytes()
    found = sizes([len(queues) for queues in answer.values()])
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "peak_mb": peak, "sizes": found}))


FRESH = Shape(members=100, topics=100, partitions=50)
LEFT = replace(FRESH, one_left=True)
SKIPPING_FRESH, SKIPPING_LEFT = replace(FRESH, skipping=True), replace(FRESH, skipping=True, one_left=True)
LARGE = Shape(members=1_000, topics=100, partitions=100, skipping=True)

CASES: list[tuple[str, Shape, int | None]] = [
    *(
        (strategy, shape, least)
        for strategy in ("sticky", "cooperative-sticky")
        for shape, least in ((FRESH, 400), (LEFT, 200), (SKIPPING_FRESH, 100), (SKIPPING_LEFT, 100))
    ),
    ("range", FRESH, 3),
    ("roundrobin", FRESH, 3),
    ("range", SKIPPING_FRESH, None),
]
"""Strategy, shape, and how many times faster than kafka-python it must be."""

ALONE: list[tuple[str, Shape]] = [
    ("roundrobin", SKIPPING_FRESH),
    ("sticky", LARGE),
    ("cooperative-sticky", LARGE),
    ("server-range", FRESH),
    ("uniform", FRESH),
    ("uniform", LEFT),
    ("uniform", SKIPPING_FRESH),
]
"""Too large for the Python clients, or what they lack; kafka-python 3.0.12's round-robin fails where subscriptions
differ."""


def ours(strategy: str, shape: Shape, rounds: int) -> Measured:
    """Equipoise's answer through the public door."""
    group, previous = shape.group, shape.previous
    answer, best = timed(lambda: assign(strategy, group, previous=previous), rounds)
    return Measured(best, sizes([len(queues) for queues in answer.values()]))


def row(strategy: str, shape: Shape, least: int | None, rivals: bool, java: ReleasedAssignors | None) -> list[object]:
    """One line of the table; raises where answers differ in size."""
    print(f"{strategy}, {shape.size}, {shape}", file=sys.stderr)
    mine = ours(strategy, shape, 20)
    measured = {"equipoise": mine}
    if rivals:
        sticky = "sticky" in strategy
        measured["kafka-python"] = kafka_python(strategy, shape, 2 if sticky else 10)
        measured["aiokafka"] = aiokafka(strategy, shape, 2 if sticky else 10)
    if java is not None:
        measured["java"] = java.measure(strategy, shape, 40 if shape is LARGE or shape.skipping else 400)
    # The Python clients' eager sticky holds nothing back, so that its sizes may differ from these.
    withheld = strategy == "cooperative-sticky" and shape.one_left
    for name, other in measured.items():
        if other.sizes != mine.sizes and not (withheld and name in ("kafka-python", "aiokafka")):
            raise SystemExit(f"{strategy}, {shape}: sizes {mine.sizes} here, {other.sizes} by {name}")
    times = [measured[name].milliseconds if name in measured else None for name in ("equipoise", *RIVALS)]
    factors = [None if each is None else each / mine.milliseconds for each in times[1:]]
    return [strategy, shape.size, str(shape), *times, *factors, least]


RIVALS = ("kafka-python", "aiokafka", "java")


def large_uniform(*arguments: str) -> list[object]:
    """10,000 members, 100,000 partitions, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.assignors", "--uniform-alone", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    found = json.loads(run.stdout)
    return ["one left" if arguments else "fresh", found["wall_s"], found["cpu_s"], found["peak_mb"], found["sizes"]]


@click.command()
@click.option("--java", is_flag=True, help="Time the released Java assignors too (needs mvn, javac and the network).")
@click.option("--uniform-alone", is_flag=True, hidden=True)
@click.option("--one-left", is_flag=True, hidden=True)
def main(java: bool, uniform_alone: bool, one_left: bool) -> None:
    """Print the tables."""
    if uniform_alone:
        print_large_uniform(one_left=one_left)
        return
    logging.disable(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        released = None
        if java:
            released = ReleasedAssignors(Path(stack.enter_context(temporary_folder())))
            if released.missing:
                print(f"Java left out: {released.missing}.")
                released = None
        rows = [row(*case, True, released) for case in CASES]
        rows += [row(*case, None, False, released) for case in ALONE]
    headers = ["strategy", "members x topics x partitions", "group", "equipoise", *RIVALS]
    headers += [*(f"times {name}" for name in RIVALS), "must reach"]
    print("Wall milliseconds, best of some rounds; kafka-python and aiokafka have no cooperative-sticky, their sticky")
    print("stands in. 'times X': how many times faster than X. 'must reach' is about kafka-python.")
    formats = ("", "", "", ".2f", ".1f", ".1f", ".2f", ",.0f", ",.0f", ".2f", "")
    print(tabulate(rows, headers, tablefmt="github", floatfmt=formats))
    print("\nuniform, 10,000 members, 100 topics of 1,000 partitions (must be below 2 s and 1,000 MB):")
    headers = ["group", "wall s", "CPU s", "peak MB of the process", "sizes: least, most, all"]
    print(tabulate([large_uniform(), large_uniform("--one-left")], headers, tablefmt="github", floatfmt=".2f"))


if __name__ == "__main__":
    main()
