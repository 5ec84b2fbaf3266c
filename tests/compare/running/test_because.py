"""Every harm of a run has a reason that names event, mechanism and setting, whatever happens in whatever system."""

from random import Random
from typing import Any

import pytest

from compare.explaining.verdict import verdict
from compare.running.reasons import ranges
from tests.compare.compared import made, ran
from tests.rows import rows

SYSTEMS = (
    "kafka:range",
    "kafka:cooperative-sticky",
    "kafka:cooperative-sticky+static",
    "kafka:uniform",
    "rocketmq:AVG",
    "kafka-zookeeper:range",
)
HARMS = {
    "unowned": "unowned_queue_s",
    "redelivered": "redelivered",
    "no_progress": "harm.no_progress_queue_s",
    "two_owners": "double_owned_queue_s",
    "waiting": "harm.work.waiting",
    "skipped": "harm.work.skipped",
    "refused": "harm.work.refused",
    "out_of_order": "out_of_order.queue",
}


def _random_scenario(seed: int, system: str) -> dict[str, Any]:
    """Three to five members, and events of all kinds that a system can have."""
    random = Random(seed)
    members = {f"c{n}": {"subscribe": ["X"], "handle": f"{random.choice((0, 5, 50, 300))}ms"} for n in range(1, 4)}
    kinds = ["crash", "lose", "restart", "leave", "hang", "stop_polling", "produce", "broker", "disconnect", "poison"]
    picked = [kind for kind in random.sample(kinds, 4) if system != "kafka-zookeeper:range" or kind != "lose"]
    events: list[dict[str, Any]] = []
    for number, kind in enumerate(sorted(picked)):
        at = f"{30 + 25 * number}s"
        match kind:
            case "produce":
                events.append({"at": at, "produce": {"X": 800}})
            case "poison":
                events.append({"at": at, "poison": "X-1" if "rocketmq" not in system else "X-a-1"})
            case "broker":
                events += [
                    {"at": at, "broker": "b", "does": "stop"},
                    {"at": f"{50 + 25 * number}s", "broker": "b", "does": "return"},
                ]
            case "hang" | "stop_polling":
                events.append({"at": at, kind: "c1", "for": f"{random.choice((3, 60))}s"})
            case "crash" | "lose" | "leave":
                if not any("crash" in each or "lose" in each or "leave" in each for each in events):
                    events.append({"at": at, kind: "c2"})
            case _:
                events.append({"at": at, kind: "c3"})
    # What limits a member stays below the length of the run, so that it is exceeded.
    events.append({"at": "150s", "join": "c4", "subscribe": ["X"], "handle": "5ms"})
    return {
        "brokers": ["a", "b"],
        "topics": {"X": {"queues": {"a": 2, "b": 2}}},
        "group": {"name": "g", "members": members},
        "load": {"produce": f"{random.choice((1, 5, 20))}/s"},
        "events": sorted(events, key=lambda each: int(each["at"][:-1])),
        "run": {"for": "200s", "seed": seed},
        "systems": [system],
        "expect": {"longest_stall": "2s", "redelivered": 0, "longest_gap": "1s"},
    }


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_harm_has_event_mechanism_and_setting(system: str) -> None:
    harms = 0
    for seed in range(4):
        (found,) = ran(made(**_random_scenario(seed, system)))[1]["variants"]
        because = found["harm"]["because"]
        expected = [harm for harm, path in HARMS.items() if _at(found, path)]
        expected += [] if found["harm"]["settled"] else ["unsettled"]
        expected += [check["name"] for check in found["checks"] if check["demanded"] and not check["held"]]
        assert set(expected) == set(because), (seed, system)
        harms += len(expected)
        for reason in (each for reasons in because.values() for each in reasons):
            assert reason["event"], reason
            assert reason["mechanism"], reason
            assert reason["setting"], reason
    assert harms > 8


def _at(record: Any, path: str) -> Any:
    for name in path.split("."):
        record = record[name]
    return record


