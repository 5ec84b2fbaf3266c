"""Name server, brokers and clients together: what the self-allocation does well and badly comes out by itself."""

import pytest

from protocols.errors import UserError
from protocols.facts import Committed
from protocols.scenario.events import Crash, Join, Leave, Network, Reset, Restart
from tests.rocketmq_selfbalance.lived import Lived
from tests.rows import rows

EVENLY = {"T": {"broker-a": 4, "broker-b": 4}}
THREE = {f"c{number}": {"subscribe": ("T",)} for number in (1, 2, 3)}
TWO = {f"c{number}": {"subscribe": ("T",)} for number in (1, 2)}


def s(seconds: float) -> float:
    return seconds * 1000.0


def cut_off(at_s: float, member: str, lasts_s: float) -> Network:
    return Network.model_validate({"at": s(at_s), "network": "cut", "between": (member,), "for": s(lasts_s)})


def test_equal_runs_are_equal_and_another_seed_is_another_run() -> None:
    first, again, other = (Lived(EVENLY, THREE, seconds=40, seed=seed, produce=3.0) for seed in (1, 1, 2))
    assert first.facts == again.facts
    assert first.variant.simulation.messages == again.variant.simulation.messages
    assert first.facts != other.facts


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


@rows(("version", "least", "most"), [("5.3", 10.0, 10.1), ("5.4", 10.0, 10.1), ("5.5", 0.0, 0.2)])
def test_an_orderly_consumer_whose_offsets_are_reset_waits_for_its_listener_alone(
    version: str, least: float, most: float
) -> None:
    reset = Reset(at=s(60), reset_offsets="g", topic="T", to=s(20), via="client")
    settings = {"version": version, "orderly": True}
    lived = Lived(EVENLY, {"c1": {"subscribe": ("T",)}}, reset, seconds=120, produce=4.0, settings=settings)
    assert lived.settled()
    back = min(time for time, fact in lived.commits() if time > 60 and fact.offset == 79)
    assert least < back - 60 < most


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
        ({"settings": {"version": "3.2"}}, "version: '3.2', expected a version of RocketMQ"),
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
