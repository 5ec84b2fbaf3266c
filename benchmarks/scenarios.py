"""Runs of scenarios: systems side by side over many seeds, plans, ten minutes of every example, proofs of the
explorer.

Peer: none that does the same; the budgets are those of a user who waits. Budgets: 12 variants with 100 seeds 60 s,
a report 5 MB and 2 s until it is painted; a plan of five steps with 50 seeds 20 s; ten minutes of an example 2 CPU
s; the explorer 30,000 states a CPU second, a proof 60 CPU s and 2 GB; a rolling deploy of 40 members with 200 queues
in six variants 50 CPU s a seed, with five seeds beside it 1,000 MB.

python -m benchmarks.scenarios [compare] [plan] [examples] [deploy] [explore]
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple

from ruamel.yaml import YAML
from tabulate import tabulate

from benchmarks import run_parts
from benchmarks.process_tree import peak_memory
from compare.planning import simulating
from compare.planning.routes import route
from compare.planning.simulating import Timing
from compare.planning.subject import of_scenario
from compare.planning.target import parse
from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.systems import read, scenario
from compare.running.variants import Variant, variants_of
from tests.compare.browser import browsing, find_browser

ROOT = Path(__file__).parent.parent
FOUR_MEMBERS = ROOT / "examples/scenarios/four-members-two-topics.yaml"
VARIANTS = (
    "kafka:range",
    "kafka:roundrobin",
    "kafka:sticky",
    "kafka:cooperative-sticky",
    "kafka:range+static",
    "kafka:sticky+static",
    "kafka:cooperative-sticky+static",
    "kafka-zookeeper:range",
    "kafka-zookeeper:roundrobin",
    "rocketmq:AVG",
    "rocketmq:AVG_BY_CIRCLE",
    "rocketmq:CONSISTENT_HASH",
)
SEEDS, PLAN_SEEDS = 100, 50
LONGEST_S, LARGEST_MB, LATEST_PAINT_S = 60, 5, 2


def long_day() -> dict[str, object]:
    """20 members, 200 queues in 8 topics, 30 events in ten minutes."""
    topics = [f"topic-{number}" for number in range(8)]
    events: list[dict[str, object]] = []
    for number in range(30):
        at, member = f"{10 + 18 * number}s", f"c{number * 7 % 20 + 1:02d}"
        before = f"c{(number - 1) * 7 % 20 + 1:02d}"
        kinds: tuple[dict[str, object], ...] = (
            {"crash": member},
            {"restart": before},
            {"leave": member},
            {"restart": before},
            {"hang": member, "for": "15s"},
            {"disconnect": member},
        )
        events.append({"at": at, **kinds[number % 6]})
    return {
        "name": "a long day of 20 members",
        "brokers": ["broker-a", "broker-b"],
        "topics": dict.fromkeys(topics, 25),
        "group": {"name": "busy", "members": {"c01..c20": {"subscribe": topics}}},
        "load": {"produce": "1/s"},
        "run": {"for": "10min", "seed": 1},
        "events": events,
    }


def compared(path: Path, report: Path, *more: str) -> tuple[float, float]:
    """Wall and CPU seconds of `equipoise compare PATH` with all variants and a report."""
    systems = [word for name in VARIANTS for word in ("--system", name)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    command = [sys.executable, "-m", "compare", "compare", str(path), *systems, "--report", str(report), *more]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd=ROOT)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_paint(report: Path, folder: Path) -> float | None:
    """Seconds until Chromium has painted something of the page, the best of three; None without a browser."""
    program = find_browser()
    if program is None:
        return None
    found = []
    with browsing(program, folder / "profile") as browser:
        for _ in range(3):
            browser.size(1280, 900)
            browser.open(report)
            browser.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 300)))")
            found.append(browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000)
    return min(found)


def compare() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        day = folder / "day.yaml"
        YAML().dump(long_day(), day)
        for what, path, more, limit in (
            (f"four members, two topics, {SEEDS} seeds", FOUR_MEMBERS, ("--seeds", str(SEEDS)), LONGEST_S),
            ("200 queues, 30 events, one seed", day, (), None),
        ):
            report = folder / "report.html"
            wall, cpu = compared(path, report, *more)
            rows.append((what, limit, wall, cpu, report.stat().st_size / 1e6, first_paint(report, folder)))
    print(f"{len(VARIANTS)} variants on {os.cpu_count()} processors")
    print(f"a report must be below {LARGEST_MB} MB and painted within {LATEST_PAINT_S} s\n")
    headers = ["what", "must be below (s)", "wall s", "CPU s", "report MB", "first paint s"]
    print(tabulate(rows, headers=headers, floatfmt=".2f"))


MOST_PLAN_S = 20
"""Wall seconds that the costs of a plan of five steps with 50 seeds may take."""

PLANS = (
    ("kafka:range", "cooperative-sticky"),
    ("kafka:range", "uniform"),
    ("kafka:uniform", "sticky"),
    ("rocketmq:AVG", "AVG_BY_CIRCLE"),
)


PLAN_ROUNDS = 4
"""The best of so many counts, for each step."""

PLAN_RUNS = 5 * 50
"""Of five steps with 50 seeds."""


def planned(today: str, target: str, seeds: int) -> Sequence[object]:
    """A row of the table: runs, CPU of one run here and of five steps, wall of all on all processors."""
    group = {"name": "billing", "members": {"c1..c20": ["orders"]}}
    made = scenario(
        name="plan", topics={"orders": 40}, group=group, load={"produce": "10/s"}, run={"for": "3min"}, systems=[today]
    )
    subject = of_scenario(made, None, "", None)
    way = route(subject, parse(target))
    variants = [
        simulating.variant_of(subject, way.steps[:number], [step], Timing())
        for number, step in enumerate(way.steps)
        if step.happens
    ]
    one = sum(map(best_of, variants)) / len(variants)
    alone = today, target, seeds * len(variants), one, one * PLAN_RUNS
    begun = time.perf_counter()
    simulating.costs_of(subject, way, Timing(), range(seeds), lambda variant: None)
    wall = time.perf_counter() - begun
    return *alone, wall, wall / len(variants) * 5


def best_of(variant: Variant) -> float:
    """CPU seconds of a run, the first one left out."""
    simulating.run_costs(variant, [0])
    took = []
    for _ in range(PLAN_ROUNDS):
        start = time.process_time()
        simulating.run_costs(variant, [1])
        took.append(time.process_time() - start)
    return min(took)


def plan() -> None:
    """Print the table."""
    rows = [planned(today, target, PLAN_SEEDS) for today, target in PLANS]
    print(
        f"20 members, 40 queues, 10 records per second and queue, {PLAN_SEEDS} seeds "
        f"(five steps: at most {MOST_PLAN_S} s)"
    )
    headers = ("from", "to", "runs", "CPU s of a run", f"CPU s of {PLAN_RUNS}", "wall s", "wall s of five such steps")
    print(tabulate(rows, headers=headers, floatfmt=".2f"))


EXAMPLES = Path(__file__).parent.parent / "examples" / "scenarios"
TEN_MINUTES_MS = 600_000.0
WANTED_S = 2.0


def examples() -> None:
    took: list[tuple[float, str]] = []
    for path in sorted(EXAMPLES.glob("*.yaml")):
        scenario = read(path)
        longer = scenario.model_copy(update={"run": scenario.run.model_copy(update={"for_": TEN_MINUTES_MS})})
        for variant in variants_of(longer, ()):
            began = time.process_time()
            run_record(run_variant(variant))
            took.append((time.process_time() - began, f"{path.stem}: {variant.label}"))
    took.sort(reverse=True)
    for seconds, name in took[:10]:
        print(f"{seconds:6.2f} s  {name}")
    below = sum(seconds < WANTED_S for seconds, _ in took)
    print(
        f"{below} of {len(took)} runs of ten minutes take less than {WANTED_S:g} s of CPU, all of them "
        f"{sum(seconds for seconds, _ in took):.1f} s"
    )


DEPLOYED: Final = (
    "kafka:range",
    "kafka:cooperative-sticky",
    "kafka:uniform",
    "kafka:sticky+static",
    "rocketmq:AVG",
    "rocketmq:CONSISTENT_HASH",
)
MOST_DEPLOY_S, MOST_DEPLOY_MB = 50, 1000
"""CPU seconds of a run of each variant; memory of all processes that make six runs of each, shared pages once."""

DEPLOY: Final[Mapping[str, object]] = {
    "name": "deploy",
    "topics": {"orders": 200},
    "group": {"name": "billing", "members": {"p01..p40": {"subscribe": ["orders"], "handle": "5ms"}}},
    "load": {"produce": "10/s"},
    "events": [{"at": "2min", "rolling": "p01..p40", "gap": "30s", "downtime": "10s"}],
    "run": {"for": "30min"},
}


def deployed(system: str) -> tuple[str, float, float, float]:
    """A variant's CPU seconds of its run and of its record, and the peak memory of this process in MB."""
    (variant,) = variants_of(scenario(**DEPLOY, systems=[system]), ())
    start = time.process_time()
    result = run_variant(variant)
    ran = time.process_time()
    run_record(result)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return system, ran - start, time.process_time() - ran, peak


