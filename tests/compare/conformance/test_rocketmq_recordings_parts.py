"""What the comparison of RocketMQ recordings is made of."""

import json

import pytest

from compare.conformance.recordings import changed, ownership
from compare.conformance.recordings import play as play_recording
from compare.conformance.rocketmq_recordings import ROCKETMQ
from compare.conformance.rocketmq_recordings.happened import happened, inconsistent
from compare.conformance.rocketmq_recordings.reading import read
from compare.conformance.rocketmq_recordings.scenario import WARM_UP_MS, plan, run
from protocols import Queue
from protocols.scenario.events import Join, Network
from tests.compare.conformance.rocketmq_recordings import TRACES, recorded, requests_of

Q, R = Queue("T", "b", 0), Queue("T", "b", 1)


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_summaries_say_what_the_recorded_ownership_says(path: object) -> None:
    recording = read(json.loads(path.read_text()))  # type: ignore[attr-defined]
    assert inconsistent(recording, happened(recording)) == []


def test_ownership_is_told_by_changes() -> None:
    held: list[tuple[float, str, frozenset[Queue]]] = [
        (1, "a", frozenset({Q, R})),
        (3, "b", frozenset({R})),
        (4, "a", frozenset({Q})),
        (6, "a", frozenset()),
        (9, "b", frozenset({Q, R})),
    ]
    told = ownership(changed(held), 10, [Q, R])
    assert [(each.queue, each.since, each.until) for each in told.waiting] == [(Q, 0, 1), (R, 0, 1)]
    assert [(*each[:3], each.owners) for each in told.double] == [(R, 3, 4, ("a", "b"))]
    assert [each[:3] for each in told.unowned] == [(Q, 6, 9)]
    assert [tuple(each) for each in told.moves] == [(3, R, "a", "b"), (9, Q, "a", "b")]
    assert told.final == {"a": frozenset(), "b": {Q, R}}


def test_runs_begin_after_a_warm_up_and_differ_within_what_the_recording_leaves_open() -> None:
    recording = recorded("clean_shutdown_3")
    prepared = plan(read(recording))
    joins = [
        {each.join: each.at - WARM_UP_MS for each in run(prepared, number).scenario.events if isinstance(each, Join)}
        for number in range(20)
    ]
    rows = {member: requests_of(recording, member) for member in ("m1", "m2", "m3")}
    made = {member: next(row[0] for row in rows[member] if row[2] == 38) - 1000 for member in rows}
    told = {member: next(row[0] for row in rows[member] if row[2] == 34) for member in rows}
    assert all(made[member] < rows[member][0][0] for member in rows)
    assert all(made[member] <= at < told[member] for each in joins for member, at in each.items())
    assert any(at == made[member] for each in joins for member, at in each.items())
    assert len({tuple(each.items()) for each in joins}) > 10
    assert run(prepared, 7) == run(prepared, 7)


def test_a_start_takes_as_long_as_it_did_in_some_runs() -> None:
    prepared = plan(read(recorded("clean_shutdown_3")))
    [starting] = [each.starting for each in prepared.moments if each.starting and each.starting.member == "m1"]
    assert (starting.ahead, starting.asking, starting.telling) == (52, 288, 275)
    assert starting.brokers == ("broker-a", "broker-b")
    slowed = [
        [(each.between, each.for_) for each in run(prepared, number).scenario.events if isinstance(each, Network)]
        for number in range(4)
    ]
    lasted = [sum(lasts for between, lasts in each if between == ("m1",)) for each in slowed]
    assert lasted[::2] == [52, 52]
    assert 52 < lasted[1] < lasted[3] == 52 + 288 + 275
    assert (("m1", "broker-b"), 275) in slowed[1]


def test_a_broker_that_comes_back_registers_at_once_or_is_not_heard_of_for_a_while() -> None:
    prepared = plan(read(recorded("broker_clean_stop_and_back")))
    cut = [
        [
            each.between
            for each in run(prepared, number).scenario.events
            if isinstance(each, Network) and each.network == "cut"
        ]
        for number in range(20)
    ]
    assert {tuple(each) for each in cut} == {(), (("broker-b", "namesrv"),)}


def test_an_offset_may_be_asked_for_in_any_phase() -> None:
    recording = recorded("clean_shutdown_3")
    recording["rpc"] = sorted([*recording["rpc"], [31_000, "m3", 14, "broker-a"]], key=lambda row: row[0])
    assert not any(each.field.startswith("requests") for each in play_recording(ROCKETMQ, recording, 6).differences)
