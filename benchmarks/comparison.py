"""Systems side by side: many seeds with their report, and the report of a long day with many queues.

python -m benchmarks.comparison [--seeds 100]
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ruamel.yaml import YAML
from tabulate import tabulate

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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=100)
    seeds = parser.parse_args().seeds
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        day = folder / "day.yaml"
        YAML().dump(long_day(), day)
        for what, path, more, limit in (
            (f"four members, two topics, {seeds} seeds", FOUR_MEMBERS, ("--seeds", str(seeds)), LONGEST_S),
            ("200 queues, 30 events, one seed", day, (), None),
        ):
            report = folder / "report.html"
            wall, cpu = compared(path, report, *more)
            rows.append((what, limit, wall, cpu, report.stat().st_size / 1e6, first_paint(report, folder)))
    print(f"{len(VARIANTS)} variants on {os.cpu_count()} processors")
    print(f"a report must be below {LARGEST_MB} MB and painted within {LATEST_PAINT_S} s\n")
    headers = ["what", "must be below (s)", "wall s", "CPU s", "report MB", "first paint s"]
    print(tabulate(rows, headers=headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()