def test_a_slow_member_that_is_put_out_during_a_rejoin_is_told_with_its_chain() -> None:
    """No heartbeats while its loop is busy during a rejoin: its session runs out although its process lives."""
    slow = {"c1": "5ms", "c2": "5ms", "c3": "400ms"}
    scenario = made(
        topics={"X": 6},
        group={"name": "g", "members": {name: {"subscribe": ["X"], "handle": how} for name, how in slow.items()}},
        load={"produce": "5/s"},
        events=[{"at": "120s", "join": "c4", "subscribe": ["X"], "handle": "5ms"}],
        run={"for": "12min", "seed": 1},
        systems=["kafka:cooperative-sticky"],
    )
    (found,) = ran(scenario)[1]["variants"]
    two, *_ = found["harm"]["because"]["two_owners"]
    assert two["event"] == "c4 joins"
    assert "the coordinator puts c3 out, whose session runs out: c3 has asked to rejoin 45 s before" in two["mechanism"]
    assert "a client sends no heartbeats until it has" in two["mechanism"]
    assert two["setting"] == "max.poll.records: 500, session.timeout.ms: 45s"
    told = [each.text for each in verdict(found) if "more than once" in each.text]
    assert len(told) == 1
    assert ", because " in told[0]


@pytest.mark.parametrize(
    ("does", "setting"),
    [("kill", "flushConsumerOffsetInterval: 5s"), ("stop", "persistConsumerOffsetInterval: 5s")],
)
def test_offsets_that_a_killed_broker_had_not_written_are_told_as_that(does: str, setting: str) -> None:
    """A clean stop keeps them (FACTS 24, 26): then the members' own commits decide."""
    scenario = made(
        brokers=["a", "b"],
        topics={"X": {"queues": {"a": 6, "b": 6}}},
        group={"name": "g", "members": {"c1..c3": {"subscribe": ["X"], "handle": "5ms"}}},
        load={"produce": "20/s"},
        events=[{"at": "60s", "broker": "b", "does": does, "for": "60s"}],
        run={"for": "4min", "seed": 1},
        systems=["rocketmq:AVG"],
    )
    (found,) = ran(scenario)[1]["variants"]
    first, *_ = found["harm"]["because"]["redelivered"]
    assert first["setting"] == setting
    assert ("had not written to disk" in first["mechanism"]) == (does == "kill")


@rows(
    "systems, events, mechanism, setting",
    [
        # However soon it is noticed: nobody is there to take anything.
        (
            ["kafka:range", "kafka:uniform+static", "kafka:share", "rocketmq:AVG", "rocketmq:POP"],
            [{"at": "60s", "crash": ["c1", "c2"]}, {"at": "150s", "restart": "c2"}],
            "no member of g runs that reads X for 90 s after c1 and c2 crash",
            "restarts of the members",
        ),
        # The lock lasts for 60 s, and until the list of members changes, 90 s later or more, nobody asks for it.
        (
            [{"system": "rocketmq:AVG", "settings": {"orderly": True}}],
            [{"at": "60s", "lose": "c2"}],
            "the next rebalance after c2 loses its machine begins only",
            "channelExpiredTimeout: 120s",
        ),
        (
            [{"system": "rocketmq:AVG", "settings": {"orderly": True}}],
            [{"at": "60s", "crash": "c2"}],
            "the broker refuses the lock of the queues to their next owner for",
            "rocketmq.broker.rebalance.lockMaxLiveTime: 60s",
        ),
    ],
)
def test_queues_without_an_owner_name_what_decides_how_long(
    systems: list[Any], events: list[Any], mechanism: str, setting: str
) -> None:
    members = {"c1..c2": {"subscribe": ["X"], "handle": "5ms"}}
    group = {"name": "g", "members": members}
    scenario = made(
        topics={"X": 4}, group=group, load={"produce": "5/s"}, events=events, run={"for": "5min"}, systems=systems
    )
    for found in ran(scenario)[1]["variants"]:
        for harm in ("unowned", "no_progress") if found["unowned_queue_s"] is not None else ("no_progress",):
            reason = found["harm"]["because"][harm][0]
            assert reason["mechanism"].startswith(mechanism), found["label"]
            assert reason["setting"] == setting, found["label"]


