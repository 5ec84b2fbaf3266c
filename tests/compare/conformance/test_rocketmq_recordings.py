"""Recordings of real RocketMQ clusters: the model does what they did, and a recording that was changed is noticed."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.cli import cli
from compare.conformance.cases import play_file
from compare.conformance.players import PLAYERS
from compare.conformance.recordings import play as play_recording
from compare.conformance.rocketmq_recordings import ROCKETMQ
from compare.conformance.rocketmq_recordings.happened import Request, happened, play
from compare.conformance.rocketmq_recordings.reading import read
from compare.conformance.rocketmq_recordings.scenario import plan, run
from protocols import Queue
from rocketmq_selfbalance.messages.requests import REQUEST_CODES, LockBatchMq
from tests.compare.conformance.rocketmq_recordings import TRACES, Recorded, own, recorded, requests_of

ALL = sorted(TRACES.glob("*.json"))

FEW = 6
"""Runs with which some recordings are played here; the slow test plays all with as many as users do."""

LOCK_INTERVAL_MS, SETTLED_MS = 20_000, 30_000

QUICK = (
    "clean_shutdown_3",
    "crash_sigkill_3",
    "inconsistent_subscriptions",
    "join_moves_hash",
    "join_two_topics_seed",
    "orderly_clean_shutdown",
    "x_orderly_frozen",
)


def test_there_are_recordings() -> None:
    assert len(ALL) == 29


@pytest.mark.parametrize("name", QUICK)
def test_the_model_does_what_the_cluster_did(name: str) -> None:
    played = play_recording(ROCKETMQ, recorded(name), FEW)
    assert played.differences == []
    assert played.measures
    assert all(each.passed for each in played.measures)


@pytest.mark.parametrize("name", [path.stem for path in ALL if "orderly" in path.stem])
def test_locks_are_renewed_twice_each_time_as_by_the_cluster_s_members(name: str) -> None:
    recording = read(recorded(name))
    prepared = plan(recording)
    real, model = happened(recording).requests, play(prepared, run(prepared, 0), listen=True).requests
    assert real
    assert model
    for member in ("m1", "m2"):
        assert _usual_round(real, member) == _usual_round(model, member) == 2


def _usual_round(requests: tuple[Request, ...], member: str) -> int:
    """How many requests for locks come in the most usual round: 20 s after one of another round, when retry queues,
    which are taken late, are there."""
    times = [each.at for each in requests if each.member == member and each.code == REQUEST_CODES[LockBatchMq]]
    rounds = [sum(abs(later - at - LOCK_INTERVAL_MS) < 100 for later in times if later > SETTLED_MS) for at in times]
    return Counter(filter(None, rounds)).most_common(1)[0][0]


@pytest.mark.slow
@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_the_model_does_what_every_cluster_did(path: Path) -> None:
    result = play_file(path, PLAYERS)
    assert result.differences == []
    assert (result.passed, result.failed, result.skipped) == (1, 0, 0)


Change = Callable[[Recorded], object]

DOUBLE, UNOWNED, MOVES = "doubleOwnership", "unowned", "moves"


def _swap_codes(member: str, one: int, other: int) -> Change:
    """The first requests with these codes change places."""

    def change(recording: Recorded) -> None:
        first, second = requests_of(recording, member, one)[0], requests_of(recording, member, other)[0]
        first[2:], second[2:] = second[2:], first[2:]

    return change


def _reverse(recording: Recorded) -> None:
    rows = requests_of(recording, "m1")
    for row, kept in zip(rows, [row[2:] for row in reversed(rows)], strict=True):
        row[2:] = kept


def _lengthen(kind: str, by: int) -> Change:
    """The last interval is longer, and says so in all its fields."""

    def change(recording: Recorded) -> None:
        interval = recording[kind][-1]
        interval["to_ms"] += by
        interval["ms"] += by

    return change


def _own_later(member: str, since: float, by: float) -> Change:
    """All that the member's table shows from then on comes later, and the summary says the same."""

    def change(recording: Recorded) -> None:
        moved: dict[float, float] = {}
        for row in recording["ownership"]:
            if row["member"] == member and row["t_ms"] >= since:
                moved[row["t_ms"]] = row["t_ms"] = row["t_ms"] + by
        recording["ownership"].sort(key=lambda row: row["t_ms"])

    return change


