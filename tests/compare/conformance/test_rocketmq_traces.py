"""Traces of RocketMQ's own objects are met, every one; and a trace that is changed anywhere is noticed."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compare.conformance.cases import Difference, MalformedCase, play_file
from compare.conformance.players import PLAYERS
from compare.conformance.rocketmq_traces import COMPONENTS, steps
from compare.conformance.rocketmq_traces.steps import play_steps
from rocketmq_selfbalance.versions import VERSIONS
from tests.compare.conformance.planting import Place, at, traces, with_value
from tests.compare.conformance.test_rocketmq import TRACES, paths_in, replacements

PLAYABLE = [path for path in TRACES if next(traces(path))["component"] in COMPONENTS]


def name_of(path: Path) -> str:
    return path.name.split(".")[0]


@pytest.mark.parametrize("path", PLAYABLE, ids=name_of)
def test_every_recorded_trace_is_met(path: Path) -> None:
    result = play_file(path, PLAYERS)
    assert (result.failed, result.skipped, result.differences[:3]) == (0, 0, [])
    assert result.passed > 5


RULES_SEEN = {
    "topics_have_their_groups": "consumer_manager-p0003",
    "deleted_topic_has_no_offsets": "offset_manager-p0017",
    "pull_offsets_are_written": "offset_manager-p0001",
    "local_entries_have_lines": "offset_store-p0009",
    "no_queues_is_balanced": "rebalance-p0003",
    "no_members_is_balanced": "rebalance-p0003",
}
"""Rule to a short trace of 5.5.0 that nobody can meet without it."""


def test_a_trace_fails_without_the_rule_that_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    newest = {trace["trace_id"]: trace for path in PLAYABLE if "-5.5" in path.name for trace in traces(path)}
    for rule, number in RULES_SEEN.items():
        without = replace(VERSIONS["5.5"], **{rule: False})
        with monkeypatch.context() as patch:
            patch.setattr(steps, "rocketmq_version", lambda told, made=without: made)
            assert differences(newest[number]), rule
    elsewhere = {"orderly_reset_waits_for_listeners", "pop_goes_down"}  # tests/rocketmq_selfbalance shows them
    assert {rule.name for rule in VERSIONS.rules} == RULES_SEEN.keys() | elsewhere


@pytest.mark.parametrize("path", PLAYABLE, ids=name_of)
@pytest.mark.parametrize("every_change", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_change_of_any_kind_of_recorded_field_makes_its_trace_fail(path: Path, every_change: bool) -> None:
    """Fields in turn are set to each of the values that may stand there; or each, and those of POP, to all of them."""
    unnoticed = []
    kinds = 0
    for kind, trace, place in one_place_of_each_kind(path):
        kinds += 1
        value = at(trace, place)
        # Lists whose order means nothing may be turned around, but nothing may be missing or differ.
        others = [
            each
            for each in replacements(value)
            if not (isinstance(value, list) and isinstance(each, list) and len(value) == len(each))
        ]
        for replacement in others if every_change or "pop" in path.name else [others[kinds % len(others)]]:
            changed = with_value(trace, place, replacement)
            if not differences(changed):
                unnoticed.append((trace["trace_id"], kind, place, value, replacement))
    assert unnoticed == []
    assert kinds > 3


@pytest.mark.parametrize("path", PLAYABLE, ids=name_of)
def test_a_step_without_its_answer_or_with_an_unknown_field_fails(path: Path) -> None:
    trace = next(traces(path))
    for number, step in enumerate(trace["steps"][:20]):
        for name in ("result", "effects", "state", "step", "at_ms"):
            if name in step:
                changed = deepcopy(trace)
                del changed["steps"][number][name]
                assert differences(changed), (number, name)
        assert differences(with_value(trace, ("steps", number, "unheard_of"), 1)), number
        assert differences(with_value(trace, ("steps", number, "op"), "dance")), number


@pytest.mark.parametrize("path", [path for path in PLAYABLE if "offset_manager" in path.name], ids=name_of)
def test_the_offset_file_is_compared_by_what_it_says(path: Path) -> None:
    [number, *_], trace = next(
        ([number for number, step in enumerate(trace["steps"]) if step["op"] == "persist_and_load"], trace)
        for trace in traces(path)
        if any(step["op"] == "persist_and_load" and "T@cgx" in step["result"]["json_text"] for step in trace["steps"])
    )
    place = ("steps", number, "result", "json_text")
    text = at(trace, place)
    assert differences(with_value(trace, place, text.replace(":5}", ":6}")))
    assert differences(with_value(trace, place, text.replace('"counter":0', '"counter":1')))
    assert differences(with_value(trace, place, text.replace('"cgx":["T"]', '"cgx":["U"]')))
    assert not differences(with_value(trace, place, text.replace('["T","U"]', '["U","T"]').replace(",", ", ")))


def test_a_reset_through_the_clients_is_nothing_to_pull_consumers() -> None:
    client: dict[str, Any] = {"op": "create_client", "client": "c", "group": "g", "kind": "lite_pull", "orderly": False}
    client |= {"message_model": "CLUSTERING", "strategy": "AVG", "consume_from_where": "CONSUME_FROM_FIRST_OFFSET"}
    client |= {"consume_timestamp": None, "pull_threshold_for_topic": -1, "pull_threshold_size_for_topic": -1}
    offsets = [[["T", "a", 0], 7]]
    reset: dict[str, Any] = {"op": "reset_offset_on_client", "client": "c", "topic": "T", "offsets": offsets}
    state: dict[str, Any] = {"process_queues": [], "subscription_versions_ms": [], "local_offsets": []}
    steps = [client, {**reset, "topic_order": [], "result": None, "state": state}, {"op": "owners", "result": []}]
    trace = {"trace_id": "made", "component": "rebalance", "title": "", "config": {}}
    numbered = [{**step, "step": number, "at_ms": 0} for number, step in enumerate(steps)]
    assert differences({**trace, "steps": numbered}) == []


@pytest.mark.parametrize("way", ["stopped", "down"])
def test_a_broker_that_does_not_run_looks_for_no_silent_channels_until_it_is_back(way: str) -> None:
    topics = {"op": "register_broker", "broker": "a", "topics_and_queues": [["T", 1]]}
    away: dict[str, Any] = {"op": "unregister_broker", "broker": "a"}
    back: dict[str, Any] = topics
    if way == "down":
        away, back = ({"op": "broker_down", "broker": "a", "down": down} for down in (True, False))
    registered = {"broker_event": [["a", "CLIENT_REGISTER", "m"]], "notified": [["a", ["m"]]]}
    removed = {"broker_event": [["a", "CLIENT_UNREGISTER", "m"]]}
    steps: list[tuple[int, dict[str, Any], bool | None]] = [
        (0, topics, False),
        (0, {"op": "create_client", "client": "m", "topics": ["T"]}, False),
        (0, {"op": "poll_route", "client": "m", "result": [["T", 1]]}, False),
        (0, {"op": "heartbeat", "client": "m", "effects": registered}, True),
        (0, away, True),
        (0, {"op": "advance", "ms": 200_000}, None),
        (200_000, {"op": "brokers_scan_channels"}, True),
        (200_000, back, True),
        (200_000, {"op": "brokers_scan_channels", "effects": removed}, False),
    ]
    config = {"group": "g", "strategy": "AVG", "orderly": False, "message_model": "CLUSTERING"}
    config |= {"consume_from_where": "CONSUME_FROM_LAST_OFFSET", "notify_consumer_ids_changed": True}
    numbered = [
        {**step, "step": number, "at_ms": at, **({} if knows is None else _state_of_one_member(knows=knows))}
        for number, (at, step, knows) in enumerate(steps)
    ]
    trace = {"trace_id": "made", "component": "group", "title": "", "config": config, "steps": numbered}
    assert differences(trace) == []


def _state_of_one_member(*, knows: bool) -> dict[str, Any]:
    """Whether broker a knows the member m of its only topic."""
    ids, topics = (["m"], ["T"]) if knows else (None, None)
    told = {"client_ids_on_broker": {"a": ids}, "subscribed_topics_on_broker": {"a": topics}}
    return {"state": {"owners": [], **told, "committed": []}}


def differences(trace: dict[str, Any]) -> list[Difference]:
    try:
        return play_steps(trace, COMPONENTS[trace["component"]])
    except MalformedCase as error:
        return [Difference(trace["trace_id"], error.field, error.expected, error.got)]


def one_place_of_each_kind(path: Path) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], Place]]:
    """For each operation and each recorded field of it, whatever its position in lists: a place where it is not empty
    if there is one."""
    seen: dict[tuple[Any, ...], tuple[dict[str, Any], Place]] = {}
    for trace in traces(path):
        for number, step in enumerate(trace["steps"]):
            for name in ("result", "effects", "state"):
                if name not in step:
                    continue
                for place in paths_in(step[name], ("steps", number, name)):
                    kind = (step["op"], *(part for part in place[2:] if isinstance(part, str)), len(place))
                    if kind not in seen or (not at(*seen[kind]) and at(trace, place)):
                        seen[kind] = trace, place
    for kind, (trace, place) in seen.items():
        yield kind, trace, place


@pytest.mark.parametrize(
    ("op", "name", "damaged", "field"),
    [
        ("reset_offset_on_client", "offsets", [[["t", "b", 0], "5"]], "offsets.0.1"),
        ("reset_offset_on_client", "offsets", [["t", "b", 0]], "offsets.0"),
        ("messages_consumed", "offsets", [1, "2"], "offsets.1"),
        ("register_broker", "topics_and_queues", [["t", True]], "topics_and_queues.0.1"),
    ],
)
def test_a_damaged_list_of_a_step_is_named(op: str, name: str, damaged: object, field: str) -> None:
    trace = next(each for path in PLAYABLE for each in traces(path) if op in (step["op"] for step in each["steps"]))
    for step in trace["steps"]:
        if step["op"] == op:
            step[name] = damaged
    with pytest.raises(MalformedCase) as found:
        play_steps(trace, COMPONENTS[trace["component"]])
    assert found.value.field.startswith(field)
    assert " should " in found.value.expected
