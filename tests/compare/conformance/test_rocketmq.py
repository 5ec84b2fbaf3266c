"""RocketMQ's recorded strategy answers are met, every one; and a recording that is changed anywhere is noticed."""

import gzip
import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from compare.conformance.cases import play_file
from compare.conformance.players import PLAYERS

GOLDEN = Path(__file__).parents[2] / "golden" / "rocketmq"
STRATEGIES = sorted(GOLDEN.glob("strategies-*.jsonl.gz"))
TRACES = sorted(GOLDEN.glob("traces-*.jsonl.gz"))
SHORT = 1500  # characters of a case of which every field is changed


@pytest.mark.parametrize("path", STRATEGIES, ids=lambda path: path.name.split(".")[0])
def test_every_recorded_answer_is_met(path: Path) -> None:
    result = play_file(path, PLAYERS)
    assert (result.failed, result.skipped, result.differences[:3]) == (0, 0, [])
    assert result.passed > 300


def test_all_seven_files_are_there() -> None:
    assert len(STRATEGIES) == 7


@pytest.mark.parametrize("path", STRATEGIES, ids=lambda path: path.name.split(".")[0])
def test_a_change_of_any_recorded_field_makes_its_case_fail(path: Path, tmp_path: Path) -> None:
    planted = [changed for case in one_of_each_kind(path) for changed in with_one_change(case)]
    file = tmp_path / "planted.jsonl"
    file.write_text("\n".join(json.dumps(changed) for _, changed in planted))
    result = play_file(file, PLAYERS)
    noticed = {difference.case for difference in result.differences}
    assert [change for change, changed in planted if changed["case_id"] not in noticed] == []
    assert (result.passed, result.failed) == (0, len(planted))
    assert len(planted) > 50


def one_of_each_kind(path: Path) -> list[dict[str, Any]]:
    """Of each kind of case, and of each kind of answer in it, one that is short but not the shortest."""
    chosen: dict[tuple[str, ...], str] = {}
    with gzip.open(path, "rt") as lines:
        for line in lines:
            case = json.loads(line)
            answers = {name for call in case.get("calls", ()) for name in call if name != "current_cid"}
            key = case["kind"], *sorted(answers)
            if key not in chosen or len(chosen[key]) < len(line) < SHORT or SHORT < len(line) < len(chosen[key]):
                chosen[key] = line
    return [json.loads(line) for line in chosen.values() if len(line) < 10 * SHORT]


def with_one_change(case: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(what was changed, the case with an id of its own), once for each recorded field, changed in each way in turn."""
    for number, path in enumerate(recorded_fields(case)):
        value = case
        for step in path:
            value = value[step]
        others = replacements(value)
        replacement = others[number % len(others)]
        changed = deepcopy(case)
        holder: Any = changed
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = replacement
        change = f"{case['case_id']} {path}: {value!r} -> {replacement!r}"
        changed["case_id"] = change
        yield change, changed


def recorded_fields(case: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Paths of everything that the real code answered."""
    for name in ("strategy", "strategy_class", "construct_error", "queues_without_owner", "allocation"):
        if name in case:
            yield from paths_in(case[name], (name,))
    # A short shuffled list may be in order by chance, so that either value could be true.
    if "sorted_inputs" in case and case["kind"] != "edge_unsorted":
        yield ("sorted_inputs",)
    for number, call in enumerate(case.get("calls", ())):
        for name in ("result", "result_queues", "error"):
            if name in call:
                yield from paths_in(call[name], ("calls", number, name))


def paths_in(value: object, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths_in(inner, (*path, name))
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from paths_in(inner, (*path, number))


def replacements(value: object) -> list[object]:
    """Other values that might stand in a field's place."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, str(value), None]
    if isinstance(value, str):
        return [value + "x", value.swapcase() if value.swapcase() != value else "", None]
    if isinstance(value, list):
        shorter = [value[1:], value[:-1], value[::-1], [*value, value[-1]]] if value else [[0]]
        return [other for other in [*shorter, None] if other != value]
    if isinstance(value, dict):
        without = [{name: value[name] for name in value if name != gone} for gone in value]
        return [*without, {**value, "more": 1}, None]
    return [[], "x", 0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("params", {"unknown": 1}),
        ("params", None),
        ("strategy_class", "AllocateMessageQueueByDice"),
        ("mq_all", [["T", "b"]]),
        ("mq_all", [["T", "b", True]]),
        ("cid_all", [1]),
        ("cid_all", "c0"),
        ("calls", None),
        ("calls", [None]),
        ("calls", [{"current_cid": "c0", "result": [0], "more": 1}]),
        ("calls", []),
        ("consumer_group", 3),
        ("unheard_of", 1),
    ],
)
def test_a_line_that_can_be_no_case_fails_and_says_where(field: str, value: object, tmp_path: Path) -> None:
    with gzip.open(GOLDEN / "strategies-averagely.jsonl.gz", "rt") as lines:
        case = next(case for case in map(json.loads, lines) if case["cid_all"] == ["c0"])
    file = tmp_path / "broken.jsonl"
    file.write_text(json.dumps({**case, field: value}))
    result = play_file(file, PLAYERS)
    assert (result.passed, result.failed) == (0, 1)
    assert field in result.differences[0].field