@rows(
    "written, name, values, setting, most",
    [
        # Of two queues one record each has come after the last pull, whatever the interval of commits.
        (0, "persistConsumerOffsetInterval", (1_000, 20_000), "no setting", (2, 2)),
        # 2,000 records a queue are read in batches, and each pull commits what was handled before it.
        (12_000, "pullBatchSize", (4, 32), "pullBatchSize: {}", (8, 64)),
    ],
)
def test_what_a_killed_reader_of_rocketmq_had_not_committed_is_what_a_pull_brought(
    written: int, name: str, values: tuple[int, int], setting: str, most: tuple[int, int]
) -> None:
    for value, limit in zip(values, most, strict=True):
        scenario = made(
            topics={"X": 6},
            group={
                "name": "g",
                "members": {"c1..c3": {"subscribe": ["X"], "handle": "10ms", "settings": {name: value}}},
            },
            load={"produce": "10/s"},
            events=[{"at": "40s", "produce": {"X": written}}, {"at": "53s", "crash": "c2"}],
            run={"for": "90s", "seed": 1},
            systems=["rocketmq:AVG"],
        )
        (found,) = ran(scenario)[1]["variants"]
        (reason,) = found["harm"]["because"]["redelivered"]
        assert reason["setting"] == setting.format(value)
        assert 0 < found["redelivered"] <= limit


def test_records_are_refused_for_what_befell_their_own_topic() -> None:
    """Ordered sends of two topics: one has queues on both brokers, the other on the dead one alone."""
    scenario = made(
        brokers=["a", "b"],
        topics={"X": {"queues": {"a": 8, "b": 8}}, "Y": {"queues": {"b": 3}}},
        group={"name": "g", "members": {"c1..c2": {"subscribe": ["X", "Y"], "handle": "5ms"}}},
        load={"produce": "10/s", "selector": "key"},
        events=[{"at": "68s", "broker": "b", "does": "kill", "for": "70s"}],
        run={"for": "4min", "seed": 1},
        systems=["rocketmq:AVG"],
    )
    (found,) = ran(scenario)[1]["variants"]
    nobody, until_poll = found["harm"]["because"]["refused"]
    assert (nobody["kind"], until_poll["kind"]) == ("no broker", "not acknowledged")
    assert nobody["records"] == pytest.approx(3 * 10 * 70, abs=3)
    assert "the producers of X learn" in until_poll["mechanism"]
    assert until_poll["records"] + nobody["records"] == found["harm"]["work"]["refused"]


@pytest.mark.parametrize(
    ("kills", "controller", "setting"),
    [
        (("b",), False, "enableControllerMode"),
        (("b.s", "b"), False, "number of slaves"),
        (("b.s", "b"), True, "number of slaves"),
        (("a.s", "b"), False, "enableControllerMode"),
        (("a.s", "a", "b.s", "b"), False, "no setting"),
    ],
)
def test_a_controller_helps_where_a_slave_runs(kills: tuple[str, ...], controller: bool, setting: str) -> None:
    """A slave that is down as well cannot be made master."""
    replication: dict[str, Any] = {"rocketmq": 2, **({"rocketmq_controller": True} if controller else {})}
    scenario = made(
        brokers=["a", "b"],
        replication=replication,
        events=[{"at": f"{60 + n}s", "broker": name, "does": "kill"} for n, name in enumerate(kills)],
        load={"produce": "2/s"},
        run={"for": "4min", "seed": 1},
        systems=["rocketmq:AVG"],
    )
    because = ran(scenario)[1]["variants"][0]["harm"]["because"]
    down = {each["setting"] for each in because.get("no_progress", ()) if each["kind"] == "no broker"}
    assert down == {setting}


def test_clients_that_exceed_their_limit_are_why_nobody_takes_records_of_a_share_group() -> None:
    """Five times more than three members can handle come, and a poll's 500 records take longer than 20 s."""
    member = {"subscribe": ["X"], "handle": "1s", "settings": {"max.poll.interval.ms": 20_000}}
    scenario = made(
        group={"name": "g", "members": {"c1..c3": member}},
        topics={"X": 8},
        load={"produce": "2/s"},
        events=[],
        run={"for": "4min", "seed": 1},
        systems=["kafka:share"],
    )
    for reason in ran(scenario)[1]["variants"][0]["harm"]["because"]["no_progress"]:
        assert reason["kind"] in ("owner away", "owner busy with other queues")
        assert "max.poll.records" in reason["setting"]
        limited = reason["kind"] == "owner away"
        assert ("max.poll.interval.ms: 20s" in reason["setting"]) == limited


