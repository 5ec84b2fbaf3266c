"""`equipoise history`: its numbers are those of a plain count, however the files lie and whoever counts. What is
damaged is named."""

import json
import operator
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from compare import history
from compare.cli import cli
from compare.figures.histories import HistoryRecord, records_of
from compare.figures.history_parts import Unfair, part_of
from compare.figures.standing import polls_of, standing
from compare.history import Selection, counted, document, selected
from compare.showing.history import write_report
from compare.snapshots import compact, snapshot_files, snapshot_schema, write_snapshot_file
from protocols import UserError
from tests.compare.figures.spark.spark_fixture import session

__all__ = ["session"]

START = 1_795_305_600.0
"""2026-11-22 00:00:00 UTC."""
HOUR_S = 3600.0
DISTANCE = Unfair("distance", operator.gt, 0)

Row = dict[str, Any]


def row(group: str, **given: Any) -> Row:
    """A row of a snapshot in which everything is well."""
    figures = {"members": 2, "idle_members": 0, "queues": 4, "unowned_queues": 0, "double_owned_queues": 0}
    figures |= {"distance": 0, "lag": 10, "moves": 0, "rebalances": 0}
    loads = {"score": 100.0, "max_over_mean": 1.0, "pile_up": 0.0}
    empty: Row = {"mode": "shared", "partial": False, "joined": [], "left": [], "topics": []}
    return {"system": "kafka", "group": group, **figures, **loads, **empty, **given}


def write(folder: Path, cluster: str, at: float, every_s: float, rows: Sequence[Row]) -> Path:
    return write_snapshot_file(folder, cluster, at, snapshot_table(at, every_s, rows))


def snapshot_table(at: float, every_s: float, rows: Sequence[Row]) -> pa.Table:
    listed = [{"at": round(at * 1000), "every_s": every_s, **each} for each in rows]
    return pa.Table.from_pylist(listed, snapshot_schema())


def as_read(at: float, every_s: float, rows: Sequence[Row]) -> pa.Table:
    """A snapshot as `compare.history` reads it of a file."""
    table = snapshot_table(at, every_s, rows).append_column("ms", pa.repeat(round(at * 1000), len(rows)))
    for name in ("system", "group"):
        table = table.set_column(table.column_names.index(name), name, table[name].dictionary_encode())
    return table


def topic(name: str, most: float, least: float, lag: int = 0) -> Row:
    return {"topic": name, "min": least, "max": most, "max_over_mean": 2 * most / (most + least), "lag": lag}


def told(session: SparkSession, folder: Path, unfair: Unfair = DISTANCE) -> dict[str, HistoryRecord]:
    """The groups by name, worst first; both engines give the same bytes."""
    selection = selected(str(folder), None, None, ())
    texts = [json.dumps(document(records(selection, unfair, engine), "", [])) for engine in ("local", "spark")]
    assert texts[0] == texts[1]
    return {f"{each['cluster']}/{each['group']}": each for each in json.loads(texts[0])["groups"]}


def records(selection: Selection, unfair: Unfair, engine: str) -> list[HistoryRecord]:
    found, read = counted(selection, unfair, (), engine, (), (None, None))
    assert read == selection
    return found


Polls = list[tuple[str, float, float, list[Row]]]
"""Cluster, time and interval (seconds) and rows of each."""


def random_month(draw: random.Random, days: float = 3) -> tuple[Polls, dict[str, list[tuple[float, float, Row]]]]:
    """Polls of two clusters over some days with gaps; per group the times, how long they stand, and the rows."""
    polls: Polls = []
    found: dict[str, list[tuple[float, float, Row]]] = defaultdict(list)
    for cluster, every_s in (("a", 600.0 * days), ("b", 3600.0 * days)):
        times, at = [], START + draw.random() * 100
        while at < START + days * 24 * HOUR_S:
            times.append(round(at, 3))
            at += every_s * draw.choice([1, 1, 1, 1, 0.5, 1.7, 6])
        for number, time in enumerate(times):
            stands = min(times[number + 1] - time, 2 * every_s) if number + 1 < len(times) else every_s
            # A poll that finds no group leaves no row, and nobody knows of it.
            seen = [each for each in range(4) if draw.random() < 0.9] or [0]
            rows = [random_row(draw, f"g{each}") for each in seen]
            polls.append((cluster, time, every_s, rows))
            for each in rows:
                found[f"{cluster}/{each['group']}"].append((time, round(stands * 1000), each))
    return polls, found


