"""What hurts in a run: records lost or waiting, time without progress, unrest; and the reasons that are found."""

from collections.abc import Mapping
from typing import Any

import pytest

from compare.explaining.verdict import verdict
from compare.running.checks import left_undone
from tests.compare.compared import made, ran


def record(system: str, **more: Any) -> dict[str, Any]:
    """The only variant's record of two members on four queues, with some of it written otherwise."""
    given: dict[str, Any] = {
        "topics": {"X": 4},
        "group": {"name": "g", "members": {"c1": ["X"], "c2": ["X"]}},
        "events": [],
        "run": {"for": "3min", "seed": 1},
        "systems": [system],
        **more,
    }
    (variant,) = ran(made(**given))[1]["variants"]
    found: dict[str, Any] = variant
    return found


def kinds(of: Mapping[str, Any], harm: str) -> list[str]:
    return [each["kind"] for each in of["harm"]["because"].get(harm, ())]


def said(of: Mapping[str, Any], words: str) -> list[str]:
    """The sentences of the verdict in which these words are."""
    return [each.text for each in verdict(of) if words in each.text]  # type: ignore[arg-type]


@pytest.mark.parametrize("system", ["kafka:range", "rocketmq:AVG", "kafka-zookeeper:range"])
def test_a_quiet_run_hurts_nobody(system: str) -> None:
    found = record(system)
    harm = found["harm"]
    assert harm["work"]["written"] > 6000
    assert harm["work"]["handled"] >= harm["work"]["written"] - 8
    assert [harm["work"][name] for name in ("waiting", "skipped", "refused")] == [0, 0, 0]
    assert harm["no_progress_queue_s"] == harm["longest_stall_s"] == 0
    assert harm["settled"]
    # While the group forms, ZooKeeper's members take over from each other, and RocketMQ's read some records twice.
    assert set(harm["because"]) <= {"unowned", "out_of_order"}
    assert not left_undone(found)  # type: ignore[arg-type]


def test_without_load_nothing_is_said_of_records() -> None:
    harm = record("kafka:range", load={})["harm"]
    assert harm["work"] is harm["no_progress_queue_s"] is harm["longest_stall_s"] is None


def test_after_a_crash_the_time_until_the_session_runs_out_is_the_reason() -> None:
    found = record("kafka:range", events=[{"at": "60s", "crash": "c1"}])
    (why,) = found["harm"]["because"]["no_progress"]
    assert (why["kind"], why["event"], why["text"]) == (
        "no owner until noticed",
        "c1 crashes",
        "session of c1 timed out",
    )
    assert 40 < why["lasted_s"] < 46
    assert found["redelivered"]
    assert kinds(found, "redelivered") == ["not committed"]


def test_ordered_records_for_a_broker_that_is_down_are_refused_until_the_producers_know() -> None:
    events = [{"at": "45s", "broker": "b", "does": "stop"}, {"at": "90s", "broker": "b", "does": "return"}]
    load = {"produce": "10/s", "selector": "key"}
    topics = {"X": {"queues": {"a": 2, "b": 2}}}
    found = record("rocketmq:AVG", brokers=["a", "b"], topics=topics, events=events, load=load)
    # Two queues, ten records per second, fifteen seconds until the route poll.
    assert found["harm"]["work"]["refused"] == 300
    (why,) = found["harm"]["because"]["refused"]
    assert (why["kind"], why["event"]) == ("not acknowledged", "b stops")
    assert "until the producers of X learn that b is gone" in why["text"]
    assert "pollNameServerInterval" in why["setting"]
    assert left_undone(found)  # type: ignore[arg-type]


@pytest.mark.parametrize(("reset", "skipped"), [("latest", True), ("earliest", False)])
def test_what_is_written_before_a_pattern_finds_its_topic_is_never_handled_from_latest_on(
    reset: str, skipped: bool
) -> None:
    found = record(
        "kafka:range",
        group={
            "name": "g",
            "members": {"c1": {"pattern": "X.*", "settings": {"auto.offset.reset": reset}}},
        },
        events=[{"at": "60s", "add_topic": {"X2": 1}}],
        run={"for": "8min", "seed": 1},
    )
    work = found["harm"]["work"]
    if skipped:
        # Metadata is refreshed every five minutes: until then ten records per second pass.
        assert 2000 < work["skipped"] < 3100
        (why,) = found["harm"]["because"]["skipped"]
        assert (why["kind"], why["text"], why["members"]) == ("begins behind", "last", ["c1"])
    else:
        assert work["skipped"] == 0
    assert work["written"] == work["handled"] + work["skipped"] + work["waiting"]
    assert bool(left_undone(found)) is skipped  # type: ignore[arg-type]