def test_a_thawed_broker_that_lists_members_twice_is_the_reason_of_queues_that_nobody_takes() -> None:
    """FACTS 30: its members read 4 to 6 as their number instead of 3, for the channel's 120 s at most."""
    scenario = made(
        brokers=["a", "b"],
        topics={"X": {"queues": {"a": 6, "b": 6}}},
        group={"name": "g", "members": {"c1..c3": {"subscribe": ["X"], "handle": "2ms"}}},
        load={"produce": "10/s"},
        events=[{"at": "60s", "broker": "b", "does": "freeze", "for": "45s"}],
        run={"for": "4min", "seed": 1},
        systems=["rocketmq:AVG"],
    )
    seen = 0
    for seed in range(1, 6):
        (found,) = ran(scenario.model_copy(update={"run": scenario.run.model_copy(update={"seed": seed})}))[1][
            "variants"
        ]
        told = [each["setting"] for each in found["outages"][0]["stages"] if "lists members twice" in each["what"]]
        if told and found["unowned_queue_s"] > 20:
            seen += 1
            assert found["harm"]["because"]["unowned"][0]["setting"] == "channelExpiredTimeout: 120s"
    assert seen


def test_a_rebalance_that_waits_for_a_killed_process_names_its_session() -> None:
    """The only member is killed at 60 s and starts again at 80 s as another member: the coordinator waits for the old
    one until 45 s after its last heartbeat (spec kafka 2.6)."""
    scenario = made(
        group={"name": "g", "members": {"c1": ["X"]}},
        topics={"X": 2},
        events=[{"at": "60s", "crash": "c1"}, {"at": "80s", "restart": "c1"}],
        run={"for": "4min", "seed": 1},
        systems=["kafka:range"],
    )
    (found,) = ran(scenario)[1]["variants"]
    for harm in ("unowned", "no_progress"):
        (reason,) = found["harm"]["because"][harm]
        assert reason["setting"] == "session.timeout.ms: 45s"
        assert reason["lasted_s"] == pytest.approx(45, abs=3.1)
    left = next(each.text for each in verdict(found) if "without an owner" in each.text)
    assert (
        "after c1 crashes, because nobody gets the partitions, as the coordinator waits for a process that is" in left
    )
    assert left.endswith("[session.timeout.ms: 45s].")


@pytest.mark.parametrize(
    ("does", "overtaken", "setting"),
    [
        ("lose", 600, "group.share.record.lock.duration.ms: 30s"),
        ("restart", 1, "restarts of the members"),
    ],
)
def test_records_that_others_overtake_have_what_brings_the_overtaken_one_back_as_their_reason(
    does: str, overtaken: int, setting: str
) -> None:
    """A member that is lost has one record or two: 30 s later they come again, and 30 s x 20 records have been handled.
    One that closes gets a last record with the request that it waits for; the next is begun before that is handled."""
    scenario = made(
        topics={"X": 1},
        group={"name": "g", "members": {"c1..c2": {"subscribe": ["X"], "handle": "40ms"}}},
        load={"produce": "20/s"},
        events=[{"at": "60s", does: "c1"}],
        run={"for": "3min", "seed": 1},
        systems=["kafka:share"],
    )
    (found,) = ran(scenario)[1]["variants"]
    assert found["out_of_order"]["queue"] == pytest.approx(overtaken, rel=0.1)
    (reason, *_) = found["harm"]["because"]["out_of_order"]
    event = {"lose": "c1 loses its machine", "restart": "c1 restarts"}[does]
    assert (reason["event"], reason["kind"], reason["setting"]) == (event, "given again", setting)


@rows(
    "events, told",
    [
        ([{"at": "20s", "crash": "c1..c3"}], {"c1 crashes": "c1, c2 and c3 crash"}),
        (
            [{"at": "20s", "rolling": "c1..c3", "gap": "10s", "downtime": "5s"}],
            {
                "c2 leaves": "the rolling restart of c1, c2 and c3",
                "c3 restarts": "the rolling restart of c1, c2 and c3",
            },
        ),
        ([{"at": "20s", "crash": "c1"}, {"at": "40s", "crash": "c2"}], {"c1 crashes": None}),
    ],
)
def test_events_that_were_written_as_one_are_told_as_one(events: list[Any], told: dict[str, str | None]) -> None:
    scenario = made(group={"name": "g", "members": {f"c{n}": ["X"] for n in range(1, 5)}}, events=events)
    found = ranges(scenario.events)
    assert {name: found.get(name) for name in told} == told