def random_row(draw: random.Random, group: str) -> Row:
    if draw.random() < 0.05:
        names = (
            "score",
            "distance",
            "max_over_mean",
            "moves",
            "rebalances",
            "joined",
            "left",
            "lag",
            "topics",
            "pile_up",
        )
        unknown = dict.fromkeys(names)
        return row(group, **unknown)
    restless = draw.random() < 0.2
    return row(
        group,
        score=round(draw.uniform(0, 100), 7),
        max_over_mean=draw.choice([1.0, 1.25, 4 / 3, 2.0]),
        distance=draw.choice([0, 0, 1, 3]),
        idle_members=draw.choice([0, 0, 1]),
        unowned_queues=draw.choice([0, 0, 0, 2]),
        lag=draw.randrange(1000),
        pile_up=draw.choice([0.0, 0.3, -0.2]),
        topics=[topic(f"t{number}", draw.randint(1, 3), 1, draw.randrange(9)) for number in range(2)],
        moves=draw.randint(1, 5) if restless else 0,
        rebalances=draw.choice([None, 1, 3]) if restless else 0,
        joined=[f"m{draw.randrange(4)}"] if restless and draw.random() < 0.5 else [],
        left=[f"m{draw.randrange(4)}"] if restless and draw.random() < 0.5 else [],
    )


def counted_plainly(seen: Sequence[tuple[float, float, Row]]) -> dict[str, Any]:
    """The same by a plain loop over one group's snapshots."""
    hour_ms = 3_600_000

    def hours(condition: Any) -> float:
        return sum(ms for _, ms, each in seen if condition(each)) / hour_ms

    begun = []
    for at, _, each in seen:
        changed = int(bool(each["moves"] or each["joined"] or each["left"]))
        begun += [at] * (changed if each["rebalances"] is None else each["rebalances"])
    in_an_hour = [sum(at - 3600 < other <= at for other in begun) for at, _, _ in seen]
    storm = {at for (at, _, _), count in zip(seen, in_an_hour, strict=True) if count >= 5}
    came = {member for _, _, each in seen for member in each["joined"] or ()}
    left = {member for _, _, each in seen for member in each["left"] or ()}
    scored = [(round(each["score"] * 1e6), ms) for _, ms, each in seen if each["score"] is not None]
    piled: dict[str, float] = defaultdict(float)
    for _, ms, each in seen:
        if (each["distance"] or 0) > 0 and (each["pile_up"] or 0) > 0:
            for of in each["topics"]:
                if of["max"] > of["min"]:
                    piled[of["topic"]] += ms
    return {
        "snapshots": len(seen),
        "hours": hours(lambda each: True),
        "hours_unfair": hours(lambda each: (each["distance"] or 0) > 0),
        "hours_unknown": hours(lambda each: each["distance"] is None),
        "hours_idle": hours(lambda each: each["idle_members"] > 0),
        "hours_unowned": hours(lambda each: each["unowned_queues"] > 0),
        "moves": sum(each["moves"] or 0 for _, _, each in seen),
        "rebalances": len(begun),
        "rebalances_in_an_hour": max(in_an_hour),
        "hours_storm": sum(ms for at, ms, _ in seen if at in storm) / hour_ms,
        "members_came": len(came),
        "members_left": len(left),
        "come_and_go": len(came & left),
        "score": sum(score * ms for score, ms in scored) / (sum(ms for _, ms in scored) * 1_000_000)
        if scored
        else None,
        "score_last": seen[-1][2]["score"],
        "lag_max": max((each["lag"] for _, _, each in seen if each["lag"] is not None), default=None),
        "topics": {name: ms / hour_ms for name, ms in piled.items()},
    }


