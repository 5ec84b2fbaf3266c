"""Before a comparison begins: what is counted of it, and what is refused; while it runs: how long the rest takes."""

import io
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.cli import cli
from compare.running.limits import LOADED_BYTES, MOST_EVENTS, QUEUE_BYTES, Machine, Sizes, check_work
from compare.running.runs import Plan, SeedChoice
from compare.running.systems import SYSTEMS
from compare.showing.console import run_progress
from compare.verbs import compare
from protocols.errors import UserError
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario
from tests.compare.showing import equipoise

ONE_OF_EACH = ("kafka:range", "kafka-zookeeper:range", "rocketmq:AVG")


def made(
    members: int = 4, queues: int = 8, length: str = "5min", load: int = 0, events: Any = 0, **more: Any
) -> Scenario:
    """``events``: as they are written, or how many are to be made up."""
    if isinstance(events, int):
        events = [{"at": f"{number}s", "produce": {"orders": 1}} for number in range(events)]
    fields: dict[str, Any] = {
        "name": "sized",
        "topics": {"orders": queues},
        "group": {"name": "g", "members": {f"c1..c{members}": ["orders"]}},
        "load": {"produce": f"{load}/s"},
        "run": {"for": length},
        "events": events,
    }
    return scenario(fields | more)


def plan(of: Scenario, *systems: str, seeds: int = 1, full: bool = False) -> Plan:
    return Plan.of("s.yaml", of, systems, SeedChoice(many=seeds), full)


def test_an_everyday_comparison_is_far_from_the_limit() -> None:
    large = made(members=40, queues=80, load=10, events=20, length="2h")
    assert 100 * 3 * Sizes.of(large).events < MOST_EVENTS / 20
    check_work([plan(large, *ONE_OF_EACH, seeds=100)], Machine(2, 4e9))


def test_members_that_join_and_queues_that_come_are_counted() -> None:
    joins = [{"at": "1s", "join": f"d{number}", "subscribe": ["orders"]} for number in range(50)]
    grown = [{"at": "1s", "queues": {"orders": 500}}, {"at": "2s", "add_topic": {"more": 100}}]
    sizes = Sizes.of(made(events=joins + grown))
    assert (sizes.members, sizes.queues, sizes.written) == (54, 600, 52)
    again = [{"at": "1s", "leave": "c1"}, {"at": "2s", "join": "c1"}, {"at": "3s", "queues": {"orders": 4}}]
    assert Sizes.of(made(events=again)) == replace(Sizes.of(made()), written=3)


@pytest.mark.parametrize(
    ("monster", "reason"),
    [
        ({"length": "36500d", "members": 400}, "876000h with 0 events, 400 members, 8 queues"),
        ({"queues": 10_000_000}, "10,000,000 queues"),
        ({"members": 10_000, "queues": 100_000, "length": "365d"}, "10,000 members, 100,000 queues"),
    ],
)
def test_monsters_are_refused(monster: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError) as refused:
        check_work([plan(made(), "kafka:range"), plan(made(**monster), "kafka:range")], Machine(2, 16e9))
    assert str(refused.value).startswith("s.yaml: about ")
    assert reason in str(refused.value)
    assert ", expected at most " in str(refused.value)
    assert str(refused.value).endswith(", or --no-limit to run it all the same")


def test_the_events_of_all_runs_count_together() -> None:
    one = made(members=500, queues=1_500, length="100h")
    runs = MOST_EVENTS // 200_000
    check_work([plan(one, "kafka:range", seeds=runs)], Machine(1, 1e12))
    with pytest.raises(UserError, match=r"about 50,200,000 events \(251 runs of 100h with 0 events, 500 members"):
        check_work([plan(one, "kafka:range", seeds=runs + 1)], Machine(1, 1e12))


def test_memory_counts_for_all_processes_at_the_same_time() -> None:
    many = plan(made(queues=100_000), "kafka:range", seeds=8)
    check_work([many], Machine(1, 2e9))
    with pytest.raises(UserError, match=r"about 3 GB of memory .* expected at most 2 GB, which this machine has"):
        check_work([many], Machine(8, 2e9))


def test_every_system_has_its_memory_for_records() -> None:
    assert LOADED_BYTES.keys() == QUEUE_BYTES.keys() == SYSTEMS.keys()
    loaded = made(queues=1_000, load=10, length="48h")
    check_work([plan(loaded, "rocketmq:AVG")], Machine(1, 1e10))
    for of in (plan(loaded, "rocketmq:AVG", "kafka:range"), plan(loaded, "rocketmq:AVG", full=True)):
        with pytest.raises(UserError, match=r"about (19|829) GB of memory"):
            check_work([of], Machine(1, 1e10))


