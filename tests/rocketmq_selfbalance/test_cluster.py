"""Name server, brokers and clients together: what the self-allocation does well and badly comes out by itself."""

import pytest

from protocols import Queue
from protocols.errors import UserError
from protocols.facts import Committed
from protocols.scenario.events import (
    BrokerEvent,
    Crash,
    Hang,
    Join,
    Leave,
    Network,
    Reset,
    Restart,
    Subscribe,
)
from tests.rocketmq_selfbalance.lived import Lived
from tests.rows import rows

EVENLY = {"T": {"broker-a": 4, "broker-b": 4}}
THREE = {f"c{number}": {"subscribe": ("T",)} for number in (1, 2, 3)}
TWO = {f"c{number}": {"subscribe": ("T",)} for number in (1, 2)}


def s(seconds: float) -> float:
    return seconds * 1000.0


def hang(at_s: float, member: str, lasts_s: float) -> Hang:
    return Hang.model_validate({"at": s(at_s), "hang": member, "for": s(lasts_s)})


def cut_off(at_s: float, member: str, lasts_s: float) -> Network:
    return Network.model_validate({"at": s(at_s), "network": "cut", "between": (member,), "for": s(lasts_s)})


def test_a_group_that_starts_shares_all_queues_within_two_seconds() -> None:
    lived = Lived(EVENLY, THREE, seconds=10)
    assert lived.settled(at_s=2)
    assert [len(queues) for _, queues in sorted(lived.beliefs().items())] == [3, 3, 2]


def test_equal_runs_are_equal_and_another_seed_is_another_run() -> None:
    first, again, other = (Lived(EVENLY, THREE, seconds=40, seed=seed, produce=3.0) for seed in (1, 1, 2))
    assert first.facts == again.facts
    assert first.variant.simulation.messages == again.variant.simulation.messages
    assert first.facts != other.facts


def test_a_killed_member_believes_nothing_and_the_others_take_its_queues_over() -> None:
    lived = Lived(EVENLY, THREE, Crash(at=s(30), crash="c2"), seconds=60)
    assert lived.beliefs(at_s=30)["c2"] == ()
    assert lived.settled(at_s=32.5)


def test_a_member_that_leaves_hands_its_queues_over_before_it_has_let_go_of_them() -> None:
    lived = Lived(EVENLY, THREE, Leave(at=s(30), leave="c2"), seconds=60)
    assert len({member for queues in lived.owners(at_s=32).values() for member in queues} - {"c2"}) == 2
    assert all(len(lived.owners(at_s=32)[queue]) == 2 for queue in lived.beliefs(at_s=32)["c2"])
    assert lived.beliefs(at_s=35)["c2"] == ()
    assert lived.settled(at_s=35)


def test_a_topic_on_two_brokers_loses_the_queues_of_a_dead_one_within_50_s() -> None:
    lived = Lived(EVENLY, TWO, BrokerEvent(at=s(33), broker="broker-b", does="kill"), seconds=180)
    assert len(lived.owners(at_s=34)) == 8
    owners = lived.owners(at_s=33 + 51)
    assert {queue.broker for queue in owners} == {"broker-a"}
    assert sorted(map(len, lived.beliefs(at_s=84).values())) == [2, 2]


def test_a_broker_that_returns_brings_its_queues_back() -> None:
    events = (
        BrokerEvent(at=s(33), broker="broker-b", does="stop"),
        BrokerEvent(at=s(120), broker="broker-b", does="return"),
    )
    lived = Lived(EVENLY, TWO, *events, seconds=240)
    assert lived.settled()


def test_a_strategy_is_changed_member_by_member() -> None:
    events = [Restart(at=s(30 * number), restart=f"c{number}", strategy="AVG_BY_CIRCLE") for number in (1, 2)]
    lived = Lived(EVENLY, TWO, *events, seconds=120)
    assert not lived.settled(at_s=59)
    assert lived.settled()
    assert lived.beliefs()["c1"] == tuple(Queue("T", f"broker-{b}", n) for b in "ab" for n in (0, 2))


def test_who_leaves_or_joins_while_it_restarts_does_just_that() -> None:
    restart, leave = Restart(at=s(30), restart="c1"), Leave(at=s(30.01), leave="c1")
    gone = Lived(EVENLY, TWO, restart, leave, seconds=90)
    assert gone.beliefs()["c1"] == ()
    assert len(gone.beliefs()["c2"]) == 8
    back = Lived(EVENLY, TWO, restart, leave, Join(at=s(30.02), join="c1"), seconds=90)
    assert back.settled()
    assert not [entry for entry in back.variant.simulation.heap if "_start_when_over" in repr(entry)]


