"""Example scenarios of operating a group (deploys, scaling, outages, wrong settings): their claims, with numbers."""

from collections import Counter
from typing import Any

import pytest

from protocols.facts import RebalanceBegan
from tests.compare.running.stories import lived, told

INFINITY = float("inf")


def owned(example: str, variant: str, at: float) -> dict[str, list[str]]:
    """Member to the queues (broker and number) that it owned at a time, in seconds; retry topics are left out."""
    found: dict[str, list[str]] = {}
    for each in lived(example, variant).timeline.beliefs:
        lasts = each.since <= at * 1000 < (INFINITY if each.until is None else each.until)
        if lasts and each.queue.topic[0] != "%":
            found.setdefault(each.member, []).append(f"{each.queue.broker} {each.queue.number}".strip())
    return {member: sorted(queues) for member, queues in found.items()}


def counts(example: str, variant: str, at: float) -> dict[str, int]:
    return {member: len(queues) for member, queues in owned(example, variant, at).items()}


def handled(example: str, variant: str, **wanted: Any) -> list[tuple[int, int, float]]:
    """First and last offset and when (seconds) of what was handled in runs without a gap, in the order of time."""
    runs: list[tuple[int, int, float]] = []
    for each in lived(example, variant).timeline.deliveries:
        if all(getattr(each, name) == value for name, value in wanted.items()) and each.queue.number == 0:
            if runs and runs[-1][1] == each.first:
                runs[-1] = (runs[-1][0], each.end, runs[-1][2])
            else:
                runs.append((each.first, each.end, each.since / 1000))
    return runs


def moment(example: str, variant: str, at: float) -> dict[str, Any]:
    """What the events of that time led to."""
    (found,) = [each for each in told(example, variant)["after"] if each["at_s"] == at]
    return dict(found)


# A rebalance storm

STORM = "kafka:cooperative-sticky"


def test_one_hang_starts_a_storm_that_never_ends() -> None:
    found = told("rebalance-storm", STORM)
    assert (found["rebalances"], found["lag"]["peak"], found["lag"]["drain_s"]) == (42, 14_559, None)
    assert found["lag"]["peak_s"] == 900
    timeline = lived("rebalance-storm", STORM).timeline
    times = Counter((each.queue, offset) for each in timeline.deliveries for offset in range(each.first, each.end))
    assert max(times.values()) == 41
    assert 8 * len(times) < sum(times.values()), "most of the work is done in vain"
    began = [each.now / 1000 for each in timeline.facts if isinstance(each.fact, RebalanceBegan)]
    assert began[-1] > 850


def test_the_storm_begins_with_a_poll_that_takes_longer_than_its_interval() -> None:
    timeline = lived("rebalance-storm", STORM).timeline
    began = [(each.now / 1000, each.fact.trigger) for each in timeline.facts if isinstance(each.fact, RebalanceBegan)]
    (session, trigger), (left, why) = began[1:3]
    assert trigger == "session of c1 timed out"
    assert 102 < session < 105
    assert why == "c2 left"
    taken = owned("rebalance-storm", STORM, 110)["c2"]
    since = max(each.since for each in timeline.beliefs if each.member == "c2" and each.since < 110_000) / 1000
    assert (len(taken), left - since) == (2, pytest.approx(20, abs=0.1))
    first = [each for each in timeline.deliveries if each.member == "c2" and 105_000 < each.since < 106_000]
    busy = (max(each.until for each in timeline.deliveries if each.member == "c2" and each.until < 130_000)) / 1000
    assert first
    assert 24 < busy - since < 24.5


def test_nothing_is_committed_in_the_storm() -> None:
    accepted = [each.at for each in lived("rebalance-storm", STORM).timeline.commits if not each.error]
    assert max(accepted) < 170_000
    polls = [
        each.until - each.since
        for each in lived("rebalance-storm", STORM).timeline.deliveries
        if each.since > 200_000 and each.until is not None
    ]
    assert max(polls) <= 50_001


