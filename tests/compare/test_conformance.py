"""Playing recorded answers: the vendored vectors pass, and whatever is planted in them fails."""

import copy
import gzip
import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.cli import main
from compare.conformance.cases import Difference, FileResult, MalformedCase, play_file
from compare.conformance.kafka_assignors import ASSIGNORS, metadata, player
from compare.conformance.players import PLAYERS
from kafka_coordinator.assignors.inputs import Assignment, GroupMetadata
from kafka_coordinator.assignors.uniform_homogeneous import topic_order
from protocols.errors import UserError
from protocols.java import string_entry_order

GOLDEN = Path(__file__).parents[1] / "golden"
KINDS = tuple(ASSIGNORS)
EVERY = 20
"""Plants are tried in every 20th line of a file."""


def _file(kind: str) -> Path:
    return GOLDEN / "kafka" / f"assignors-{kind}.jsonl.gz"


def _lines(kind: str) -> Iterator[dict[str, Any]]:
    with gzip.open(_file(kind)) as lines:
        yield from map(json.loads, lines)


def _played(folder: Path, *lines: Any) -> FileResult:
    path = folder / "cases.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines))
    return play_file(path, PLAYERS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_vector_passes(kind: str) -> None:
    result = play_file(_file(kind), PLAYERS)
    assert result.differences == []
    assert (result.failed, result.skipped) == (0, 0)
    assert result.passed > 1900


@pytest.mark.parametrize("kind", KINDS)
def test_the_recorded_orders_are_those_of_our_own_java_maps(kind: str) -> None:
    for line in _lines(kind):
        assert string_entry_order([member["id"] for member in line["members"]]) == line["member_order"]
        if line.get("topic_order"):
            group = metadata(line)
            assert topic_order(group, group.members[0].topics) == list(group.topic_order or ())


# --- planted errors -------------------------------------------------------------------------------------------------


def _plants(line: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is wrong now, and the line with one recorded result changed."""

    def changed() -> dict[str, Any]:
        return copy.deepcopy(line)

    if "expected_error" in line:
        plant = changed()
        plant["expected_error"] += "X"
        yield "another error", plant
        plant = changed()
        del plant["expected_error"]
        plant["expected"], plant["withheld"] = {}, []
        yield "an answer where the real assignor throws", plant
    else:
        yield from _plants_in_answer(line)
    for name, value in (("quirk", ["crash"]), ("quirk", ["assigned_without_subscription"]), ("quirk", None)):
        if line.get(name) != value:
            plant = changed()
            plant[name] = value
            yield f"quirk {value}", plant
    if "same_with_long_lived_instance" in line:
        plant = changed()
        plant["same_with_long_lived_instance"] = not line["same_with_long_lived_instance"]
        yield "another answer of a long-lived instance", plant
    if "subscription_type" in line:
        plant = changed()
        plant["subscription_type"] = "hetero" if line["subscription_type"] == "homogeneous" else "homogeneous"
        yield "another subscription type", plant


def _plants_in_answer(line: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    owners = [member for member, partitions in line["expected"].items() if partitions]
    for owner in owners[:2] + owners[-1:]:
        plant = copy.deepcopy(line)
        plant["expected"][owner][0][1] += 1000
        yield "another partition", plant
        plant = copy.deepcopy(line)
        plant["expected"][owner][-1][0] += "x"
        yield "another topic", plant
        plant = copy.deepcopy(line)
        del plant["expected"][owner]
        yield "a member without its partitions", plant
        plant = copy.deepcopy(line)
        plant["expected"][owner].pop()
        yield "a partition too few", plant
        plant = copy.deepcopy(line)
        plant["expected"][owner].append(plant["expected"][owner][0])
        yield "a partition twice", plant
    if len(owners) > 1:
        plant = copy.deepcopy(line)
        first, second = (plant["expected"][each] for each in owners[:2])
        first[0], second[0] = second[0], first[0]
        yield "two partitions exchanged", plant
    plant = copy.deepcopy(line)
    plant["expected"]["nobody"] = [["t", 0]]
    yield "a member too many", plant
    plant = copy.deepcopy(line)
    del plant["expected"]
    plant["expected_error"] = "NullPointerException"
    yield "an error where the real assignor answers", plant
    plant = copy.deepcopy(line)
    plant.setdefault("withheld", []).append({"partition": ["t", 999], "new_owner": "m", "claimed_by": []})
    yield "a withheld partition too many", plant
    for index in range(len(line.get("withheld", ()))):
        for name, value in (
            ("partition", ["t", 998]),
            ("new_owner", "nobody"),
            ("claimed_by", []),
            ("claimed_by", [*line["withheld"][index]["claimed_by"], "nobody"]),
        ):
            plant = copy.deepcopy(line)
            plant["withheld"][index][name] = value
            yield f"withheld with {name} {value}", plant
        plant = copy.deepcopy(line)
        del plant["withheld"][index]
        yield "a withheld partition too few", plant


@pytest.mark.parametrize("kind", KINDS)
def test_planted_errors_fail(kind: str, tmp_path: Path) -> None:
    names: list[str] = []
    plants: list[dict[str, Any]] = []
    with_withheld = [line for line in _lines(kind) if line.get("withheld") or "expected_error" in line][:30]
    for line in [*list(_lines(kind))[::EVERY], *with_withheld]:
        if len(line["members"]) <= 20:
            for what, plant in _plants(line):
                plant["id"] = f"{len(names)}: {line['id']} with {what}"
                names.append(plant["id"])
                plants.append(plant)
    result = _played(tmp_path, *plants)
    assert set(names) - {difference.case for difference in result.differences} == set()
    assert (result.passed, result.failed) == (0, len(plants))
    assert len(plants) > 500


def test_a_member_missing_in_the_answer_owns_nothing(tmp_path: Path) -> None:
    line = next(each for each in _lines("client-range") if [] in each["expected"].values())
    line["expected"] = {member: partitions for member, partitions in line["expected"].items() if partitions}
    assert _played(tmp_path, line).passed == 1


# --- damaged lines --------------------------------------------------------------------------------------------------

LINE = {
    "id": "one",
    "assignor": "client-range",
    "topics": {"t": 2},
    "members": [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"]}],
    "member_order": ["a", "b"],
    "expected": {"a": [["t", 0]], "b": [["t", 1]]},
}


@pytest.mark.parametrize(
    ("change", "field", "text"),
    [
        ({"assignor": "client-best"}, "assignor", "one of client-range, "),
        ({"assignor": None}, "assignor", "a text"),
        ({"id": 7}, "id", "a text"),
        ({"topics": {"t": -1}}, "topics.t", "a number of partitions"),
        ({"topics": [["t", 1]]}, "topics", "an object"),
        ({"members": [{"topics": ["t"]}]}, "members[0].id", "a text, but it is missing"),
        ({"members": ["a"]}, "members[0]", "an object"),
        ({"members": [{"id": "a", "topics": ["t"]}] * 2}, "members[1].id", "an id that no other member has"),
        ({"member_order": ["a"]}, "member_order", "each member's id once"),
        ({"expected": {"a": [["t", "0"]]}}, "expected.a[0]", "[topic, partition]"),
        ({"expected": {"a": 1}}, "expected.a", "a list of [topic, partition]"),
        ({"expected_error": "E"}, "expected", "either it or expected_error"),
        ({"partition_racks": {"t": [["r"]]}}, "partition_racks.t", "racks for each of the topic's partitions"),
        ({"assignor": "server-range"}, "topic_ids", "an object, but it is missing"),
        ({"assignor": "server-range", "topic_ids": {"t": "?"}}, "topic_ids.t", "16 bytes as base64"),
        ({"assignor": "server-range", "topic_ids": {}}, "topic_ids", "an id of topic 't'"),
        ({"assignor": "client-cooperative-sticky"}, "withheld", "a list, but it is missing"),
    ],
)
def test_a_damaged_line_fails_and_says_what_is_wrong(
    change: Mapping[str, Any], field: str, text: str, tmp_path: Path
) -> None:
    [difference] = _played(tmp_path, {**LINE, **change}).differences
    assert difference.field == field
    assert text in difference.expected
    assert difference.case in ("one", "line 1")


@pytest.mark.parametrize("text", ["{", "[]", "7", "null", '{"id": NaN}', '{"id": 1e999}', "[" * 100_000, "\\"])
def test_what_is_no_json_object_fails(text: str, tmp_path: Path) -> None:
    result = _played(tmp_path, LINE, text, "", LINE)
    assert (result.passed, result.failed) == (2, 1)
    assert result.differences[0].case == "line 2"


def test_a_line_of_no_known_kind_fails(tmp_path: Path) -> None:
    [difference] = _played(tmp_path, {"id": "x", "colour": "red"}).differences
    assert difference == Difference("x", "line", difference.expected, "the fields colour, id")
    assert "Kafka assignor vectors" in difference.expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield (*path, key)
        yield from _places(each, (*path, key))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_damage_to_a_line_breaks_the_player(data: st.DataObject) -> None:
    line = copy.deepcopy(data.draw(st.sampled_from(_SMALL)))
    *path, last = data.draw(st.sampled_from(list(_places(line))))
    holder = line
    for key in path:
        holder = holder[key]
    holder[last] = data.draw(JSON)
    for each in PLAYERS:
        each.recognises(line)
    with suppress(MalformedCase):
        player().play(line)  # type: ignore[misc]


_SMALL = [line for kind in KINDS for line in list(_lines(kind))[7::97] if len(line["members"]) < 5]


# --- files and the command ------------------------------------------------------------------------------------------


def test_one_may_put_one_s_own_assignor_to_the_test(tmp_path: Path) -> None:
    def lazy(group: GroupMetadata) -> Assignment:
        return Assignment([[] for _ in group.members])

    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(LINE))
    result = play_file(path, [player({"client-range": lazy})])
    assert [(each.field, each.got) for each in result.differences] == [("expected.a", []), ("expected.b", [])]


def test_kinds_are_known_by_their_content_and_not_by_the_file_s_name(tmp_path: Path) -> None:
    mixed = tmp_path / "strategies-averagely.jsonl"
    lines = [*list(_lines("client-range"))[:3], *list(_lines("server-uniform"))[:2]]
    with gzip.open(GOLDEN / "rocketmq" / "traces-lock_manager.jsonl.gz") as traces:
        lines.append(json.loads(next(iter(traces))))
    with gzip.open(GOLDEN / "kafka" / "coordinator-classic.jsonl.gz") as traces:
        lines.append(json.loads(next(iter(traces))))
    mixed.write_text("\n".join(map(json.dumps, lines)))
    result = play_file(mixed, PLAYERS)
    assert (result.passed, result.failed, result.skipped) == (5, 0, 2)
    assert result.notes == ["1 RocketMQ traces: not playable yet", "1 Kafka coordinator traces: not playable yet"]


def test_unreadable_files_are_the_user_s_to_mend(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_text("{}")
    with pytest.raises(UserError, match="not gzip"):
        play_file(tmp_path / "a.jsonl.gz", PLAYERS)
    (tmp_path / "b.jsonl.gz").write_bytes(_file("client-range").read_bytes()[:5000])
    with pytest.raises(UserError, match="cannot be read"):
        play_file(tmp_path / "b.jsonl.gz", PLAYERS)
    damaged = bytearray(_file("client-range").read_bytes())
    damaged[3000:3050] = bytes(50)
    (tmp_path / "c.jsonl.gz").write_bytes(damaged)
    with pytest.raises(UserError, match="cannot be read"):
        play_file(tmp_path / "c.jsonl.gz", PLAYERS)
    with pytest.raises(UserError, match="cannot be read"):
        play_file(tmp_path / "d.jsonl", PLAYERS)


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["equipoise", "conformance", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    shutil.copy(GOLDEN / "kafka" / "coordinator-classic.jsonl.gz", tmp_path / "deep")
    (tmp_path / "deep" / "good.jsonl").write_text(json.dumps(LINE) + "\n\n" + json.dumps(LINE))
    (tmp_path / "deep" / "trace.json").write_text(json.dumps({"events": [1]}, indent=1))
    (tmp_path / "deep" / "notes.txt").write_text("not a case")
    return tmp_path


def test_a_folder_is_walked_and_each_file_has_its_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, folder) == 0
    deep = folder / "deep"
    assert capsys.readouterr().out.splitlines() == [
        f"{deep}/coordinator-classic.jsonl.gz: 0 passed, 0 failed, 144 skipped",
        "  144 Kafka coordinator traces: not playable yet",
        f"{deep}/good.jsonl: 2 passed, 0 failed, 0 skipped",
        f"{deep}/trace.json: 0 passed, 0 failed, 1 skipped",
        "  1 recorded traces: not playable yet",
        "3 files: 2 passed, 0 failed, 145 skipped",
    ]


def test_a_failed_case_is_shown_and_exits_with_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = folder / "bad.jsonl"
    bad.write_text("\n".join(json.dumps({**LINE, "id": f"\x1b[31m{n}", "expected": {}}) for n in range(9)))
    assert _run(monkeypatch, bad) == 1
    out = capsys.readouterr().out
    assert f"{bad}: 0 passed, 9 failed, 0 skipped" in out
    assert '\\x1b[31m0 expected.a: expected [], got [["t", 0]]' in out
    assert "... and 13 more differences" in out
    assert _run(monkeypatch, bad, "--verbose") == 1
    assert "\\x1b[31m8 expected.b" in capsys.readouterr().out
    assert _run(monkeypatch, bad, "--format", "markdown") == 1
    assert "\\[31m0 | expected.a" in capsys.readouterr().out
    assert _run(monkeypatch, bad, folder / "deep", "--format", "json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["passed"], document["failed"], document["skipped"]) == (2, 9, 145)
    assert document["files"][0]["differences"][1] == {
        "case": "\x1b[31m0",
        "field": "expected.b",
        "expected": [],
        "got": [["t", 1]],
    }


def test_nothing_played_exits_with_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(monkeypatch, folder / "deep" / "coordinator-classic.jsonl.gz") == 1
    (folder / "empty").mkdir()
    assert _run(monkeypatch, folder / "empty") == 1
    (folder / "empty" / "empty.jsonl").write_text("")
    assert _run(monkeypatch, folder / "empty") == 1


def test_a_missing_or_unreadable_path_exits_with_2_and_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, folder / "nowhere") == 2
    assert "no such file or folder" in capsys.readouterr().err
    (folder / "x.jsonl.gz").write_text("no gzip")
    assert _run(monkeypatch, folder / "x.jsonl.gz", folder / "deep") == 2
    captured = capsys.readouterr()
    assert "good.jsonl: 2 passed" in captured.out
    assert len(captured.err.splitlines()) == 1
    assert "not gzip" in captured.err
