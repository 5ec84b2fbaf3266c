"""`equipoise compare`: systems side by side, figures that follow from the timeline, what a scenario demands."""

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from compare import fairness, optimum
from compare.running.run_variant import ending
from compare.running.systems import known_strategies
from compare.running.variants import variants_of
from compare.spark import write_snapshot
from protocols import Allocation, Group, Queue
from protocols.scenario.reading import scenario
from protocols.scenario.topology import MemberKey
from protocols.timeline import PER_BROKER, THROUGHOUT
from tests.compare.showing import equipoise

SCENARIO = """
name: three members, one crashes
topics: {orders: 4, payments: 2}
group:
  name: g
  members:
    c1: {subscribe: [orders, payments]}
    c2: {subscribe: [orders, payments]}
load: {produce: 10/s}
run: {for: 2min, seed: 3}
systems: [kafka-zookeeper:range, {system: kafka-zookeeper:roundrobin, label: dealt}]
events:
  - {at: 20s, join: c3, subscribe: [orders, payments]}
  - {at: 50s, crash: c2}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("scenarios")
    (made / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    (made / "strict.yaml").write_text(
        SCENARIO + "expect: {settles_within: 1s, max_over_mean: 1.1, longest_gap: 1min}\n", encoding="utf-8"
    )
    return made


@pytest.fixture(scope="module")
def document(folder: Path) -> dict[str, Any]:
    done = equipoise("compare", str(folder / "s.yaml"), "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


FIELDS = [
    *("label", "system", "seed", "owners", "fairness", "optimum", "rebalances", "moves", "unowned_queue_s"),
    *("double_owned_queue_s", "longest_gap_s", "redelivered", "burst", "messages", "settle_s", "checks", "timeline"),
]


def test_the_document_has_a_record_per_variant(document: dict[str, Any]) -> None:
    assert document["scenario"] == "three members, one crashes"
    assert [(each["label"], each["system"], each["seed"]) for each in document["variants"]] == [
        ("kafka-zookeeper:range", "kafka-zookeeper:range", 3),
        ("dealt", "kafka-zookeeper:roundrobin", 3),
    ]
    for variant in document["variants"]:
        assert set(FIELDS) <= set(variant)
        assert sorted(variant["owners"]) == ["c1", "c3"]


def test_every_figure_of_ownership_follows_from_the_timeline(document: dict[str, Any]) -> None:
    for variant in document["variants"]:
        by_queue: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in variant["timeline"]:
            by_queue.setdefault(tuple(row["queue"]), []).append(row)
        unowned = longest = 0.0
        moves = 0
        for rows in by_queue.values():
            rows.sort(key=lambda row: row["from_s"])
            for before, after in itertools.pairwise(rows):
                gap = after["from_s"] - before["to_s"]
                assert gap >= 0
                unowned += gap
                longest = max(longest, gap)
                moves += before["member"] != after["member"]
        assert variant["double_owned_queue_s"] == 0
        assert variant["unowned_queue_s"] == pytest.approx(unowned)
        assert variant["longest_gap_s"] == pytest.approx(longest)
        assert variant["moves"] == moves
        ends = [row for row in variant["timeline"] if row["to_s"] is None]
        assert {(row["member"], *row["queue"]) for row in ends} == {
            (member, *queue) for member, queues in variant["owners"].items() for queue in queues
        }
        last = max(row[at] or 0.0 for row in variant["timeline"] for at in ("from_s", "to_s"))
        assert variant["settle_s"] == pytest.approx(last - 50)


def test_fairness_and_optimum_are_those_of_the_python_door(document: dict[str, Any]) -> None:
    group = Group.of({"orders": 4, "payments": 2}, {"c1": ["orders", "payments"], "c3": ["orders", "payments"]})
    for variant in document["variants"]:
        owners = {member: [Queue(*queue) for queue in queues] for member, queues in variant["owners"].items()}
        allocation = Allocation(group, owners)
        figures = fairness(allocation)
        assert variant["fairness"]["jain"] == figures.jain
        assert variant["fairness"]["topics"]["orders"]["max"] == figures.topics["orders"].max
        best = optimum(group, allocation)
        assert variant["optimum"] == {
            name: getattr(best, name) for name in ("max", "min", "idle_members", "jain", "moves")
        }


def test_every_rebalance_has_a_cause(document: dict[str, Any]) -> None:
    for variant in document["variants"]:
        assert [each["cause"] for each in variant["causes"]] == ["the scenario begins", "c3 joins", "c2 crashes"]
        assert variant["rebalances"] == 3
        for each in variant["causes"]:
            assert each["chain"][0][1] == each["cause"]


def test_equal_seeds_give_equal_bytes_under_any_hash_seed(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    systems = ("--system", "dealt", "--system", "kafka:sticky", "--system", "rocketmq:AVG")
    for verb in (["--seeds", "2", *systems, "--format", "json", "--report", str(page)], ["--sequence", "dealt"]):
        runs, pages = set(), set()
        for seed in ("1", "77"):
            done = equipoise("compare", str(folder / "s.yaml"), *verb, hash_seed=seed)
            assert done.returncode == 0, done.stderr
            runs.add(done.stdout)
            pages.add(page.read_bytes())
        assert len(runs) == len(pages) == 1
        assert runs != {""}


def test_what_a_scenario_expects_decides_the_exit_code(folder: Path) -> None:
    done = equipoise("compare", str(folder / "strict.yaml"), "--system", "dealt", "--format", "json")
    assert done.returncode == 1
    assert "failed: three members, one crashes: dealt: settles_within: time to settle is" in done.stderr
    (variant,) = json.loads(done.stdout)["variants"]
    held = {check["name"]: check["held"] for check in variant["checks"] if check["demanded"]}
    assert held == {"settles_within": False, "max_over_mean": True, "longest_gap": True}


def test_the_table_has_a_row_per_variant_and_seed(folder: Path) -> None:
    done = equipoise("compare", str(folder / "s.yaml"), "--seed", "1", "--seed", "2", "--format", "markdown")
    rows = [line for line in done.stdout.splitlines() if line.startswith(("| kafka", "| dealt"))]
    assert [row.split("|")[2].strip() for row in rows[:4]] == ["1", "2", "1", "2"]
    assert done.stdout.startswith("## three members, one crashes")


def test_a_story_and_a_diagram_are_printed_alone(folder: Path) -> None:
    told = equipoise("compare", str(folder / "s.yaml"), "--story", "dealt").stdout
    assert "50.000s * c2 crashes" in told
    assert "variant" not in told
    drawn = equipoise("compare", str(folder / "s.yaml"), "--sequence", "dealt").stdout
    assert drawn.startswith("sequenceDiagram\n")
    assert "c3 joins" in drawn


def test_parquet_files_are_what_spark_reads(folder: Path, tmp_path: Path) -> None:
    done = equipoise("compare", str(folder / "s.yaml"), "--parquet", str(tmp_path / "out"))
    assert done.returncode == 0
    ownership = pq.read_table(tmp_path / "out/ownership.parquet")
    members = pq.read_table(tmp_path / "out/members.parquet")
    assert ownership.num_rows == 2 * 6
    assert members.to_pylist()[0] == {"run": "kafka-zookeeper:range (seed 3)", "group": "g", "member": "c1"}
    write_snapshot(ownership, members, tmp_path / "snapshot")
    assert pq.read_table(tmp_path / "out/messages.parquet").num_rows > 0


def test_bad_input_gives_one_line(subtests: pytest.Subtests, folder: Path) -> None:
    for arguments, says in [
        (["--story", "nobody"], "no variant 'nobody', expected one of kafka-zookeeper:range, dealt"),
        (["--system", "pulsar"], "--system pulsar: expected one of kafka-zookeeper:range, dealt"),
        (
            ["--system", "kafka-zookeeper:best"],
            "--system kafka-zookeeper:best: unknown strategy 'best' of kafka-zookeeper, expected one of range",
        ),
        (
            ["--system", "rocketmq:Foo"],
            "--system rocketmq:Foo: unknown strategy 'Foo' of rocketmq, expected one of AVG, AVG_BY_CIRCLE, ",
        ),
        (
            ["--system", "kafka:Foo"],
            "--system kafka:Foo: unknown strategy 'Foo' of kafka, expected one of range, roundrobin, sticky, ",
        ),
        (["--system", "rocketmq:AVGG"], "unknown strategy 'AVGG' of rocketmq, did you mean AVG?"),
    ]:
        with subtests.test(arguments=arguments, says=says):
            done = equipoise("compare", str(folder / "s.yaml"), *arguments)
            assert done.returncode == 2
            assert says in done.stderr
            assert len(done.stderr.splitlines()) == 1
            assert done.stdout == ""


def made(**more: Any) -> Any:
    return scenario(
        {
            "name": "s",
            "topics": {"T": {"queues": {"a-1": 1, "b-1": 2}}},
            "brokers": ["a-1", "b-1"],
            "group": {"name": "g", "members": {"c1": ["T"], "c2": {"pattern": "T.*", "instance_id": "own"}}},
            "run": {"for": "1min"},
            **more,
        },
        registered=known_strategies(),
    )


def test_one_word_stands_for_the_variants_of_kafka() -> None:
    classic = ["kafka:range", "kafka:roundrobin", "kafka:sticky", "kafka:cooperative-sticky"]
    server = ["kafka:server-range", "kafka:uniform"]
    others = ["kafka:range+static", "kafka-zookeeper:range"]
    assert [each.label for each in variants_of(made(), ["kafka"])] == [*classic, *server, *others]
    zookeeper = ["kafka-zookeeper:range", "kafka-zookeeper:roundrobin"]
    assert [each.label for each in variants_of(made(), ["kafka-zookeeper"])] == zookeeper
    every = [each.label for each in variants_of(made(), ["all"])]
    assert every == [
        *classic,
        *server,
        *others,
        zookeeper[1],
        *(each for each in every if each.startswith("rocketmq:")),
    ]
    assert len(every) == 12


def test_the_ending_knows_who_is_alive_and_which_queues_there_are() -> None:
    ended = made(
        events=[
            {"at": "1s", "join": "c3", "subscribe": ["T", "U"]},
            {"at": "2s", "crash": "c1"},
            {"at": "3s", "leave": "c3"},
            {"at": "4s", "restart": "c1"},
            {"at": "5s", "hang": "c2", "for": "1min"},
            {"at": "6s", "queues": {"T": {"a-1": 1, "b-1": 3}}},
            {"at": "7s", "subscribe": {"c1": ["T", "V"]}},
            {"at": "8s", "add_topic": {"V": 1}},
        ]
    )
    found = ending(ended, PER_BROKER)
    assert list(found.members) == [MemberKey("g", "c2"), MemberKey("g", "c1")]
    assert [queue.number for queue in found.groups["g"].topics["T"]] == [0, 0, 1, 2]
    assert found.groups["g"].member("c1").subscription == ("T", "V")
    assert len(found.expected()) == 5
    assert [queue.number for queue in ending(ended, THROUGHOUT).groups["g"].topics["T"]] == [0, 1, 2, 3]


def test_computed_quiet_times_and_simulated_ones_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "unloaded.yaml"
    path.write_text(SCENARIO.replace("load: {produce: 10/s}\n", ""), encoding="utf-8")
    options = [str(path), "--system", "rocketmq:AVG", "--format", "json"]
    assert equipoise("compare", *options).stdout == equipoise("compare", *options, "--full").stdout
