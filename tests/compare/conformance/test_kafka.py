"""Kafka's assignor vectors: the vendored ones pass, and whatever is planted in them or damaged fails."""

import copy
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.conformance.cases import FileResult, MalformedCase, play_file
from compare.conformance.kafka_assignors import ASSIGNORS, metadata, play
from compare.conformance.players import PLAYERS
from kafka_coordinator.assignors.uniform import topic_order
from protocols.java import string_entry_order, string_hash
from tests.compare.conformance.one_line import LINE
from tests.compare.conformance.planting import Place, at, with_value
from tests.compare.conformance.test_rocketmq import paths_in, replacements

GOLDEN = Path(__file__).parents[2] / "golden"
KINDS = tuple(ASSIGNORS)
HARD = ("client-sticky-hard", "client-cooperative-sticky-hard")
FILES = (*KINDS, *HARD)
EVERY = dict.fromkeys(KINDS, 160) | dict.fromkeys(HARD, 24)
"""Plants are tried in every so many lines of a file, and in those with an error or with withheld partitions."""

MOST_IN_A_BIN = 8
"""Java's map makes a tree of a bin with more keys; its order is not modelled (`protocols.java`)."""


def _file(kind: str) -> Path:
    return GOLDEN / "kafka" / f"assignors-{kind}.jsonl.gz"


def _lines(kind: str) -> Iterator[dict[str, Any]]:
    with gzip.open(_file(kind)) as lines:
        yield from map(json.loads, lines)


def _played(folder: Path, *lines: Any) -> FileResult:
    path = folder / "cases.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines))
    return play_file(path, PLAYERS)


@pytest.mark.parametrize("kind", FILES)
def test_every_vector_passes(kind: str) -> None:
    result = play_file(_file(kind), PLAYERS)
    assert result.differences == []
    assert (result.failed, result.skipped) == (0, 0)
    assert result.passed > (160 if kind in HARD else 1900)


@pytest.mark.parametrize("version", ["", "-4.4"])
def test_the_assignor_of_share_groups_answers_as_recorded_and_no_wrong_expectation_passes(
    version: str, tmp_path: Path
) -> None:
    path = _file(f"server-simple{version}")
    result = play_file(path, PLAYERS)
    assert result.differences == []
    assert (result.passed, result.failed, result.skipped) == (1508, 0, 0)
    planted = []
    for line in islice(_lines(f"server-simple{version}"), 0, None, 40):
        if "expected" in line:
            member = next(iter(line["expected"]), "nobody")
            planted.append(line | {"expected": line["expected"] | {member: [["t0", 99]]}})
        planted.append(
            {name: value for name, value in line.items() if name != "expected"} | {"expected_error": "Other"}
        )
    result = _played(tmp_path, *planted)
    assert (result.passed, result.failed) == (0, len(planted))


@pytest.mark.parametrize("kind", HARD)
def test_the_hard_vectors_hand_out_what_is_gone_and_what_somebody_has(kind: str) -> None:
    gone = twice = 0
    for line in _lines(kind):
        given = [tuple(each) for own in line.get("expected", {}).values() for each in own]
        gone += any(number >= line["topics"][topic] for topic, number in given)
        twice += len(set(given)) < len(given)
    assert gone > 100
    assert twice > 80


@pytest.mark.parametrize("kind", FILES)
def test_the_recorded_orders_are_those_of_our_own_java_maps(kind: str) -> None:
    for line in _lines(kind):
        ids = [member["id"] for member in line["members"]]
        if max(Counter(map(string_hash, ids)).values(), default=0) > MOST_IN_A_BIN:
            assert sorted(ids) == sorted(line["member_order"])
            continue
        assert string_entry_order(ids) == line["member_order"]
        if line.get("topic_order"):
            group = metadata(line)
            assert topic_order(group, group.members[0].topics) == list(group.topic_order or ())


# --- planted errors -------------------------------------------------------------------------------------------------


RESULTS = ("expected", "expected_error", "withheld", "quirk", "subscription_type", "same_with_long_lived_instance")