def deploy() -> None:
    """Each variant in a process of its own, one after the other; then all of them by `equipoise compare`, each as
    written and with five other seeds, over the processors."""
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        rows = pool.map(deployed, DEPLOYED, chunksize=1)
    print(
        tabulate(
            rows, ("variant", "CPU s of the run", "CPU s of its record", "peak MB"), floatfmt=(".2f",) * 3 + (".0f",)
        )
    )
    together = sum(run + record for _, run, record, _ in rows)
    print(f"together {together:.1f} CPU s (at most {MOST_DEPLOY_S})")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "deploy.yaml"
        YAML().dump({**DEPLOY, "systems": list(DEPLOYED)}, path)
        command = [sys.executable, "-m", "compare", "compare", str(path), "--format", "json"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with (
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as process,
            peak_memory(process.pid) as peak,
        ):
            status = process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{len(DEPLOYED) * 6} runs on {os.cpu_count()} processors (exit code {status}): {cpu / 6:.1f} CPU s a seed,"
        f" at most {peak.bytes / 1e6:,.0f} MB at once in all processes (at most {MOST_DEPLOY_MB:,})"
    )


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
IN_4_1: Final = ("--kafka-version", "4.1")
TWICE_AT_BROKERS: Final = ("--client-firings", "1", "--broker-firings", "2")
"""One of a broker's timers is the end of its reading of the log."""