def as_counted(record: HistoryRecord) -> dict[str, Any]:
    topics = {each["topic"]: each["hours"] for each in record["topics"]}
    return {**record, "topics": topics}


def test_numbers_are_those_of_a_plain_count_before_and_after_days_are_put_together(
    session: SparkSession, tmp_path: Path
) -> None:
    # Groups go over the ends of Spark's batches.
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    polls, months = random_month(random.Random(7))
    for poll in polls:
        write(tmp_path, *poll)
    found = told(session, tmp_path)
    assert found.keys() == months.keys()
    for name, seen in months.items():
        expected = counted_plainly(seen)
        assert {key: as_counted(found[name])[key] for key in expected} == expected
    for cluster in ("a", "b"):
        compact(tmp_path, cluster, date(2026, 11, 24))
    assert told(session, tmp_path) == found


@given(st.integers(0, 2**32), st.sampled_from([0.02, 0.2, 1.5]))
def test_numbers_are_those_of_a_plain_count_into_whatever_files_and_parts_the_snapshots_are_divided(
    seed: int, days: float
) -> None:
    draw = random.Random(seed)
    polls, months = random_month(draw, days)
    tables: dict[tuple[str, int], list[pa.Table]] = {}
    for cluster, at, every_s, rows in polls:
        tables.setdefault((cluster, draw.randrange(4)), []).append(as_read(at, every_s, rows))
    files = [(cluster, pa.concat_tables(of_file)) for (cluster, _), of_file in tables.items()]
    times = standing([(cluster, polls_of(rows)) for cluster, rows in files])
    parts: dict[int, list[tuple[str, pa.Table]]] = {}
    for cluster, rows in files:
        parts.setdefault(draw.randrange(3), []).append((cluster, rows))
    some = [[(cluster, rows) for cluster, rows in part if len(rows)] for part in parts.values()]
    records = records_of([part_of(part, times, DISTANCE) for part in some if part])
    found = {f"{each['cluster']}/{each['group']}": each for each in records}
    assert found.keys() == months.keys()
    for name, seen in months.items():
        expected = counted_plainly(seen)
        assert {key: as_counted(found[name])[key] for key in expected} == expected


def test_few_snapshots_are_counted_without_spark_and_many_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a", START, HOUR_S, [row("g", topics=[topic("t", 1, 1)])])
    asked = []
    for name in ("_local", "_on_spark"):
        monkeypatch.setattr(history, name, lambda *_, name=name: asked.append(name) or [])
    for processors, starts_s in ((1, 0.0), (8, 1.0), (8, 0.0)):
        monkeypatch.setattr("os.cpu_count", lambda processors=processors: processors)
        monkeypatch.setattr(history, "SPARK_STARTS_S", starts_s)
        counted(selected(str(tmp_path), None, None, ()), DISTANCE, (), "auto", (), (None, None))
    assert asked == ["_local"] * 4 + ["_on_spark"] * 2


@pytest.fixture(scope="module")
def recorded(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, HistoryRecord]:
    """What is told of clusters that are watched in several ways; one poll has found no group."""
    folder = tmp_path_factory.mktemp("recorded")
    for hour in (0, 1, 2, 50):
        rows = [row("g", distance=1), *([row("h")] if hour != 1 else [])]
        write(folder, "sometimes", START + hour * HOUR_S, HOUR_S, rows)
    for minute in range(0, 15, 1):
        storm = row("g", rebalances=8 if minute == 4 else 0, joined=["m"] if minute == 4 else [])
        write(folder, "restless", START + minute * 60, 60.0, [storm, row("unfair", score=60.0, distance=2)])
    for minute in (0, 30, 60):
        write(folder, "large", START + minute * 60, 1800.0, [row("Gruppe \u00fc", lag=2**62 + minute)])
        write(folder, "older", START + minute * 60, 1800.0, [row("g", moves=minute, rebalances=None)])
    write(folder, "empty", START, HOUR_S, [])
    for day in range(4):
        rows = [row("worse", score=90.0 - 5 * day), row("short", score=50.0 + day)][: 2 if day < 2 else 1]
        write(folder, "daily", START + day * 24 * HOUR_S, HOUR_S, rows)
    return told(session, folder)


