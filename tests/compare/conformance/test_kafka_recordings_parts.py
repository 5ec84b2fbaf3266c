"""How recordings of Kafka clusters are read: scripts, clients, ids; what is compared leniently, and what is refused."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.conformance.cases import MalformedCase, Played
from compare.conformance.kafka_recordings import KAFKA
from compare.conformance.kafka_recordings.happened import Called, Delivery, Happened
from compare.conformance.kafka_recordings.playing import exchanged
from compare.conformance.kafka_recordings.reading import clients, read
from compare.conformance.kafka_recordings.scenario import plan
from compare.conformance.recordings import Change
from compare.conformance.recordings import play as play_recording
from protocols.java import Queue
from tests.compare.conformance.kafka_recordings import Recorded, events, later, recorded


def test_every_step_becomes_an_event_at_the_time_at_which_the_client_took_it() -> None:
    def moments(name: str) -> list[tuple[float, str]]:
        return [(moment.at, moment.name) for moment in plan(read(recorded(name))).moments]

    assert moments("leave-java-range")[3:] == [(20112.7, "the close of m2"), (30069.3, "the close of m1")]
    assert moments("crash-java-range")[3:] == [(17637.9, "the kill of m2")]
    assert moments("hang-java-coop")[3:] == [(15255.5, "m2 stopped polling"), (29257.0, "m2 polled again")]
    assert moments("grow-java-range")[2:] == [(17318.8, "grow-java-range.t got partitions")]
    assert moments("subscribe-java-coop")[2:] == [
        (17217.4, "m1 changed its subscription"),
        (27277.5, "m2 changed its subscription"),
    ]
    # m2's JoinGroup was taken up first, so it leads; the others follow in the recorded order.
    assert moments("crash-java-range")[:3] == [
        (1323.0, "the start of m2"),
        (1882.0, "the start of m3"),
        (1902.0, "the start of m1"),
    ]


def _client(kind: str, **given: Any) -> Any:
    recording = recorded("join-java-range")
    for member in recording["members"].values():
        member.update(client=kind, settings={name.replace("__", "."): value for name, value in given.items()})
    return clients(read(recording))["m1"]


def test_settings_are_read_under_each_client_s_own_names() -> None:
    java = _client("java", partition__assignment__strategy="a.b.StickyAssignor,a.b.RangeAssignor")
    assert java.strategy == "sticky,range"
    confluent = _client("confluent", topic__metadata__refresh__interval__ms="3000", auto__offset__reset="smallest")
    assert confluent.settings == {"metadata.max.age.ms": "3000", "auto.offset.reset": "earliest"}
    assert confluent.strategy == "range,roundrobin"
    python = _client(
        "kafka-python",
        session_timeout_ms="6000",
        group_instance_id="pod",
        assignors="['kafka.coordinator.assignors.sticky.StickyPartitionAssignor']",
    )
    assert (python.settings, python.strategy, python.instance_id) == ({"session.timeout.ms": "6000"}, "sticky", "pod")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda it: it.pop("members"), "members"),
        (lambda it: it["events"].pop(), "events"),
        (lambda it: it["topics"].update(t=-1), "topics.t"),
        (lambda it: it["events"][3].update(ms="soon"), "events.3.ms"),
        (lambda it: events(it, "assigned")[0].update(tp=["t"]), "events.12.tp.0"),
        (lambda it: events(it, "assigned")[0].update(member="m9"), "events.12.member"),
        (lambda it: it["events"][0].update(what="dance"), "events.0.what"),
        (lambda it: it["events"][0].update(ev="dance"), "events.0.ev"),
        (lambda it: it["events"][1].pop("member"), "events.1.member"),
        (
            lambda it: it["members"]["m1"]["settings"].update({"session.timeout.ms": "long"}),
            "members",
        ),
        (
            lambda it: it["members"]["m1"]["settings"].update({"partition.assignment.strategy": "MyAssignor"}),
            "members.m1.settings.partition.assignment.strategy",
        ),
    ],
)
def test_a_broken_recording_is_one_difference_that_names_the_field(change: Any, field: str) -> None:
    recording = recorded("join-java-range")
    change(recording)
    with pytest.raises(MalformedCase) as caught:
        play_recording(KAFKA, recording)
    assert caught.value.field == field


SMALL = json.dumps(recorded("static-java-range-close"))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in inside for found in _paths(each, (*path, key)))]


@given(
    path=st.sampled_from([path for path in _paths(json.loads(SMALL)) if path]),
    junk=st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.just("?"), st.just([]), st.just({})),
)
@settings(max_examples=60, deadline=None)
def test_whatever_is_damaged_it_is_a_difference_or_not_looked_at(path: tuple[Any, ...], junk: Any) -> None:
    recording = json.loads(SMALL)
    part = recording
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = junk
    with suppress(MalformedCase):
        assert isinstance(play_recording(KAFKA, recording), Played)


def test_partitions_in_the_same_situation_stand_for_each_other_from_then_on() -> None:
    zero, one, two = (Queue("t", "", number) for number in range(3))

    def told(given_up: Queue, gap: Queue) -> Happened:
        """m1 has them all and gives one up, which m2 gets; that one is silent meanwhile."""
        silent = Delivery(0, 10, 0, 10), Delivery(50, 60, 10, 20)
        return Happened(
            end=60.0,
            callbacks=(
                Called(1, "m1", "assigned", (zero, one, two), None),
                Called(10, "m1", "revoked", (given_up,), None),
                Called(50, "m2", "assigned", (given_up,), None),
            ),
            changes=(
                Change(1, "m1", (zero, one, two), ()),
                Change(10, "m1", (), (given_up,)),
                Change(50, "m2", (given_up,), ()),
            ),
            generations={},
            sizes={},
            beginnings={},
            state="Stable",
            described={"m2": (given_up,)},
            again={},
            silence={},
            delivered={gap: silent, **{each: (Delivery(0, 60, 0, 60),) for each in (zero, one, two) if each != gap}},
        )

    real = told(zero, zero)
    as_recorded = exchanged(told(two, two), real)
    assert (as_recorded.callbacks, as_recorded.changes) == (real.callbacks, real.changes)
    assert as_recorded.described == real.described
    assert as_recorded.silence == {zero: 40, one: 0, two: 0}
    # What another member had is not in the same situation.
    callbacks = (Called(1, "m1", "assigned", (zero, one), None), Called(1, "m2", "assigned", (two,), None))
    lost = (*callbacks, Called(10, "m1", "revoked", (zero,), None))
    other = (*callbacks, Called(10, "m2", "revoked", (two,), None))
    wrong = exchanged(replace(real, callbacks=other, changes=()), replace(real, callbacks=lost))
    assert wrong.callbacks == other


def _exchange(recording: Recorded, one: str, other: str, since: float) -> None:
    """Two partitions have changed places from a moment on."""
    names = {one: other, other: one}
    for event in recording["events"]:
        if event["ms"] >= since:
            members = event.get("g", {}).get("members", ())
            for part in (event, *members):
                for field in ("tp", "all"):
                    if field in part:
                        part[field] = sorted(names.get(each, each) for each in part[field])


def test_only_librdkafka_and_kafka_python_may_take_another_of_equal_partitions_by_their_sticky_assignors() -> None:
    crash = recorded("crash-confluent-coop")
    _exchange(crash, "crash-confluent-coop.t:1", "crash-confluent-coop.t:4", 20_000)
    assert play_recording(KAFKA, crash).differences == []
    java = recorded("leave-java-coop")
    _exchange(java, "leave-java-coop.t:1", "leave-java-coop.t:4", 18_100)
    assert play_recording(KAFKA, java).differences
    # And what was said of one partition only is not made good by an exchange.
    half = recorded("crash-confluent-coop")
    events(half, "assigned")[-1]["tp"] = ["crash-confluent-coop.t:4"]
    assert play_recording(KAFKA, half).differences


@pytest.mark.parametrize("told", [True, False], ids=["told of both", "told of the second only"])
def test_a_generation_for_nothing_of_kafka_python_s_leader_is_left_out(told: bool) -> None:
    recording = recorded("join-kafkapython-range")
    leader = events(recording, "assigned")[0]
    since = leader["ms"]
    later(recording, since, 50)
    again = [
        {**leader, "ev": "revoked", "ms": since + 10},
        {
            "ev": "broker",
            "ms": since + 11,
            "log": f"Preparing to rebalance group g in state PreparingRebalance with old generation 1 (reason: Leader "
            f"{leader['member_id']} re-joining group during Stable; client reason: not provided).",
        },
        {
            "ev": "broker",
            "ms": since + 12,
            "log": f"Assignment received from leader {leader['member_id']} for group g for generation 2. The group has "
            "1 members, 0 of which are static.",
        },
        {**leader, "ms": since + 20, "gen": 2},
    ]
    del again[0]["all"]
    for event in recording["events"]:
        if event["ms"] > since and event.get("gen", -1) > 0:
            event["gen"] += 1
        for number in (3, 2, 1):
            for words in ("old generation ", "for generation "):
                if event["ms"] > since and f"{words}{number}" in event.get("log", ""):
                    event["log"] = event["log"].replace(f"{words}{number}", f"{words}{number + 1}")
                    break
            else:
                continue
            break
    if not told:
        recording["events"].remove(leader)
        del again[0]
    recording["events"] = sorted([*recording["events"], *again], key=lambda event: event["ms"])
    wrong = {each.field.split(".")[0] for each in play_recording(KAFKA, recording).differences}
    # Only the summary, which was not counted anew, contradicts the events.
    assert wrong <= {"per_partition", "totals"}