def _give_last_queue_to_another(recording: Recorded) -> None:
    """One queue ends with another owner, in all places."""
    queue = next(each for each in recording["final"]["m4"] if not each.startswith("%"))
    own(recording, "m4", 0, queue, owns=False)
    own(recording, "m1", 1000, queue, owns=True)


CHANGES: dict[str, tuple[str, Change, str]] = {
    "final owners": ("join_moves_hash", lambda it: it["final"]["m1"].pop(), "final.m1"),
    "final owners, everywhere": ("join_moves_hash", _give_last_queue_to_another, "final.m4"),
    "receiver of a move": ("join_moves_hash", lambda it: it[MOVES][-1].update(to="m1"), MOVES),
    "giver of a move": ("join_moves_hash", lambda it: it[MOVES][-1].update(frm="m1"), MOVES),
    "time of a move": ("join_moves_hash", lambda it: it[MOVES][-1].update(t_ms=1), MOVES),
    "a move too few": ("join_moves_hash", lambda it: it[MOVES].pop(), MOVES),
    "length of an interval": ("clean_shutdown_3", lambda it: it[DOUBLE][-1].update(ms=9), f"{DOUBLE}.6.ms"),
    "end of double ownership": ("clean_shutdown_3", _lengthen(DOUBLE, 3000), DOUBLE),
    "end of a time without owner": ("clean_shutdown_3", _lengthen(UNOWNED, 3000), UNOWNED),
    "owners of double ownership": ("clean_shutdown_3", lambda it: it[DOUBLE][0].update(owners=["m1", "m3"]), DOUBLE),
    "an interval too few": ("clean_shutdown_3", lambda it: it[UNOWNED].pop(), UNOWNED),
    "everything that m3 takes over is later": (
        "clean_shutdown_3",
        _own_later("m3", 32_000, 9_000),
        "longest_unowned_ms",
    ),
    "the table of m2 is emptied much later": (
        "clean_shutdown_3",
        _own_later("m2", 36_000, 9_000),
        "longest_double_owned_ms",
    ),
    "records consumed twice": (
        "clean_shutdown_3",
        lambda it: it["messages"].update(consumedMoreThanOnce=1),
        "messages.consumedMoreThanOnce",
    ),
    "deliveries": ("clean_shutdown_3", lambda it: it["messages"].update(deliveries=9), "messages.deliveries"),
    "heartbeats before routes": ("join_moves_hash", _swap_codes("m1", 105, 34), "requests.m1.order"),
    "offsets before members": ("join_moves_hash", _swap_codes("m1", 38, 14), "requests.m1.order"),
    "rounds of the brokers": (
        "join_moves_hash",
        lambda it: [row.__setitem__(3, "broker-b") for row in requests_of(it, "m5", 34)],
        "requests.m5.round",
    ),
    "leave-taking of one broker only": (
        "clean_shutdown_3",
        lambda it: it["rpc"].remove(requests_of(it, "m1", 35)[-1]),
        "requests.m1.1.leave",
    ),
    "leave-taking of somebody who stays": (
        "clean_shutdown_3",
        lambda it: requests_of(it, "m3", 34)[0].__setitem__(2, 35),
        "requests.m3.kinds in phase 0",
    ),
    "requests backwards": ("clean_shutdown_3", _reverse, "requests.m1."),
    "times of requests": ("clean_shutdown_3", lambda it: it["rpc"].reverse(), "rpc"),
    "an unknown code": ("clean_shutdown_3", lambda it: it["rpc"][0].__setitem__(2, 999), "rpc.0"),
}


@pytest.mark.parametrize(("name", "change", "field"), CHANGES.values(), ids=CHANGES)
def test_a_changed_recorded_value_is_noticed(name: str, change: Change, field: str) -> None:
    recording = recorded(name)
    change(recording)
    assert any(each.field.startswith(field) for each in play_recording(ROCKETMQ, recording, 3).differences)