def test_time_in_which_nobody_watched_counts_for_nothing(recorded: Mapping[str, HistoryRecord]) -> None:
    always = recorded["sometimes/g"]
    assert (always["hours"], always["hours_unfair"]) == (1 + 1 + 2 + 1, 5)
    assert recorded["sometimes/h"]["hours"] == 1 + 2 + 1, "a snapshot without the group is not the group's time"


def test_a_storm_comes_first_and_nothing_is_said_by_day_of_a_quarter_of_an_hour(
    recorded: Mapping[str, HistoryRecord],
) -> None:
    names = [name for name in recorded if name.startswith("restless/")]
    assert names == ["restless/g", "restless/unfair"], "though its score is 100"
    record = recorded["restless/g"]
    assert (record["hours"], record["rebalances"], record["rebalances_in_an_hour"]) == (0.25, 8, 8)
    assert record["hours_storm"] == 11 / 60
    assert (record["moves_per_day"], record["rebalances_per_day"], record["score_trend"]) == (None, None, None)
    assert record["days"] == []
    page = write_report(document([record], "distance > 0", []), 1)
    assert " day" not in page[page.index("<main>") :]


def test_sums_are_exact_however_large(recorded: Mapping[str, HistoryRecord]) -> None:
    assert recorded["large/Gruppe \u00fc"]["lag"] == (3 * 2**62 + 90) / 3


def test_snapshots_that_count_no_rebalances_have_seen_one_where_something_changed(
    recorded: Mapping[str, HistoryRecord],
) -> None:
    assert recorded["older/g"]["rebalances"] == 2


def test_trends_need_three_days(recorded: Mapping[str, HistoryRecord]) -> None:
    assert (recorded["daily/worse"]["score_trend"], recorded["daily/short"]["score_trend"]) == (-5, None)


def test_the_user_says_what_is_unfair(session: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "a", START, HOUR_S, [row("g", max_over_mean=1.5), row("h", max_over_mean=None)])
    found = told(session, tmp_path, Unfair("max_over_mean", operator.ge, 1.5))
    assert (found["a/g"]["hours_unfair"], found["a/h"]["hours_unfair"], found["a/h"]["hours_unknown"]) == (1, 0, 1)


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["history", *arguments])


def groups_of(result: Result) -> Mapping[str, Any]:
    assert result.exception is None, result.output
    found = json.loads(result.stdout)
    return {f"{each['cluster']}/{each['group']}": each for each in found["groups"]}


@pytest.mark.usefixtures("session")
def test_what_was_put_together_is_not_counted_twice_after_a_crash(tmp_path: Path) -> None:
    paths = [write(tmp_path, "a", START + hour * HOUR_S, HOUR_S, [row("g")]) for hour in range(3)]
    last = paths[2].read_bytes()
    compact(tmp_path, "a", date(2026, 11, 23))
    paths[2].write_bytes(last)
    assert len(list(snapshot_files(tmp_path))) == 2
    assert groups_of(ran(str(tmp_path), "--format", "json"))["a/g"]["snapshots"] == 3