def test_a_process_that_is_killed_takes_the_consumers_of_all_its_groups_along() -> None:
    groups = {
        "g": {"members": {"c1": {"subscribe": ("T",), "process": "p"}, "c2": {"subscribe": ("T",)}}},
        "h": {"members": {"d1": {"subscribe": ("T",), "process": "p"}}},
    }
    events = (Crash(at=s(30), crash="c1"), Restart(at=s(60), restart="d1"), Join(at=s(90), join="c1", group="g"))
    lived = Lived(EVENLY, {}, *events, seconds=120, groups=groups)
    assert lived.beliefs(at_s=30)["c1"] == ()
    assert lived.beliefs(at_s=50, group="h")["d1"] == ()
    assert len(lived.beliefs(at_s=80, group="h")["d1"]) == 8
    assert lived.settled()


def test_a_member_that_drops_a_topic_gives_its_queues_up() -> None:
    lived = Lived(
        {**EVENLY, "U": {"broker-a": 2}},
        {name: {"subscribe": ("T", "U")} for name in ("c1", "c2")},
        Subscribe(at=s(40), subscribe={"c1": ("T",), "c2": ("T",)}),
        seconds=120,
    )
    assert {queue.topic for queue in lived.owners(at_s=39)} == {"T", "U"}
    assert {queue.topic for queue in lived.owners()} == {"T"}


def test_broadcasting_members_own_everything_and_nobody_waits_for_a_notice() -> None:
    lived = Lived(EVENLY, TWO, seconds=30, settings={"messageModel": "BROADCASTING"})
    assert all(len(queues) == 8 for queues in lived.beliefs().values())


@rows(("seed", "version"), [(0, "4.5"), (4, "5.3"), (1, "5.3")])
def test_a_reset_through_the_clients_goes_well_beside_passes_that_are_under_way(seed: int, version: str) -> None:
    members = {name: {"subscribe": ("T", "U")} for name in ("c1", "c2", "c3")}
    resets = (
        Reset(at=s(40), reset_offsets="g", topic="T", to=s(10)),
        Reset(at=s(60), reset_offsets="g", topic="T", to=s(20), via="client"),
    )
    topics = {**EVENLY, "U": {"broker-a": 2}}
    lived = Lived(topics, members, *resets, seconds=120, produce=4.0, seed=seed, settings={"version": version})
    assert lived.settled()
    back = [fact.offset for time, fact in lived.commits() if 60 < time < 75 and fact.queue.topic == "T"]
    assert 79 in back


def test_a_network_that_is_cut_is_noticed_by_silence_alone_and_heals() -> None:
    lived = Lived(EVENLY, TWO, cut_off(30, "c2", 200), seconds=330)
    assert lived.settled(at_s=100)
    twice = [queue for queue, owners in lived.owners(at_s=225).items() if len(owners) == 2]
    assert len(twice) == 4
    assert lived.settled()


@rows(
    ("changes", "text"),
    [
        ({"settings": {"pullBatchSize": 0}}, "pullBatchSize is 0"),
        ({"settings": {"scanNotActiveBrokerInterval": "5s"}}, "scanNotActiveBrokerInterval is '5s'"),
        ({"settings": {"flushConsumerOffsetInterval": 0}}, "flushConsumerOffsetInterval is 0"),
        ({"settings": {"useServerSideResetOffset": 1}}, "useServerSideResetOffset is 1"),
        ({"settings": {"session.timeout.ms": 6000}}, "unknown setting 'session.timeout.ms'"),
        ({"settings": {"version": "3.2"}}, "version is '3.2'"),
        ({"strategy": "range"}, "range"),
        ({"members": {"c1": {"subscribe": ("T",), "settings": {"heap": 1}}}}, "member c1: unknown setting 'heap'"),
        ({"members": {"c1": {"subscribe": ("T",), "strategy": "sticky"}}}, "sticky"),
    ],
)
def test_what_rocketmq_does_not_have_is_refused_before_anything_runs(changes: dict[str, object], text: str) -> None:
    with pytest.raises(UserError, match=text):
        Lived(EVENLY, **{"members": TWO, "seconds": 1, **changes})  # type: ignore[arg-type]


def test_members_of_one_process_are_told_apart() -> None:
    groups = {
        "g": {"members": {"a": {"subscribe": ("T",), "process": "p"}}},
        "h": {"members": {"b": {"subscribe": ("T",), "process": "p"}, "a": {"subscribe": ("T",)}}},
    }
    lived = Lived({"T": {"broker-a": 2}}, {}, seconds=30, produce=1.0, groups=groups)
    told = {(fact.group, fact.member) for _, _, fact in lived.told(Committed)}
    assert told == {("g", "a"), ("h", "b"), ("h", "a")}
