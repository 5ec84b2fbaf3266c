"""Example scenarios of records that are given out one by one, beside owned queues: their claims, with numbers."""

from typing import Any

import pytest

from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.spread import FETCHING
from compare.running.systems import scenario
from compare.running.variants import Variant, jittered, variants_of
from protocols.timeline.records import Given
from tests.compare.running.stories import AVG, lived, told

SHARE, UNIFORM, POP = "kafka:share", "kafka:uniform", "rocketmq:POP"
SLOW, KILLED, POISON, TWELVE = (
    "share-slow-consumer",
    "share-killed-consumer",
    "share-poison-record",
    "share-twelve-over-four",
)


def delivery(example: str, variant: str = SHARE) -> Any:
    return told(example, variant)["shared_delivery"]


def given(example: str, member: str, fate: str, variant: str = SHARE) -> list[Given]:
    return [each for each in lived(example, variant).timeline.given if (each.member, each.fate) == (member, fate)]


def test_a_slow_consumer_holds_up_its_own_records_alone() -> None:
    late = given(SLOW, "c2", "lock timeout")
    assert [each.end - each.first for each in late] == [1, 1, 1]
    assert {each.until - each.since for each in late if each.until is not None} == {30_000}
    assert (delivery(SLOW)["redeliveries"], told(SLOW, SHARE)["redelivered"]) == (3, 3)
    share = told(SLOW, SHARE)
    assert share["record_age_ms"]["p99"] < 30
    assert share["record_age_ms"]["max"] < 31_000
    assert share["harm"]["longest_stall_s"] == 0
    assert share["out_of_order"]["queue"] > 500
    for owned in (UNIFORM, AVG):
        assert told(SLOW, owned)["record_age_ms"]["p99"] > 100_000
        assert 1_200 <= told(SLOW, owned)["lag"]["peak"] < 1_210
        assert told(SLOW, owned)["fairness"]["idle_members"] == 4
        assert told(SLOW, owned)["redelivered"] == 0


def test_what_a_killed_consumer_had_comes_back_at_once() -> None:
    (back,) = given(KILLED, "c2", "session closed")
    assert back.until is not None
    assert 60_000 <= back.until < 60_100
    share = told(KILLED, SHARE)
    assert (delivery(KILLED)["redeliveries"], share["redelivered"]) == (1, 0)
    assert share["record_age_ms"]["max"] < 500
    assert share["harm"]["longest_stall_s"] == 0
    assert told(KILLED, UNIFORM)["harm"]["longest_stall_s"] == pytest.approx(45, abs=0.5)
    assert told(KILLED, AVG)["harm"]["longest_stall_s"] == pytest.approx(1.07, abs=0.1)
    assert told(KILLED, UNIFORM)["redelivered"] > told(KILLED, AVG)["redelivered"] == 3


@pytest.mark.parametrize(("code", "attempts", "again"), [("release", 5, 4), ("reject", 1, 0)])
def test_a_poisoned_record_ends_archived(code: str, attempts: int, again: int) -> None:
    variant = f"kafka:share {code}"
    found = delivery(POISON, variant)
    assert (found["redeliveries"], found["attempts"]["max"], found["ended"]["archived"]) == (again, attempts, 1)
    work = told(POISON, variant)["harm"]["work"]
    assert (work["skipped"], work["waiting"]) == (1, 0)
    assert work["lost"] == 0, "no system can save what nobody's code can handle"
    assert told(POISON, variant)["record_age_ms"]["max"] < 30


def test_a_loop_that_tries_again_in_place_stands_still_alone() -> None:
    implicit, owned = told(POISON, "kafka:share implicit"), told(POISON, UNIFORM)
    assert implicit["harm"]["stalled_queues"] == 1
    assert owned["harm"]["stalled_queues"] == 4
    (why,) = implicit["harm"]["because"]["no_progress"]
    assert (why["kind"], why["setting"].split(":")[0]) == ("owner stuck", "share.acknowledgement.mode")
    assert owned["harm"]["work"]["waiting"] > 2 * implicit["harm"]["work"]["waiting"]


def test_twelve_consumers_share_the_records_of_four_queues() -> None:
    share = told(TWELVE, SHARE)
    assert share["harm"]["work"]["waiting"] == 0
    assert share["record_age_ms"]["p99"] < 60
    assert share["out_of_order"]["queue"] > 0.9 * share["harm"]["work"]["written"]
    workers = {each.member for each in lived(TWELVE, SHARE).timeline.given}
    assert len(workers) == 12
    for owned in (UNIFORM, AVG):
        assert told(TWELVE, owned)["fairness"]["idle_members"] == 8
        assert told(TWELVE, owned)["harm"]["work"]["waiting"] > 4_000


def crowd(system: str, *events: dict[str, Any]) -> Variant:
    members = {"c1..c8": {"subscribe": ["orders"], "handle": "20ms"}}
    (variant,) = variants_of(
        scenario(
            {
                "name": "eight over four",
                "topics": {"orders": 4},
                "group": {"name": "shop", "members": members},
                "load": {"produce": "10/s"},
                "run": {"for": "90s", "seed": 2},
                "systems": [system],
                "events": list(events),
            }
        )
    )
    return variant


def test_a_share_group_begins_where_each_of_its_partitions_does() -> None:
    # Members start within 5 s; a partition begins at its end when the first member fetches from it.
    found = run_record(run_variant(jittered(crowd(SHARE))))
    assert found["harm"]["work"]["waiting"] == 0
    assert found["harm"]["work"]["written"] < 4 * 10 * 89
    assert found["harm"]["no_progress_queue_s"] == 0


def test_what_a_frozen_member_has_in_hand_stops_nobody_else() -> None:
    found = run_record(run_variant(crowd(POP, {"at": "20s", "hang": "c1", "for": "40s"})))
    assert found["record_age_ms"]["max"] > 30_000, "its own records are late"
    assert found["harm"]["no_progress_queue_s"] == 0


def test_under_pop_nobody_owns_a_queue_either() -> None:
    assert told(TWELVE, POP)["harm"]["work"]["waiting"] == 0
    assert len({each.member for each in lived(TWELVE, POP).timeline.given}) == 12
    back = [each for each in lived(KILLED, POP).timeline.given if each.fate == "client gone"]
    assert {each.member for each in back} == {"c2"}
    assert delivery(KILLED, POP)["redeliveries"] == sum(each.end - each.first for each in back) == 4
    assert told(KILLED, POP)["record_age_ms"]["max"] < 5_000
    assert delivery(POISON, POP)["attempts"]["max"] > 4
    poison = told(POISON, POP)["record_age_ms"]
    assert poison["p99"] < 1_000
    assert (poison["max"], poison["at_least"]) == (240_000, ["max"]), "the record that nobody can handle still waits"
    assert delivery(SLOW, POP)["hidden"]["max"] > 500
    assert delivery(SLOW, POP)["redeliveries"] == 0
    assert told(KILLED, POP)["messages"].keys() >= {"ReceiveMessage", "Received"} <= FETCHING