def test_records_behind_one_that_is_tried_for_ever_wait() -> None:
    found = record("kafka:range", events=[{"at": "60s", "poison": "X-1"}])
    work = found["harm"]["work"]
    assert work["skipped"] == 0
    assert work["waiting"] == pytest.approx(2 * 10 * 120, abs=25)
    assert found["harm"]["longest_stall_s"] == pytest.approx(120, abs=0.01)


@pytest.mark.parametrize("orderly", [False, True])
def test_a_record_that_ends_among_the_dead_letters_is_not_handled_and_waits_no_more(orderly: bool) -> None:
    """Only its own queue waits, and only where records are handled in order: for the second and the third attempt."""
    found = record(
        "rocketmq:AVG",
        events=[{"at": "60s", "poison": "X-1"}],
        systems=[{"system": "rocketmq:AVG", "settings": {"maxReconsumeTimes": 2, "orderly": orderly}}],
    )
    work = found["harm"]["work"]
    assert (work["skipped"], work["waiting"]) == (1, 0)
    assert work["written"] - work["handled"] - 1 < 8
    (why,) = found["harm"]["because"]["skipped"]
    assert (why["kind"], why["text"], why["members"]) == ("passed over", "given back to its broker", ["c1"])
    assert said(found, "never handles") == [
        "RocketMQ AVG never handles 1 record, because c1 cannot handle it: given back to its broker"
        " [maxReconsumeTimes: 2]."
    ]
    assert found["harm"]["longest_stall_s"] == (pytest.approx(2, abs=0.1) if orderly else 0)


def test_polls_longer_than_their_limit_never_let_a_group_settle() -> None:
    found = record(
        "kafka:range",
        group={"name": "g", "members": {f"c{n}": {"subscribe": ["X"], "handle": "100ms"} for n in (1, 2)}},
        load={"produce": "4/s"},
        events=[{"at": "60s", "hang": "c1", "for": "90s"}],
        systems=[{"system": "kafka:range", "settings": {"max.poll.interval.ms": 20000}}],
        run={"for": "15min", "seed": 1},
    )
    harm = found["harm"]
    assert not harm["settled"]
    why, *_ = harm["because"]["unsettled"]
    assert why["kind"] == "time limit"
    assert why["lasted_s"] == 20
    assert why["times"] >= 5
    assert "handling the records of one poll takes" in why["text"]
    assert harm["work"]["waiting"] > harm["work"]["written"] / 2
    for what in ("no_progress", "redelivered"):
        assert harm["because"][what][0]["setting"].startswith("max.poll.interval.ms: 20s"), what
    assert left_undone(found)  # type: ignore[arg-type]


def test_a_group_that_comes_to_rest_settles_however_often_it_rebalanced() -> None:
    events = [{"at": f"{60 + 10 * n}s", "restart": "c1"} for n in range(6)]
    assert record("kafka:range", events=events)["harm"]["settled"]


def test_what_an_owner_had_not_committed_before_it_stood_still_is_no_fault_of_two_owners() -> None:
    events = [{"at": "60s", "stop_polling": "c1", "for": "60s"}]
    found = record(
        "kafka:range",
        group={"name": "g", "members": {f"c{n}": {"subscribe": ["X"], "handle": "1ms"} for n in (1, 2)}},
        events=events,
        systems=[{"system": "kafka:range", "settings": {"max.poll.interval.ms": 30000}}],
    )
    assert found["redelivered"]
    assert kinds(found, "redelivered") == ["not committed"]


def test_queues_that_nobody_ever_owns_make_no_progress() -> None:
    members = {"c1": {"subscribe": ["X"]}, "c2": {"subscribe": ["Y"]}}
    found = record("rocketmq:AVG", topics={"X": 4, "Y": 4}, group={"name": "g", "members": members})
    assert not found["harm"]["settled"]
    (why, *_) = found["harm"]["because"]["no_progress"]
    assert "c1 is a member and does not read Y, so the share of this member has no owner" in why["mechanism"]
    same = {name: {"subscribe": ["X"], "client_id": "pod"} for name in ("c1", "c2")}
    found = record("rocketmq:AVG", topics={"X": 4}, group={"name": "g", "members": same})
    for harm in ("no_progress", "waiting"):
        (why, *_) = found["harm"]["because"][harm]
        assert "c1 and c2 do not have unique client ids" in why["mechanism"], harm
        assert why["setting"].startswith("client id"), harm


@pytest.mark.parametrize("system", ["kafka:range", "rocketmq:AVG"])
def test_a_group_that_has_died_is_the_reason_whoever_would_begin_a_rebalance(system: str) -> None:
    found = record(system, events=[{"at": "60s", "crash": ["c1", "c2"]}])
    for harm in ("no_progress", "unowned", "waiting"):
        assert found["harm"]["because"][harm][0]["text"] == "group g has no members", harm