@pytest.mark.parametrize(
    ("system", "sizes", "full", "peak_mb"),
    [
        ("kafka:range", {"members": 4, "queues": 20, "load": 10, "length": "2h"}, False, 67),
        ("kafka:range", {"members": 40, "queues": 10_000, "length": "60s"}, False, 77),
        ("kafka:range", {"members": 40, "queues": 200, "load": 10, "events": 80}, False, 84),
        ("rocketmq:AVG", {"members": 40, "queues": 200, "load": 10, "events": 80, "length": "30min"}, False, 217),
        ("rocketmq:AVG", {"members": 4, "queues": 2_000, "length": "40s"}, False, 66),
        ("rocketmq:AVG", {"members": 20, "queues": 100, "load": 10, "events": 20}, False, 75),
        ("rocketmq:AVG", {"members": 4, "queues": 20, "load": 10, "length": "4min"}, True, 73),
        ("rocketmq:POP", {"members": 4, "queues": 8, "load": 10}, False, 84),
        ("rocketmq:POP", {"members": 4, "queues": 8, "load": 200, "length": "20s"}, False, 109),
        ("rocketmq:POP", {"members": 4, "queues": 8, "load": 1_000, "length": "2s"}, False, 63),
    ],
)
def test_the_memory_of_a_run_is_told_within_a_factor_of_one_and_a_half(
    system: str, sizes: dict[str, Any], full: bool, peak_mb: int
) -> None:
    """Peaks of a process that makes one such run (events: members leave and return), measured on 2026-11-29."""
    of = Sizes.of(made(**sizes))
    events = sizes.get("events", 0)
    told = replace(of, at_once=of.at_once - events * of.queues).bytes(system, full) / 1e6
    assert peak_mb / 1.5 < told < peak_mb * 1.5


def test_records_that_are_acknowledged_one_by_one_are_counted() -> None:
    check_work([plan(made(load=100), "rocketmq:POP", "rocketmq:AVG")], Machine(2, 4e9))
    many = made(load=2_000, members=8, length="3min")
    check_work([plan(many, "rocketmq:AVG", "kafka:share")], Machine(2, 4e9))
    with pytest.raises(UserError, match=r"2,880,000 records .* \(about 576 s and 4\.9 GB a run\)") as refused:
        check_work([plan(many, "rocketmq:POP")], Machine(2, 4e9))
    assert "\n" not in str(refused.value)
    at_once = made(events=[{"at": "10s", "produce": {"orders": 300_000}}])
    with pytest.raises(UserError, match="about 300,000 records of a run"):
        check_work([plan(at_once, "rocketmq:POP")], Machine(2, 4e9))


@pytest.fixture
def path(tmp_path: Path) -> str:
    written = tmp_path / "s.yaml"
    written.write_text(
        "name: long\ntopics: {orders: 8}\ngroup: {name: g, members: {c1..c400: [orders]}}\n"
        "run: {for: 36500d}\nsystems: [rocketmq:AVG]\n",
        encoding="utf-8",
    )
    return str(written)


@pytest.mark.parametrize("options", [(), ("--story", "rocketmq:AVG"), ("--parquet", "tables")])
def test_the_command_refuses_in_one_line(path: str, options: tuple[str, ...]) -> None:
    refused = equipoise("compare", path, *options)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr.count("\n") == 1
    assert "876000h with 0 events, 400 members" in refused.stderr


def test_without_the_limit_it_begins(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def begins(*arguments: object) -> None:
        raise UserError("begun")

    monkeypatch.setattr(compare, "measured", begins)
    begun = CliRunner().invoke(cli, ["compare", path, "--no-limit"])
    assert str(begun.exception) == "begun"


@pytest.mark.parametrize(
    ("runs", "seconds", "expected"),
    [
        (4, 1.0, []),
        (4, 60.0, ["1 of 4 runs, 3 min left", "2 of 4 runs, 2 min left", "3 of 4 runs, 60 s left", "4 of 4 runs"]),
        (40, 1.0, ["4 of 40 runs, 36 s left", "8 of 40 runs, 32 s left", "12 of 40 runs, 28 s left"]),
    ],
)
def test_the_time_to_go_is_told_from_the_first_run_on(
    runs: int, seconds: float, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    finished, now = plan(made(), "kafka:range").variants[0], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", written := io.StringIO())
    with run_progress(runs) as tell:
        for _ in range(min(runs, 12)):
            now[0] += seconds
            tell(finished)
    assert written.getvalue().splitlines() == expected