BROKEN: dict[str, Any] = {
    "t_ms": ("ownership.0.t_ms", lambda it: it["ownership"][0].update(t_ms="soon")),
    "queue": ("ownership.3.owned.0", lambda it: it["ownership"][3].update(owned=["TClean:1"])),
    "no members": ("members", lambda it: it.update(members=[])),
    "no topics": ("topics", lambda it: it.update(topics={})),
    "stranger": ("rpc", lambda it: it["rpc"][0].__setitem__(1, "m9")),
    "unknown action": ("actions.0.action", lambda it: it["actions"][0].update(action="dance")),
    "nobody's action": ("actions.0.member", lambda it: it["actions"][0].pop("member")),
    "unknown strategy": ("members", lambda it: it["members"][0].update(strategy="BEST")),
    "unknown release": ("settings.version", lambda it: it["settings"].update(version="9.9.9")),
    "wrong setting": ("members", lambda it: it["settings"].update(heartbeatIntervalMs=-1)),
    "no messages": ("messages", lambda it: it.pop("messages")),
    "action after the end": ("actions", lambda it: it["actions"][-1].update(t_ms=99_999)),
    "numbers for lists": ("moves", lambda it: it.update(moves=7)),
}


@pytest.mark.parametrize(("field", "change"), BROKEN.values(), ids=BROKEN)
def test_a_broken_recording_is_one_difference(field: str, change: Change, tmp_path: Path) -> None:
    recording = recorded("clean_shutdown_3")
    change(recording)
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(recording))
    result = play_file(path, PLAYERS)
    assert (result.passed, result.failed, result.skipped) == (0, 1, 0)
    [difference] = result.differences
    assert difference.field == field
    assert "Error" not in str(difference.got)


def test_every_kind_of_action_happens_in_the_model() -> None:
    recording = recorded("subscribe_at_run_time")
    recording["actions"] += [
        {"t_ms": 50_000, "action": "unsubscribe", "member": "m1", "topic": "TSubB"},
        {"t_ms": 52_000, "action": "SIGKILL", "member": "m2"},
        {"t_ms": 54_000, "action": "start", "member": "m2"},
        {"t_ms": 56_000, "action": "stopBroker", "broker": "broker-a", "signal": "SIGKILL"},
        {"t_ms": 58_000, "action": "startBroker", "broker": "broker-a"},
        {"t_ms": 60_000, "action": "SIGSTOP", "member": "m2"},
        {"t_ms": 62_000, "action": "SIGCONT", "member": "m2"},
        {"t_ms": 64_000, "action": "resetChannels", "member": "m1", "addrs": ["127.0.0.1:1"]},
        {"t_ms": 66_000, "action": "updateTopic", "topic": "TSubA", "queues": {"broker-a": 1, "broker-b": 1}},
        {"t_ms": 68_000, "action": "shutdown", "member": "m2"},
    ]
    prepared = plan(read(recording))
    happened = play(prepared, run(prepared, 0), listen=True)
    final = happened.ownership.final
    assert final["m2"] == frozenset()
    assert final["m1"] >= {Queue("TSubA", "broker-a", 0), Queue("TSubA", "broker-b", 0)}
    assert not any(queue.topic == "TSubB" for queue in final["m1"])
    assert happened.requests is not None
    codes = [each.code for each in happened.requests if each.member == "m2"]
    assert codes.count(35) == 4
    assert codes.index(35) > codes.index(105)


def test_each_measured_value_is_told_beside_the_model_s() -> None:
    played = play_recording(ROCKETMQ, recorded("inconsistent_subscriptions"), FEW)
    told = {each.quantity: each for each in played.measures}
    assert told["never_owned"].real == ["TIncA|broker-b|1", "TIncB|broker-a|0", "TIncB|broker-a|1", "TIncB|broker-b|0"]
    assert told["never_owned"].model == told["never_owned"].real
    assert told["never_owned"].allowed == f"equal; so it is in {FEW} of {FEW} runs"
    assert told["moves"].allowed == [0, 0]
    assert told["requests.m1.order"].real == ["105", "34", "40", "38", "14"]


@pytest.mark.slow
def test_verbose_and_json_show_the_table() -> None:
    path = str(TRACES / "inconsistent_subscriptions.json")
    shown = CliRunner().invoke(cli, ["conformance", path, "--verbose"])
    assert shown.exit_code == 0
    assert "longest_double_owned_ms" in shown.output
    document = json.loads(CliRunner().invoke(cli, ["conformance", path, "--format", "json"]).output)
    assert document["passed"] == 1