@pytest.mark.usefixtures("session")
def test_days_clusters_and_groups_can_be_chosen_and_the_report_shows_the_worst(tmp_path: Path) -> None:
    bad = row("<b>bad</b>", distance=2, score=60.0, pile_up=0.5, topics=[topic("orders", 3, 1)], moves=1)
    for cluster in ("007", "b"):
        for day in range(3):
            write(tmp_path, cluster, START + day * 24 * HOUR_S, HOUR_S, [row("g"), bad])
    every = groups_of(ran(str(tmp_path), "--format", "json"))
    assert list(every) == ["007/<b>bad</b>", "b/<b>bad</b>", "007/g", "b/g"], "the worst first"
    days = ("--since", "2026-11-23", "--until", "2026-11-23")
    chosen = ran(str(tmp_path), "--format", "json", "--cluster", "007", "--group", "<b>bad</b>", *days)
    assert {name: each["snapshots"] for name, each in groups_of(chosen).items()} == {"007/<b>bad</b>": 1}
    at_address = ran(tmp_path.as_uri(), "--format", "json", "--cluster", "007", "--group", "<b>bad</b>", *days)
    assert at_address.stdout == chosen.stdout
    page = tmp_path / "out.html"
    table = ran(str(tmp_path), "--format", "markdown", "--report", str(page), "--top", "1").stdout
    assert "4 groups of 2 clusters, 2026-11-22T00:00:00Z to 2026-11-24T00:00:00Z: 2 unfair at some time" in table
    assert "| 007 " in table
    assert "| b " not in table
    text = page.read_text()
    assert "&lt;b&gt;bad&lt;/b&gt;" in text
    assert "<b>bad</b>" not in text
    assert text.count('<section class="group">') == 1
    assert text.count('<rect class="unfair"') == 3
    assert "http" not in text.replace("http-equiv", "")


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_damaged_files_are_named_and_left_out(engine: str, tmp_path: Path) -> None:
    paths = [
        write(tmp_path, "a", START + hour * HOUR_S, HOUR_S, [row(f"g{number}") for number in range(50)])
        for hour in range(7)
    ]
    paths[1].write_bytes(paths[1].read_bytes()[:-20])
    paths[2].write_bytes(b"")
    changed = bytearray(paths[3].read_bytes())
    names = pq.read_metadata(paths[3]).row_group(0).column(3)
    changed[names.dictionary_page_offset + names.total_compressed_size - 1] ^= 0xFF
    paths[3].write_bytes(bytes(changed))
    pq.write_table(pa.table({"at": [1]}), paths[4])
    later = snapshot_schema().with_metadata({b"equipoise.snapshot": b"2"})
    pq.write_table(later.empty_table(), paths[5])
    (paths[0].parent / "notes.txt").write_text("mine")
    result = ran(str(tmp_path), "--format", "json", "--engine", engine)
    assert result.exception is None, result.output
    found = json.loads(result.stdout)
    left_out = {Path(each["file"]).name: each["why"] for each in found["left_out"]}
    assert left_out.keys() == {path.name for path in paths[1:6]}
    assert all(left_out[paths[number].name].startswith("damaged: ") for number in (1, 2, 3))
    assert left_out[paths[4].name] == "not a snapshot of `equipoise watch`"
    assert left_out[paths[5].name] == "a snapshot of version 2, expected 1"
    assert {each["snapshots"] for each in found["groups"]} == {2}
    assert [line for line in result.stderr.splitlines() if line.startswith("left out: ")] == [
        f"left out: {each['file']}: {each['why']}" for each in found["left_out"]
    ]


def test_bad_input_is_one_line(
    subtests: pytest.Subtests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session: SparkSession
) -> None:
    for arguments, why in [
        (["missing"], "there is no such folder"),
        (["file:///nowhere", "--engine", "local"], "--engine local reads only local folders"),
        (["."], "no snapshots, expected a folder that `equipoise watch --out` has written"),
        ([".", "--unfair", "max > "], "--unfair 'max > ': expected COLUMN SIGN NUMBER"),
        ([".", "--unfair", "state == 3"], "no column 'state'"),
        ([".", "--since", "yesterday"], "--since yesterday: expected a day such as 2026-11-22"),
    ]:
        with subtests.test(arguments=arguments, why=why):
            monkeypatch.chdir(tmp_path)
            result = ran(*arguments)
            assert isinstance(result.exception, UserError)
            assert why in str(result.exception)


@pytest.mark.usefixtures("session")
def test_nothing_that_can_be_read_is_one_line(tmp_path: Path) -> None:
    write(tmp_path, "a", START, HOUR_S, [row("g")]).write_bytes(b"PAR1")
    result = ran(str(tmp_path))
    assert isinstance(result.exception, UserError)
    assert "no readable snapshots: " in str(result.exception)
    write(tmp_path, "a", START + 1, HOUR_S, [row("g")])
    result = ran(str(tmp_path), "--group", "h")
    assert "no snapshots of these groups" in str(result.exception)
