"""What `compare --advise` tries, and that its conditions hold for the figures that they name."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.advising import tries
from compare.advising.choosing import CONCERNS, Measured, advice, unbeaten
from compare.advising.tries import Shown, Try, as_given, single_changes
from compare.running.variants import Variant, variants_of
from compare.verbs.compare import compare
from protocols.errors import UserError
from protocols.scenario.model import SystemPart
from tests.compare.compared import made

SLOW = """
name: a slow consumer
topics: {orders: 4}
group:
  name: g
  members: {p1..p2: {subscribe: [orders], handle: 20ms}}
load: {produce: 50%}
run: {for: 3min}
systems: [kafka:range]
events: [{at: 40s, slow: {p2: 1s}, for: 100s}]
"""


def run(tmp_path: Path, *arguments: str) -> Any:
    path = tmp_path / "slow.yaml"
    path.write_text(SLOW)
    return CliRunner().invoke(compare, [str(path), "--advise", *arguments], standalone_mode=False)


def test_the_verb_ends_with_conditions_that_hold_for_what_it_tried(tmp_path: Path) -> None:
    done = run(tmp_path, "--tries", "12", "--format", "json")
    assert "advice after at most 12 tries with 5 seeds each, 60 runs" in done.stderr
    told = json.loads(done.stdout)["advice"]
    assert (told["tried"][0]["variant"], told["tried"][0]["settings"]) == ("kafka:range", {})
    tried = {name: each for each in told["tried"] for name in each["settings"]}
    assert {"max.poll.records", "max.poll.interval.ms", "threads"} <= tried.keys()
    # No member ends: neither a session nor static members can matter, and are not tried.
    assert not {"session.timeout.ms", "auto.commit.interval.ms"} & tried.keys()
    assert not any("static" in each["variant"] for each in told["tried"])
    assert len(told["tried"]) <= 1 + 12
    best = [told["tried"][at]["figures"] for at in told["unbeaten"]]
    words = {concern.words: concern for concern in CONCERNS}
    assert len(told["conditions"]) > 1
    for condition in told["conditions"]:
        mine = condition["if"].split(" matter")[0]
        for path in [each.paths for name, each in words.items() if name in mine]:
            there = next(each for each in path if each in condition["figures"])
            least = min(figures[there]["median"] for figures in best)
            assert condition["figures"][there]["median"] <= max(least * 1.05, least), condition["if"]


def test_tables_and_report_tell_the_conditions_and_the_picture_is_saved(tmp_path: Path) -> None:
    done = run(tmp_path, "--tries", "3", "--report", str(tmp_path / "out.html"))
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(("If ", "Whatever"))][:1]
    picture = (tmp_path / "out-advice.svg").read_text()
    page = (tmp_path / "out.html").read_text()
    assert "What to choose when" in page
    assert line.split(":")[0] in page
    assert picture in page
    assert picture.count("<circle") == 4
    assert "kafka:range" in picture


def test_one_seed_gives_no_advice(tmp_path: Path) -> None:
    assert "--advise compares over several seeds" in str(run(tmp_path, "--seeds", "1").exception)
    assert "--advise: expected no --story" in str(run(tmp_path, "--story", "kafka:range").exception)


def of(name: str, *runs: tuple[float, float], settings: int = 0) -> Measured:
    """A try with these pauses and duplicates, run by run."""
    part = SystemPart(system="kafka:range", label=name)
    tried = Try(name, {f"s{number}": 1 for number in range(settings)}, Variant(made(), part, 0))
    figures = [{"harm.no_progress_queue_s": pause, "redelivered": twice} for pause, twice in runs]
    return Measured(tried, figures)


def test_what_differs_in_some_seeds_only_is_no_difference() -> None:
    quick = of("quick", (1, 9), (2, 9), (30, 9))
    steady = of("steady", (2, 4), (3, 5), (29, 6))
    same = of("same", (2, 4), (3, 5), (29, 6), settings=1)
    worse = of("worse", (3, 10), (4, 10), (31, 10))
    measured = [quick, worse, steady, same]
    assert [measured[at].tried.base for at in unbeaten(measured)] == ["steady"]
    told = advice(measured, "")
    (condition,) = told["conditions"]
    assert condition["then"] == "steady"
    assert condition["if"] == "whatever matters, as no difference was seen"
    few = of("few", (50, 0), (60, 0), (70, 0))
    (pauses, twice) = advice([few, quick, steady], "")["conditions"]
    assert (pauses["if"], pauses["then"]) == ("pauses matter more than duplicates", "steady")
    assert (twice["if"], twice["then"]) == ("duplicates matter more than pauses", "few")
    assert twice["told"] == "60 queue-s without progress (51 to 69), 0 records handled more than once"


def test_ages_within_ten_milliseconds_are_alike() -> None:
    ten, near, far = of("ten", (0, 0)), of("near", (0, 0)), of("far", (0, 0))
    for measured, age in ((ten, 10), (near, 19), (far, 21)):
        measured.runs[0]["record_age_ms.settled_p99"] = age  # type: ignore[index]
    concern = next(each for each in CONCERNS if "record_age_ms.settled_p99" in each.paths)
    assert (ten.better(near, concern), ten.better(far, concern)) == (False, True)


def test_nobody_is_advised_to_lose_records() -> None:
    loses = of("loses", (0, 0), (0, 0))
    keeps = of("keeps", (5, 0), (6, 0))
    for measured, lost in ((loses, 7), (keeps, 0)):
        for figures in measured.runs:
            figures["harm.work.lost"] = lost  # type: ignore[index]
    assert [each["then"] for each in advice([loses, keeps], "")["conditions"]] == ["keeps"]


@pytest.mark.parametrize(
    ("events", "tried", "not_tried"),
    [
        ([{"at": "9s", "leave": "c1"}, {"at": "15s", "join": "c1"}], {"static"}, {"session.timeout.ms"}),
        ([{"at": "9s", "crash": "c1"}], {"session.timeout.ms", "auto.commit.interval.ms"}, {"static", "max.poll"}),
        ([{"at": "9s", "stop_polling": "c1", "for": "5s"}], {"max.poll.interval.ms"}, {"static", "session"}),
    ],
)
def test_only_what_can_matter_is_tried(events: list[Any], tried: set[str], not_tried: set[str]) -> None:
    scenario = made(events=events, systems=["kafka:range"], load={"produce": "5/s"})
    (given,) = variants_of(scenario)
    names = " ".join(each.name for each in single_changes(scenario, as_given(given)))
    assert all(name in names for name in tried), names
    assert not any(name in names for name in not_tried), names


def test_a_try_holds_for_members_with_values_of_their_own() -> None:
    members = {"c1": {"subscribe": ["X"], "handle": "5ms", "settings": {"max.poll.records": 200}}}
    scenario = made(
        group={"name": "g", "members": members}, systems=["kafka:range"], load={"produce": "5/s"}, events=[]
    )
    (given,) = variants_of(scenario)
    found = {each.name: each.variant for each in single_changes(scenario, as_given(given))}
    lived = found["kafka:range with max.poll.records 20"]
    assert lived.part.settings == {"max.poll.records": 20}
    assert lived.scenario.groups["g"].members["c1"].settings == {}
    assert not Shown.of(scenario).changes
    with pytest.raises(UserError):
        made(events=[{"at": "1s", "slow": {}, "for": "1s"}])


@pytest.mark.parametrize(("expect", "tried"), [({}, True), ({"in_order": True}, False)])
def test_records_one_by_one_are_tried_where_nobody_expects_order(expect: dict[str, bool], tried: bool) -> None:
    day = made(systems=["kafka:range"], expect=expect)
    assert ("kafka:share" in [each.name for each in tries.strategies(day, variants_of(day))]) is tried
