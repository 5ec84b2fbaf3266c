"""Traces of Kafka's real coordinator are met, every one; and a trace that is changed anywhere is noticed."""

import dataclasses
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compare.conformance import kafka_coordinator
from compare.conformance.cases import Difference, MalformedCase, play_file
from compare.conformance.kafka_coordinator import play, recognises
from compare.conformance.players import PLAYERS
from kafka_coordinator.coordinator import join
from kafka_coordinator.messages import ConsumerGroupHeartbeat
from kafka_coordinator.versions import VERSIONS
from tests.compare.conformance.planting import Place, noticed, plants, traces, with_value


class IllegalStateException(Exception):  # noqa: N818 - the name of the one that Kafka's code throws
    """What a model might raise in the place of an answer."""


GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"
CLASSIC = GOLDEN / "coordinator-classic.jsonl.gz"
HARD = GOLDEN / "coordinator-classic-hard.jsonl.gz"
CONSUMER = GOLDEN / "coordinator-consumer.jsonl.gz"
SHARE, NEW_SHARE = GOLDEN / "coordinator-share.jsonl.gz", GOLDEN / "coordinator-share-4.4.jsonl.gz"


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("classic", 144),
        ("classic-hard", 6),
        ("consumer", 130),
        ("hard-2", 42),
        ("classic-4.4", 138),
        ("consumer-4.4", 313),
        ("stories", 101),
        ("random", 8),
        ("share", 121),
        ("share-4.4", 212),
    ],
)
def test_every_trace_is_met_by_the_version_that_it_names(name: str, count: int) -> None:
    result = play_file(GOLDEN / f"coordinator-{name}.jsonl.gz", PLAYERS)
    assert result.differences == []
    assert (result.passed, result.failed, result.skipped) == (count, 0, 0)


RULES_SEEN = {
    "groups_begin_at_one": 27,
    "assignment_interval": 57,
    "emptied_group_starts_anew": 49,
    "cuts_to_subscription": 52,
    "revoked_at_old_epoch": 15,
    "own_partitions_are_free": 52,
    "epoch_zero_is_never_fenced": 77,
    "pattern_taken_away_raises_epoch": 72,
    "partition_epochs": 27,
    "replacing_resets_partition_epochs": 97,
    "describes_pending": 82,
    "classic_rejoins_for_target": 95,
    "disabled_policy_refuses_classic": 90,
    "downgrades_without_target": 95,
    "replacement_downgrades_first": 100,
}
"""Rule to the number of a short trace of 4.4.0 that nobody can meet without it."""
SHARE_RULES_SEEN = {
    "subscribed_alone_raise_share_epoch": 4,
    "initialize_retry_is_a_setting": 45,
    "altering_makes_share_group": 47,
    "known_topics_grow_from_zero": 12,
}


def test_a_trace_fails_without_the_rule_that_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = {trace["trace_id"]: trace for trace in traces(GOLDEN / "coordinator-consumer-4.4.jsonl.gz")}
    scripts |= {trace["trace_id"]: trace for trace in traces(NEW_SHARE)}
    seen = [(rule, "consumer", number) for rule, number in RULES_SEEN.items()]
    for rule, kind, number in [*seen, *[(rule, "share", number) for rule, number in SHARE_RULES_SEEN.items()]]:
        without = dataclasses.replace(VERSIONS["4.4"], **{rule: False})
        with monkeypatch.context() as patch:
            patch.setattr(kafka_coordinator, "kafka_version", lambda told, made=without: made)
            assert play(scripts[f"pub44-{kind}-script-{number:03}"]), rule
    unseen = {"assignor_change_raises_epoch", "static_return_finds_room", "malformed_subscription_is_inconsistent"}
    unseen.add("simple_has_wishes")  # of share groups: the vectors of their assignor show it
    # Of the wire: recorded answers of 4.4.0 show them (`tests/kafka_coordinator/wire`).
    unseen |= {"refuses_unknown_by_name", "rejoining_renames_instance", "group_settings_have_synonyms"}
    unseen |= {"cordoned_directories", "group_bounds_are_ranges"}
    names = {rule.name for rule in VERSIONS.rules if not rule.name.startswith("share_")}
    assert names == RULES_SEEN.keys() | SHARE_RULES_SEEN.keys() | unseen | {"classic_member_has_no_pattern"}


