"""`equipoise explore` on the scenarios in examples/explore: proofs, shortest stories, and their cost.

python -m benchmarks.explorer [--only TEXT]

A row per scenario, variant and set of properties: states, transitions, wall seconds of the whole command and CPU
seconds, distinct states a second of each, and the memory of the process. Every row runs in a process of its own.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click
from tabulate import tabulate

SCENARIOS: Final = Path(__file__).parents[1] / "examples" / "explore"

LEAST_RATE: Final = 30_000
"""Distinct states a second of CPU, where a row has enough of them to tell."""

MOST_S, MOST_MB = 60, 2000
"""CPU seconds and memory of a proof."""


class Case(NamedTuple):
    """A scenario without its ending, a variant, and what is asked."""

    scenario: str
    system: str
    properties: tuple[str, ...]
    options: tuple[str, ...] = ()


GENERATION: Final = ("single-owner-per-generation", "commits-never-go-back")
TWICE_AT_BROKERS: Final = ("--client-firings", "1", "--broker-firings", "2")
"""One of a broker's timers is the end of its reading of the log."""

CASES: Final = (
    Case("crash", "kafka:range", GENERATION),
    Case("crash", "kafka:range", ("single-owner",)),
    Case("crash", "kafka:cooperative-sticky", GENERATION),
    Case("crash", "kafka:cooperative-sticky", ("single-owner",)),
    Case("crash", "kafka:uniform", ("single-owner-acknowledged",), ("--client-firings", "1")),
    Case("commits", "kafka:range", GENERATION),
    Case("commits", "kafka:cooperative-sticky", GENERATION),
    Case("coordinator-killed", "kafka:range", GENERATION, TWICE_AT_BROKERS),
    Case("coordinator-killed", "kafka:uniform", ("single-owner-acknowledged",), TWICE_AT_BROKERS),
    Case("crash-and-join", "kafka:range", GENERATION),
    Case("crash-and-join", "kafka:cooperative-sticky", GENERATION),
    Case("crash-and-join", "kafka:uniform", ("single-owner-acknowledged",)),
    Case("zookeeper-join", "kafka-zookeeper:range", ("single-owner",), ("--broker-firings", "0")),
    Case("zookeeper-join", "kafka-zookeeper:range", ("single-owner",), ("--client-firings", "1")),
    Case("rocketmq-join", "rocketmq:AVG", ("single-owner",)),
    Case("rocketmq-join", "orderly", ("single-owner",), ("--broker-firings", "0")),
    Case("rocketmq-mixed", "rocketmq:AVG", ("every-queue-owned",), ("--broker-firings", "0", "--client-firings", "1")),
    Case("rocketmq-old-offset", "rocketmq:AVG", ("commits-never-go-back",), ("--broker-firings", "0")),
    Case("crash-and-join", "kafka:range", ("settles", "every-queue-owned"), ("--client-firings", "1")),
)


def measured(case: Case, limit: Sequence[str]) -> tuple[list[object], bool]:
    """A row of the table, and whether it reaches what it must."""
    command = [sys.executable, "-m", "compare", "explore", str(SCENARIOS / f"{case.scenario}.yaml")]
    command += ["--system", case.system, "--format", "json", *case.options, *limit]
    command += [word for name in case.properties for word in ("--property", name)]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if process.returncode not in (0, 1):
        raise click.ClickException(f"{' '.join(command)} ended with {process.returncode}")
    found = json.loads(printed)
    cpu = usage.ru_utime + usage.ru_stime
    answers = ", ".join(
        f"{each['name']} {'holds' if each['held'] else f'''fails in {each['steps']}'''}" for each in found["properties"]
    )
    states, memory = found["states"], usage.ru_maxrss / 1024
    name = " ".join((case.scenario, case.system, *case.options))
    row = [name, answers, states, "yes" if found["complete"] else "no", cpu, states / cpu, wall, states / wall, memory]
    is_enough = states < 100_000 or states / cpu >= LEAST_RATE
    return row, is_enough and cpu <= MOST_S and memory <= MOST_MB


@click.command()
@click.option("--only", default="", help="Only rows whose scenario and variant contain this text.")
@click.option("--states", default="20000000", show_default=True, help="Stop at so many states.")
def main(only: str, states: str) -> None:
    """Measure, and exit with 1 where a row falls short."""
    headers = ("case", "answers", "states", "all", "CPU s", "states/CPU s", "wall s", "states/wall s", "MB")
    rows, is_enough = [], True
    for case in CASES:
        if only in f"{case.scenario} {case.system}":
            row, enough = measured(case, ("--states", states))
            click.echo(tabulate([row], tablefmt="plain", floatfmt=",.1f", intfmt=","), err=True)
            rows.append(row)
            is_enough = is_enough and enough
    click.echo(tabulate(rows, headers, tablefmt="github", floatfmt=",.1f", intfmt=","))
    sys.exit(0 if is_enough else 1)


if __name__ == "__main__":
    main()