@pytest.mark.parametrize(
    ("system", "ends", "text"),
    [
        ("kafka:range", "100s", "the run ends 40 s after the partitions lost their owner, before a rebalance begins"),
        ("kafka:range", "107s", "the run ends 47 s after the partitions lost their owner, during a rebalance"),
        ("kafka:uniform", "100s", "the run ends 40 s after the partitions lost their owner, before a rebalance begins"),
        ("rocketmq:AVG", "100s", "the run ends 40 s after the queues lost their owner, before a rebalance begins"),
    ],
)
def test_a_run_that_ends_too_early_is_no_proof_that_nobody_takes_a_queue(system: str, ends: str, text: str) -> None:
    members = {name: {"subscribe": ["X"], "handle": "100ms"} for name in ("c1", "c2")}  # polls that take long
    group, events = {"name": "g", "members": members}, [{"at": "60s", "lose": "c1"}]
    found = record(system, group=group, events=events, run={"for": ends})
    assert not found["harm"]["settled"]
    assert [text in sentence for sentence in said(found, "does not settle")].count(True) == 1
    assert not said(found, "no member takes")


@pytest.mark.parametrize(
    ("system", "setting"),
    [
        ("kafka:cooperative-sticky", "max.poll.interval.ms: 5min"),
        ("kafka:uniform", "max.poll.interval.ms: 5min"),
        ("rocketmq:AVG", "no setting"),
    ],
)
def test_a_standing_loop_keeps_its_queues_whatever_the_session(system: str, setting: str) -> None:
    """The client's own thread sends the heartbeats."""
    found = record(system, events=[{"at": "62s", "stop_polling": "c1", "for": "6min"}], run={"for": "8min"})
    assert [why["setting"] for why in found["harm"]["because"]["no_progress"]] == [setting]
    if "redelivered" in found["harm"]["because"]:
        # c1 handles nothing while c2 owns its queues, too: what it had not committed before is handled again.
        assert kinds(found, "redelivered") == ["not committed"]


def test_new_partitions_have_no_owner_until_the_leader_asks_for_metadata_again() -> None:
    found = record("kafka:range", events=[{"at": "60s", "queues": {"X": 8}}], run={"for": "6min"})
    (why,) = found["harm"]["because"]["no_progress"]
    assert (why["kind"], why["event"], why["setting"]) == ("new queues", "X has 8 queues", "metadata.max.age.ms: 5min")


def test_a_deleted_topic_sets_no_offset_back() -> None:
    found = record("kafka:range", topics={"X": 4, "Y": 2}, events=[{"at": "60s", "delete_topic": "X"}])
    assert [check for check in found["checks"] if not check["held"]] == []


def test_what_comes_is_told_as_it_is_at_the_end_not_as_brokers_had_it_at_different_times() -> None:
    found = record(
        "rocketmq:AVG",
        brokers=["b1", "b2"],
        topics={"X": {"queues": {"b1": 2, "b2": 2}}},
        group={"name": "g", "members": {"c1..c3": {"subscribe": ["X"], "handle": "50ms"}}},
        load={"produce": "20/s"},
        run={"for": "5min"},
        events=[{"at": "65s", "broker": "b1", "does": "kill", "for": "60s"}],
    )
    (why,) = [each for each in found["harm"]["because"]["waiting"] if each["kind"] == "overload"]
    assert why["text"] == "80 records per second come and the members of g can handle 60: they never catch up"


def test_a_queue_that_gets_more_than_its_one_reader_can_handle_is_named() -> None:
    slow = {"name": "g", "members": {f"c{n}": {"subscribe": ["X"], "handle": "20ms"} for n in (1, 2)}}
    load = {"produce": "1/s", "rates": {"X-2": "80/s"}}
    (why,) = record("kafka:range", group=slow, load=load)["harm"]["because"]["waiting"]
    assert why["kind"] == "hot queue"
    assert why["text"] == "80 records per second come to X-2 and one member can handle 50: it never catches up"
    (of_rocketmq,) = record("rocketmq:AVG", group=slow, load=load)["harm"]["because"]["waiting"]
    assert of_rocketmq["text"] == str(why["text"]).replace("X-2", "X-broker-a-2")
    # Twenty threads of one member handle the records of one queue.
    assert "waiting" not in record("rocketmq:AVG", group=slow, load=load, threads="real")["harm"]["because"]


