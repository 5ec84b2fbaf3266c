"""Kafka's assignors through `kafka_coordinator.assign`, beside kafka-python and aiokafka in the same process.

Ours is the whole way from a `Group` to an `Allocation`; theirs starts from decoded subscriptions. With --java the
released assignors are timed as well, in a JVM that the first rounds warm up. All answers must have equal
sizes: the least, the most and all partitions.

python -m benchmarks.assignors [--java]
"""

import contextlib
import json
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
from tabulate import tabulate

from benchmarks.assignor_shapes import Measured, Shape, sizes
from benchmarks.python_assignors import aiokafka, kafka_python, timed
from benchmarks.released_java import ReleasedAssignors, temporary_folder
from kafka_coordinator import assign

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
    command = [sys.executable, "-m", "benchmarks.large_uniform", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    found = json.loads(run.stdout)
    return [" ".join(arguments) or "fresh", found["wall_s"], found["cpu_s"], found["peak_mb"], found["sizes"]]


@click.command()
@click.option("--java", is_flag=True, help="Time the released Java assignors too (needs mvn, javac and the network).")
def main(java: bool) -> None:
    """Print the tables."""
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
    print(tabulate([large_uniform(), large_uniform("one-left")], headers, tablefmt="github", floatfmt=".2f"))


if __name__ == "__main__":
    main()