def test_one_recorded_heartbeat_was_refused_for_a_field_that_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    completed: list[tuple[str, int]] = []
    complete = kafka_coordinator.with_blank_rack

    def counted(request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeat:
        made = complete(request)
        if made != request:
            completed.append((trace["scenario"], request.correlation))
        return made

    monkeypatch.setattr(kafka_coordinator, "with_blank_rack", counted)
    for trace in traces(CONSUMER):
        play(trace)
    assert completed == [("invalid_requests", 8)]


# --- planted errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("every_change", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_change_of_any_kind_of_recorded_field_makes_its_trace_fail(every_change: bool) -> None:
    """Fields in turn are set to each of the values that may stand there, and removed; or each in all of these ways."""
    seen: set[tuple[str, ...]] = set()
    unnoticed: list[tuple[str, Place, Any]] = []
    every = itertools.chain(*map(traces, (CLASSIC, HARD, CONSUMER, SHARE, NEW_SHARE)))
    for kind, place, what, plant in plants(every, every_change):
        seen.add(kind)
        if not noticed(play, plant):
            unnoticed.append((plant["trace_id"], place, what))
    assert unnoticed == []
    told = {name for kind in seen for name in kind}
    assert {"resp", "completed", "state", "timeline", "member_order", "pending_sync", "completed_at_step"} <= told
    assert len(seen) > 500


def _refusals() -> Iterator[tuple[dict[str, Any], Place]]:
    """Traces, each with the place of an answer to a pending id that came with an instance id."""
    for trace in traces(HARD):
        for number, step in enumerate(trace["steps"]):
            if step.get("resp", {}).get("error") == "UNKNOWN_SERVER_ERROR":
                yield trace, ("steps", number, "resp")


def test_an_answer_of_the_model_is_never_taken_for_an_exception() -> None:
    refusals = list(_refusals())
    assert len(refusals) == 8
    for trace, place in refusals:
        for thrown in ("IllegalStateException", "NullPointerException"):
            plant = with_value(trace, place, {"error": "UNKNOWN_SERVER_ERROR", "exception": thrown})
            assert {each.field for each in play(plant)} >= {f"steps[{place[1]}].resp.exception"}


@pytest.mark.parametrize("thrown", [IllegalStateException, KeyError, RecursionError])
def test_a_model_that_raises_fails_the_case_whatever_was_recorded(
    thrown: type[Exception], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*args: Any) -> None:
        raise thrown("planted")

    monkeypatch.setattr(join, "remove_pending", fails)
    monkeypatch.setattr(join, "_add", fails)
    trace = next(trace for trace in traces(HARD) if any(step["op"] == "join_group" for step in trace["steps"]))
    number = next(n for n, step in enumerate(trace["steps"]) if step["op"] == "join_group" and step.get("pending"))
    # Cut where the model raises, so that nothing but what was recorded there can be met or missed.
    trace["steps"] = trace["steps"][: number + 1]
    step = trace["steps"][number]
    step.pop("pending")
    step.pop("completed_at_step", None)
    step["resp"] = {"error": "UNKNOWN_SERVER_ERROR", "exception": thrown.__name__}
    path = tmp_path / "planted.jsonl"
    path.write_text(json.dumps(trace))
    result = play_file(path, PLAYERS)
    assert (result.passed, result.failed) == (0, 1)
    [difference] = result.differences
    assert thrown.__name__ in str(difference.got)


@pytest.mark.parametrize("number_of_trace", range(0, 144, 48))
def test_a_change_anywhere_in_a_trace_is_noticed_where_it_is(number_of_trace: int) -> None:
    trace = list(traces(CLASSIC))[number_of_trace]
    for number, step in enumerate(trace["steps"]):
        if isinstance(step.get("state"), dict) and step["state"].get("g"):
            place: Place = ("steps", number, "state", "g", "generation")
            [difference] = play(with_value(trace, place, 77))
            generation = step["state"]["g"]["generation"]
            path = f"steps[{number}].state.g.generation"
            assert difference == Difference(trace["trace_id"], path, 77, generation)


def test_an_id_that_the_coordinator_made_up_must_have_the_right_prefix() -> None:
    trace = next(traces(CLASSIC))
    trace["ids"]["m1"] = "d" + trace["ids"]["m1"][1:]
    assert play(trace)


def test_two_ids_exchanged_change_the_order_of_members() -> None:
    changed = 0
    for trace in list(traces(CLASSIC))[::4]:
        if len(trace["ids"]) < 3:
            continue
        first, second, *_ = trace["ids"]
        ids = trace["ids"]
        ids[first], ids[second] = ids[second], ids[first]
        changed += bool(play(trace))
    assert changed > 12


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"steps": {}}, "steps"),
        ({"config": {"group.max.sise": 3}}, "config"),
        ({"ids": {"m1": 3}}, "m1"),
        ({"extra": 1}, "extra"),
        ({"steps": [{"op": "dance", "req": {}}]}, "op"),
        ({"steps": [{"op": "join_group", "req": {"group_id": "g"}}]}, "req"),
        ({"steps": [{"op": "heartbeat", "req": {}, "note": ""}]}, "note"),
    ],
)
def test_a_damaged_trace_is_ours_and_says_what_is_wrong(change: dict[str, Any], field: str) -> None:
    trace = {**next(traces(CLASSIC)), **change}
    assert recognises(trace)
    with pytest.raises(MalformedCase) as raised:
        play(trace)
    assert field in raised.value.field