@pytest.mark.parametrize("remedy", ["fewer records per poll", "a longer interval"])
def test_the_group_settles_where_a_poll_fits_into_the_interval(remedy: str) -> None:
    found = told("rebalance-storm", remedy)
    assert (found["rebalances"], found["lag"]["peak"]) == (4, 248)
    assert found["lag"]["drain_s"] < 60
    assert all(check["held"] for check in found["checks"])
    assert counts("rebalance-storm", remedy, 899) == {"c1": 1, "c2": 1, "c3": 1, "c4": 1}


# A rolling deploy

DEPLOY = "kubernetes-rolling-deploy"


def test_cooperative_rebalances_last_until_the_next_pod_goes() -> None:
    found = told(DEPLOY, "kafka:cooperative-sticky")
    assert 91.5 < found["longest_gap_s"] < 92.5
    assert found["lag"]["peak"] == 2_476
    assert 180 < found["lag"]["drain_s"] < 240
    lasted = [each["ended_s"] - each["began_s"] for each in found["causes"] if each["ended_s"] and each["began_s"] > 65]
    assert max(lasted) > 30
    deliveries = lived(DEPLOY, "kafka:cooperative-sticky").timeline.deliveries
    polls = [each.until - each.since for each in deliveries if each.until is not None and each.since > 200_000]
    assert max(polls) > 35_000


def test_rocketmqs_members_share_anew_without_waiting() -> None:
    avg, circle = told(DEPLOY), told(DEPLOY, "rocketmq:AVG_BY_CIRCLE")
    for found in (avg, circle):
        assert found["rebalances"] == 13
        assert 0.9 < found["longest_gap_s"] < 1.1
        assert 0 < found["double_owned_queue_s"] < 40
        assert 0 < found["redelivered"] < 200
        assert found["lag"]["drain_s"] < 4
    assert circle["moves"] > 1.9 * avg["moves"]


# More members than queues

SCALE = "scale-out-beyond-queues"
SCALED = ("kafka:range", "kafka:cooperative-sticky", "rocketmq:AVG")


@pytest.mark.parametrize("variant", SCALED)
def test_members_beyond_the_queues_own_nothing_until_one_is_needed(variant: str) -> None:
    assert sorted(counts(SCALE, variant, 59).values()) == [1, 1, 2, 2]
    assert sorted(counts(SCALE, variant, 179).values()) == [1] * 6
    for idle in ("c07", "c08", "c09", "c10"):
        assert idle not in counts(SCALE, variant, 239)
    assert moment(SCALE, variant, 180)["moves"] == 0
    assert moment(SCALE, variant, 180)["fairness"]["idle_members"] == 4
    assert sorted(counts(SCALE, variant, 359).values()) == [1] * 6
    assert "c07" in counts(SCALE, variant, 359)
    assert told(SCALE, variant)["fairness"]["idle_members"] == 3


def test_who_stands_by_takes_over_when_the_crash_is_noticed() -> None:
    for variant in SCALED[:2]:
        assert 42 < moment(SCALE, variant, 240)["longest_gap_s"] < 46
    assert moment(SCALE, "rocketmq:AVG", 240)["longest_gap_s"] < 0.1


# One instance id twice

TWICE = "duplicate-instance-id"


@pytest.mark.parametrize("variant", ["kafka:range", "kafka:cooperative-sticky"])
def test_each_start_fences_the_other_replica_without_a_rebalance(variant: str) -> None:
    found = told(TWICE, variant)
    assert found["rebalances"] == 1
    holders = [set(owned(TWICE, variant, at)) - {"c2"} for at in (59, 89, 119, 299)]
    assert holders == [{"c1"}, {"c3"}, {"c1"}, {"c3"}]
    assert {len(owned(TWICE, variant, at)["c2"]) for at in (59, 89, 119, 299)} == {2}
    assert found["redelivered"] == 2 * (20 + 25 + 25)
    refused = {each.error for each in lived(TWICE, variant).timeline.commits if each.error}
    assert refused == {"FENCED_INSTANCE_ID"}


def test_an_instance_id_means_nothing_to_rocketmq() -> None:
    assert sorted(counts(TWICE, "rocketmq:AVG", 299).values()) == [1, 1, 2]
    assert told(TWICE)["redelivered"] == 0


# A topic appears

APPEARS = "pattern-topic-appears"


