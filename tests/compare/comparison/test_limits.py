"""Estimates before a comparison begins: what they grow with, what is told, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.cli import cli
from compare.comparison import command, limits
from compare.comparison.limits import LONG_S, MOST_S, Machine, about, check_work
from compare.comparison.plan import Plan, SeedChoice
from compare.comparison.work import COSTS, Sizes, Work, work_of
from compare.scenarios.systems import SYSTEMS
from protocols.errors import UserError
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario
from tests.compare.console import equipoise

ONE_OF_EACH = ("kafka:range", "kafka-zookeeper:range", "rocketmq:AVG")
LARGE = Machine(1, 1e12)


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


def work(of: Scenario, system: str, seeds: int = 1, full: bool = False, processors: int = 1) -> Work:
    each = plan(of, system, seeds=seeds, full=full)
    return work_of([(each.scenario, each.variants, each.full)], processors)


def test_every_system_has_its_costs() -> None:
    assert COSTS.keys() == SYSTEMS.keys()


@pytest.mark.parametrize("system", ONE_OF_EACH)
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("members", [10, 100, 1_000, 10_000]),
        ("queues", [10, 1_000, 100_000, 10_000_000]),
        ("length", ["1h", "30d", "36500d"]),
        ("load", [1, 10, 1_000]),
        ("events", [1, 10, 290]),
    ],
)
def test_more_of_anything_is_more_work(system: str, name: str, sizes: list[Any]) -> None:
    found = [work(made(**({"load": 10} | {name: size})), system) for size in sizes]
    seconds = [each.seconds for each in found]
    assert seconds == sorted(seconds)
    assert seconds[0] < seconds[-1] or (name, system.partition(":")[0]) in {
        ("load", "kafka"),
        ("load", "kafka-zookeeper"),
    }
    assert [each.bytes for each in found] == sorted(each.bytes for each in found)


@pytest.mark.parametrize("system", ONE_OF_EACH)
def test_an_everyday_comparison_takes_less_than_is_told(system: str) -> None:
    assert work(made(members=40, queues=80, load=10, events=20), system).seconds < LONG_S / 4
    assert work(made(), system, seeds=100, processors=2).seconds < LONG_S


def test_runs_add_up_and_processors_share_them() -> None:
    one = work(made(), "kafka:range").seconds
    assert work(made(), "kafka:range", seeds=50).seconds == pytest.approx(50 * one)
    assert work(made(), "kafka:range", seeds=50, processors=5).seconds == pytest.approx(10 * one)
    assert work(made(), "kafka:range", processors=5).seconds == pytest.approx(one)


def test_what_is_not_skipped_or_not_kept_up_with_takes_longer() -> None:
    busy = made(load=100, length="1h")
    assert work(busy, "rocketmq:AVG", full=True).seconds > 20 * work(busy, "rocketmq:AVG").seconds
    slow = made(
        load=100, length="1h", group={"name": "g", "members": {"c1": {"subscribe": ["orders"], "handle": "1s"}}}
    )
    assert work(slow, "rocketmq:AVG").seconds > 20 * work(busy, "rocketmq:AVG").seconds


def test_members_that_join_and_queues_that_come_are_counted() -> None:
    joins = [{"at": "1s", "join": f"d{number}", "subscribe": ["orders"]} for number in range(50)]
    grown = [{"at": "1s", "queues": {"orders": 500}}, {"at": "2s", "add_topic": {"more": 100}}]
    sizes = Sizes.of(made(events=joins + grown))
    assert (sizes.members, sizes.queues, sizes.events) == (54, 600, 52)
    again = [{"at": "1s", "leave": "c1"}, {"at": "2s", "join": "c1"}, {"at": "3s", "queues": {"orders": 4}}]
    assert Sizes.of(made(events=again)) == replace(Sizes.of(made()), events=3)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.4, "0 s"), (70.0, "70 s"), (720.0, "12 min"), (54_000.0, "15 h"), (9 * 86_400.0, "9 days"), (1e9, "32 years")],
)
def test_how_long_is_told_roughly(seconds: float, told: str) -> None:
    assert about(seconds) == told


def test_what_takes_long_is_told_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    check_work([plan(made(), *ONE_OF_EACH)], LARGE, True)
    assert capsys.readouterr().err == ""
    check_work([plan(made(), *ONE_OF_EACH), plan(made(members=40, queues=80), "kafka:range", seeds=4_000)], LARGE, True)
    told = capsys.readouterr().err
    assert told.startswith("estimated at about ")
    assert told.endswith(": 4,000 runs of 80 queues x 40 members; Ctrl-C prints what is finished\n")


@pytest.mark.parametrize("system", ONE_OF_EACH)
@pytest.mark.parametrize(
    ("monster", "reason"),
    [
        ({"length": "36500d", "members": 400}, "876000h x 400 members"),
        ({"queues": 10_000_000}, "10,000,000 queues x 4 members"),
        ({"members": 10_000, "queues": 100_000, "length": "365d"}, "10,000"),
    ],
)
def test_monsters_are_refused(system: str, monster: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError) as refused:
        check_work([plan(made(**monster), system)], Machine(2, 16e9), True)
    assert "s.yaml: estimated at about " in str(refused.value)
    assert reason in str(refused.value)
    assert ", expected at most " in str(refused.value)
    assert "--no-limit" in str(refused.value)
    check_work([plan(made(**monster), system)], Machine(2, 16e9), False)


def test_the_limit_is_a_day(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    day = plan(made(length="36500d"), "rocketmq:AVG")
    needed = work_of([(day.scenario, day.variants, False)], 1).seconds
    monkeypatch.setattr(limits, "MOST_S", needed)
    check_work([day], LARGE, True)
    assert "estimated at about" in capsys.readouterr().err
    monkeypatch.setattr(limits, "MOST_S", needed * 0.99)
    with pytest.raises(UserError, match="expected at most a day"):
        check_work([day], LARGE, True)
    assert MOST_S == 86_400


def test_memory_counts_for_all_processes_at_the_same_time() -> None:
    many = plan(made(queues=100_000), "kafka:range", seeds=8)
    check_work([many], Machine(1, 1e9), True)
    with pytest.raises(UserError, match="GB of memory"):
        check_work([many], Machine(8, 1e9), True)


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
    assert "876000h x 400 members" in refused.stderr


def test_without_the_limit_it_begins(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def begins(*arguments: object) -> None:
        raise UserError("begun")

    monkeypatch.setattr(command, "measured", begins)
    begun = CliRunner().invoke(cli, ["compare", path, "--no-limit"])
    assert "estimated at about" in begun.stderr
    assert str(begun.exception) == "begun"