@pytest.mark.parametrize(("system", "told"), [("rocketmq:POP", False), ("kafka:range", True)])
def test_records_that_wait_to_be_given_again_are_no_lag_that_is_drained(system: str, told: bool) -> None:
    """POP: c1 has a record of each queue in hand for 120 s, all others are handled at once. Kafka: nobody else reads
    its partitions until its session has run out."""
    members = {"c1..c2": {"subscribe": ["X"], "handle": "10ms"}}
    found = record(
        system,
        group={"name": "g", "members": members},
        load={"produce": "2/s"},
        run={"for": "5min", "seed": 1},
        events=[{"at": "60s", "lose": "c1"}],
    )
    assert (found["lag"]["peak"] > 40) is told
    assert any("reaches a lag of" in each.text for each in verdict(found)) is told


@pytest.mark.parametrize(
    ("part", "group", "setting"),
    [
        ({}, {}, "group.share.record.lock.duration.ms: 30s"),
        ({"group.share.record.lock.duration.ms": 20_000}, {}, "group.share.record.lock.duration.ms: 20s"),
        ({}, {"share.record.lock.duration.ms": 20_000}, "group.share.record.lock.duration.ms"),
    ],
    ids=["default", "the brokers'", "the group's own takes its place"],
)
def test_a_setting_of_share_groups_is_told_with_its_value(part: Any, group: Any, setting: str) -> None:
    found = record(
        "kafka:share",
        systems=[{"system": "kafka:share", "settings": part}],
        group={"name": "g", "settings": group, "members": {"c1..c2": {"subscribe": ["X"], "handle": "10ms"}}},
        events=[{"at": "60s", "lose": "c1"}],
    )
    assert found["harm"]["because"]["given_again"][0]["setting"] == setting


def test_records_wait_after_a_time_without_progress_though_the_members_could_handle_all() -> None:
    found = record(
        "kafka:range",
        group={"name": "g", "members": {"c1..c2": {"subscribe": ["X"], "handle": "40ms"}}},
        load={"produce": "10/s"},
        run={"for": "125s", "seed": 1},
        events=[{"at": "60s", "hang": "c1..c2", "for": "50s"}],
    )
    (why,) = found["harm"]["because"]["waiting"]
    assert why["kind"] == "stalled before"
    assert why["mechanism"] == "the group has not caught up yet after the time without progress"
    (stall,) = found["harm"]["because"]["no_progress"]
    assert stall["mechanism"].startswith("c1 and c2 hang for 50s and keep their partitions for 4")


def test_nothing_that_anybody_sets_ends_the_wait_for_a_frozen_broker() -> None:
    found = record(
        "kafka:range", brokers=["a", "b", "c"], events=[{"at": "60s", "broker": "a", "does": "freeze", "for": "20s"}]
    )
    settings = {each["mechanism"]: each["setting"] for each in found["harm"]["because"]["no_progress"]}
    its = next(setting for mechanism, setting in settings.items() if "find the new leaders" in mechanism)
    assert its == "no setting"


@pytest.mark.parametrize("system", ["kafka:range", "kafka:uniform"])
def test_a_limit_that_is_exceeded_again_and_again_is_why_records_wait_whoever_has_too_many_then(system: str) -> None:
    settings = {"max.poll.interval.ms": 30_000}
    found = record(
        system,
        topics={"X": 8},
        group={"name": "g", "members": {"c1..c4": {"subscribe": ["X"], "handle": "150ms", "settings": settings}}},
        load={"produce": "2/s"},
        run={"for": "6min", "seed": 1},
        events=[{"at": "60s", "produce": {"X": 3000}}],
    )
    (why,) = found["harm"]["because"]["waiting"]
    assert (why["kind"], why["setting"].partition(":")[0]) == ("time limit", "max.poll.interval.ms")
    assert why["times"] > 3


def test_a_member_that_gets_more_than_it_can_handle_is_named() -> None:
    members = {"c1": {"subscribe": ["X"], "handle": "5ms"}, "c2": {"subscribe": ["X"], "handle": "200ms"}}
    found = record("kafka:range", group={"name": "g", "members": members}, load={"produce": "6/s"})
    (why,) = found["harm"]["because"]["waiting"]
    assert (why["kind"], why["members"]) == ("overload", ["c2"])
    assert why["text"] == "c2 handles 5/s and gets 12/s: it never catches up"


@pytest.mark.parametrize(
    ("expect", "why"),
    [
        ({"longest_stall": "20s"}, "longest time without progress is 29."),
        ({"waiting": 0}, ""),
        ({"skipped": 0}, ""),
    ],
)
def test_a_scenario_may_expect_that_nothing_hurts(expect: dict[str, object], why: str) -> None:
    found = record("kafka:range", events=[{"at": "60s", "hang": "c1", "for": "30s"}], expect=expect)
    (check,) = [each for each in found["checks"] if each["demanded"]]
    assert check["held"] is not bool(why)
    assert check.get("why", "").startswith(why)