def test_a_topic_is_noticed_at_the_metadata_age_and_read_from_where_the_reset_says() -> None:
    for variant, since, first in (
        ("latest", 300, 1025),
        ("earliest", 300, 0),
        ("latest, metadata of 10 s", 100, 25),
    ):
        deliveries = [each for each in lived(APPEARS, variant).timeline.deliveries if each.queue.topic == "orders-us"]
        assert {each.queue.number for each in deliveries} == {0, 1, 2, 3}
        assert since < min(each.since for each in deliveries) / 1000 < since + 0.2
        for number in range(4):
            offsets = [each.first for each in deliveries if each.queue.number == number]
            assert min(offsets) == first
    assert told(APPEARS, "latest")["rebalances"] == 2


@pytest.mark.parametrize(("variant", "since"), [("rocketmq:AVG", 121), ("AVG, route poll of 5 s", 101)])
def test_rocketmq_reads_a_topic_that_appears_from_its_first_record(variant: str, since: float) -> None:
    timeline = lived("topic-created-later", variant).timeline
    first = min(each.since for each in timeline.beliefs if each.queue.topic == "orders-us") / 1000
    assert since < first < since + 0.3
    deliveries = [each for each in timeline.deliveries if each.queue.topic == "orders-us"]
    offsets = {(each.queue.number, offset) for each in deliveries for offset in range(each.first, each.end)}
    assert offsets == {(number, offset) for number in range(4) for offset in range(len(offsets) // 4)}


# Readers of everything

LOCAL = "broadcasting-local-offsets"


def test_a_file_on_the_machine_survives_a_kill_and_not_a_new_pod() -> None:
    before, after = handled(LOCAL, "BROADCASTING", member="c2")
    assert (before[1], after[0]) == (629, 600)
    assert 121 < after[2] < 122
    (new,) = handled(LOCAL, "BROADCASTING", member="c4")
    assert (new[0] / 10, new[2]) == (pytest.approx(121, abs=0.2), pytest.approx(121.6, abs=0.1))
    assert told(LOCAL, "BROADCASTING")["redelivered"] == 2 * 29
    assert len(handled(LOCAL, "BROADCASTING", member="c1")) == 1


def test_a_group_of_its_own_survives_by_its_name() -> None:
    before, after = handled(LOCAL, "a group for each member", member="c2")
    assert before[1] > after[0] > before[1] - 51
    (new,) = handled(LOCAL, "a group for each member", member="c4")
    assert new[0] / 10 == pytest.approx(123, abs=0.2)


# A zone goes down

ZONE = "zone-outage"
EAST, WEST = ([f"{broker} {number}" for number in range(4)] for broker in ("east@a", "west@b"))


def queues_of(variant: str, at: float) -> list[str]:
    return sorted(queue for queues in owned(ZONE, variant, at).values() for queue in queues)


def test_nearby_reads_its_own_zone_and_takes_over_another_without_members() -> None:
    there = owned(ZONE, "NEARBY", 59)
    assert sorted(there["c1"] + there["c3"]) == EAST
    assert sorted(there["c2"] + there["c4"]) == WEST
    assert queues_of("NEARBY", 61) == EAST + WEST
    assert set(owned(ZONE, "NEARBY", 61)) == {"c1", "c3"}
    assert queues_of("NEARBY", 125) == EAST
    assert owned(ZONE, "NEARBY", 350) == there


def test_machine_room_knows_no_zones_of_members() -> None:
    both, east = "MACHINE_ROOM, both rooms", "MACHINE_ROOM, east only"
    assert owned(ZONE, both, 59)["c2"] == ["east@a 2", "east@a 3"]
    assert owned(ZONE, both, 59)["c3"] == ["west@b 0", "west@b 1"]
    assert queues_of(both, 61) == EAST + WEST
    assert [queues_of(east, at) for at in (59, 61, 350)] == [EAST, EAST, EAST]
    assert moment(ZONE, east, 210)["never_owned_queues"] == 4


def test_a_configured_share_is_taken_over_by_nobody() -> None:
    assert [queues_of("rocketmq:CONFIG", at) for at in (59, 61, 119, 350)] == [EAST + WEST, EAST, EAST, EAST + WEST]
    # A broker that starts registers 3 s or 13 s later.
    assert 150 < told(ZONE, "rocketmq:CONFIG")["longest_gap_s"] < 165