PROOFS: Final = (
    Case("crash", "kafka:range", GENERATION),
    Case("crash", "kafka:range", ("single-owner",)),
    Case("crash", "kafka:cooperative-sticky", GENERATION),
    Case("crash", "kafka:cooperative-sticky", ("single-owner",)),
    Case("crash", "kafka:uniform", ("single-owner-acknowledged",)),
    Case("crash", "kafka:uniform", ("single-owner-acknowledged",), IN_4_1),
    Case("fourth-joins", "kafka:range", GENERATION, ("--client-firings", "1")),
    Case("commits", "kafka:range", GENERATION),
    Case("commits", "kafka:cooperative-sticky", GENERATION),
    Case("coordinator-killed", "kafka:range", GENERATION, TWICE_AT_BROKERS),
    Case("coordinator-killed", "kafka:uniform", ("single-owner-acknowledged",), (*TWICE_AT_BROKERS, *IN_4_1)),
    Case("crash-and-join", "kafka:range", GENERATION),
    Case("crash-and-join", "kafka:cooperative-sticky", GENERATION),
    Case("crash-and-join", "kafka:uniform", ("single-owner-acknowledged",), IN_4_1),
    Case("zookeeper-join", "kafka-zookeeper:range", ("single-owner",), ("--broker-firings", "0")),
    Case("zookeeper-join", "kafka-zookeeper:range", ("single-owner",), ("--client-firings", "1")),
    Case("rocketmq-join", "rocketmq:AVG", ("single-owner",)),
    Case("rocketmq-join", "orderly", ("single-owner",), ("--broker-firings", "0")),
    Case("rocketmq-mixed", "rocketmq:AVG", ("every-queue-owned",), ("--broker-firings", "0", "--client-firings", "1")),
    Case("rocketmq-old-offset", "rocketmq:AVG", ("commits-never-go-back",), ("--broker-firings", "0")),
    Case("crash-and-join", "kafka:range", ("settles", "every-queue-owned"), ("--client-firings", "1")),
)


def explored(case: Case) -> tuple[list[object], bool]:
    """A row of the table, and whether it reaches what it must."""
    command = [sys.executable, "-m", "compare", "explore", str(SCENARIOS / f"{case.scenario}.yaml")]
    command += ["--system", case.system, "--format", "json", "--random-runs", "0", *case.options]
    command += [word for name in case.properties for word in ("--property", name)]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
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


def explore() -> None:
    """Proofs and shortest stories of the scenarios in examples/explore, each in a process of its own."""
    headers = ("case", "answers", "states", "all", "CPU s", "states/CPU s", "wall s", "states/wall s", "MB")
    rows, is_enough = [], True
    for case in PROOFS:
        row, enough = explored(case)
        print(tabulate([row], tablefmt="plain", floatfmt=",.1f", intfmt=","), file=sys.stderr)
        rows.append(row)
        is_enough = is_enough and enough
    print(tabulate(rows, headers, tablefmt="github", floatfmt=",.1f", intfmt=","))
    if not is_enough:
        print("a row falls short")


if __name__ == "__main__":
    run_parts({"compare": compare, "plan": plan, "examples": examples, "deploy": deploy, "explore": explore})