def _plants(line: dict[str, Any], turn: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is wrong now, and the line with one recorded result changed: of each kind of field one, to two of the values
    that may stand there in turn; or with a result too many, or of the other sort."""
    seen: set[tuple[object, ...]] = set()
    for place in (place for name in RESULTS if name in line for place in paths_in(line[name], (name,))):
        named = len(place) == 4 or (place[0] == "withheld" and isinstance(place[-1], str))
        kind = place[0], len(place), place[-1] if named else None
        others = [each for each in replacements(at(line, place)) if not _is_the_same(place, at(line, place), each)]
        if kind not in seen and others:
            seen.add(kind)
            at_turn = (turn + len(seen)) % len(others)
            for other in (others * 2)[at_turn : at_turn + 2]:
                yield f"{other} at {place}", with_value(line, place, other)
    rest = {name: value for name, value in line.items() if name not in ("expected", "expected_error")}
    if "expected_error" in line:
        yield "an answer where the real assignor throws", {**rest, "expected": {}, "withheld": []}
    else:
        yield "an error where the real assignor answers", {**rest, "expected_error": "NullPointerException"}
        yield "a member too many", {**line, "expected": {**line["expected"], "nobody": [["t", 0]]}}
        held = {"partition": ["t", 999], "new_owner": "m", "claimed_by": []}
        yield "a withheld partition too many", {**line, "withheld": [*line.get("withheld", ()), held]}
    if "quirk" not in line:
        yield "a quirk", {**line, "quirk": ["crash"]}


def _is_the_same(place: Place, value: Any, other: Any) -> bool:
    """Whether another value says the same: lists have no order, who is missing owns nothing, and what else is said of a
    withheld partition is not read."""
    if isinstance(value, list) and isinstance(other, list):
        return sorted(map(str, value)) == sorted(map(str, other))
    if not isinstance(value, dict) or not isinstance(other, dict):
        return False
    return "more" in other if place[0] == "withheld" else {**{name: [] for name in value}, **other} == value


@pytest.mark.parametrize("kind", FILES)
def test_planted_errors_fail(kind: str, tmp_path: Path) -> None:
    names: list[str] = []
    plants: list[dict[str, Any]] = []
    with_withheld = [line for line in _lines(kind) if line.get("withheld") or "expected_error" in line][:10]
    for turn, line in enumerate([*list(_lines(kind))[:: EVERY[kind]], *with_withheld]):
        if len(line["members"]) <= 20:
            for what, plant in _plants(line, turn):
                plant["id"] = f"{len(names)}: {line['id']} with {what}"
                names.append(plant["id"])
                plants.append(plant)
    result = _played(tmp_path, *plants)
    assert set(names) - {difference.case for difference in result.differences} == set()
    assert (result.passed, result.failed) == (0, len(plants))
    assert len(plants) > 100


def test_a_member_missing_in_the_answer_owns_nothing(tmp_path: Path) -> None:
    line = next(each for each in _lines("client-range") if [] in each["expected"].values())
    line["expected"] = {member: partitions for member, partitions in line["expected"].items() if partitions}
    assert _played(tmp_path, line).passed == 1


# --- damaged lines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "field", "text"),
    [
        ({"assignor": "client-best"}, "assignor", "one of client-range, "),
        ({"assignor": None}, "assignor", "a valid string"),
        ({"id": 7}, "id", "a valid string"),
        ({"topics": {"t": -1}}, "topics.t", "greater than or equal to 0"),
        ({"topics": [["t", 1]]}, "topics", "a valid dictionary"),
        ({"members": [{"topics": ["t"]}]}, "members.0.id", "Field required"),
        ({"members": ["a"]}, "members.0", "a valid dictionary"),
        ({"members": [{"id": "a", "topics": ["t"]}] * 2}, "members.1.id", "an id that no other member has"),
        ({"member_order": ["a"]}, "member_order", "each member's id once"),
        ({"expected": {"a": [["t", "0"]]}}, "expected.a.0.1", "a valid integer"),
        ({"expected": {"a": 1}}, "expected.a", "a valid list"),
        ({"expected_error": "E"}, "expected", "either it or expected_error"),
        ({"partition_racks": {"t": [["r"]]}}, "partition_racks.t", "racks for each of the topic's partitions"),
        ({"assignor": "server-range"}, "topic_ids", "an id of topic 't'"),
        ({"assignor": "server-range", "topic_ids": {"t": "?"}}, "topic_ids.t", "16 bytes as base64"),
        ({"assignor": "server-range", "topic_ids": {}}, "topic_ids", "an id of topic 't'"),
        ({"assignor": "client-cooperative-sticky"}, "withheld", "the partitions that are held back"),
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


def test_a_line_of_no_known_kind_fails_among_others(tmp_path: Path) -> None:
    result = _played(tmp_path, LINE, {"id": "x", "colour": "red"})
    assert (result.passed, result.failed) == (1, 1)
    assert result.differences[0].case == "x"
    assert "Kafka assignor vectors" in result.differences[0].expected


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
    line = copy.deepcopy(data.draw(st.sampled_from(_small())))
    *path, last = data.draw(st.sampled_from(list(_places(line))))
    holder = line
    for key in path:
        holder = holder[key]
    holder[last] = data.draw(JSON)
    for each in PLAYERS:
        each.recognises(line)
    with suppress(MalformedCase):
        play(line)


@cache
def _small() -> list[dict[str, Any]]:
    return [line for kind in KINDS for line in list(_lines(kind))[7::97] if len(line["members"]) < 5]
