"""Brokers that fail, and what their partitions wait for: without a leader nothing is read, and nothing is lost."""

from collections import defaultdict
from typing import Any

from compare.running.systems import scenario
from kafka_coordinator.cluster.controller import Controller
from kafka_coordinator.cluster.outages import Outages, ProducerSettings
from kafka_coordinator.cluster.topics import TopicTable
from protocols.facts import Committed, Delivered, Owns, Position, Stage, StandsStill, Writes
from protocols.scenario.events import BrokerEvent, Event, Leave, Poison, Produce
from tests.kafka_coordinator.kafka_stories import Observed, Story
from tests.rows import rows

BROKERS = ("b1", "b2", "b3")
ON_B2 = (2, 3)
"""Two partitions of each broker, in the order of the brokers."""


def broker(seconds: float, does: str, name: str = "b2") -> BrokerEvent:
    return BrokerEvent.model_validate({"at": seconds * 1000.0, "broker": name, "does": does})


def story(*events: Event, replicas: int | None = 1, handle: float = 0.0, **more: Any) -> Story:
    members = {name: {"handle": handle} for name in ("c1", "c2")}
    return Story(members=members, brokers=BROKERS, replicas=replicas, rate=2.0, events=events, **more)


def handled(seen: Observed) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for _, fact in seen.of(Delivered):
        found[fact.queue.number].update(range(fact.first, fact.end))
    return found


def when(seen: Observed, number: int) -> list[tuple[float, float]]:
    """From when to when records of a partition were handled, in seconds."""
    return [(fact.since / 1000, now / 1000) for now, fact in seen.of(Delivered) if fact.queue.number == number]


def silence(seen: Observed, number: int, since: float = 55.0) -> float:
    """The longest time in which no record of a partition was handled, in seconds."""
    found, latest = 0.0, since
    for begin, end in when(seen, number):
        if end > since:
            found, latest = max(found, begin - latest), max(latest, end)
    return found


@rows("how", ["stop", "kill"])
def test_while_the_only_replica_is_down_records_wait_and_nothing_is_read(how: str) -> None:
    seen = story(broker(60, how), broker(90, "return")).to_end(120)
    for number in range(6):
        assert handled(seen)[number] == set(range(240))
        if number in ON_B2:
            assert silence(seen, number) > 29
        else:
            assert silence(seen, number) < (2 if how == "stop" else 0.1)
    assert seen.generations() == [1]
    assert [len(fact.queues) for _, fact in seen.of(Owns)] == [3, 3]
    assert "c1 waits for a leader of t-2" in seen.notes()


def test_what_waits_for_longer_than_the_delivery_timeout_is_given_up() -> None:
    seen = story(broker(60, "kill"), broker(90, "return"), settings={"producer.delivery.timeout.ms": 10_000}).to_end(
        120
    )
    (back,) = {now for now, fact in seen.of(Writes) if fact.queue.number == 2 and not fact.waits}
    lost = round((back - 10_000 - 60_000) / 500)
    assert len(handled(seen)[2]) in (240 - lost - 1, 240 - lost)
    assert len(handled(seen)[0]) == 240


@rows("how, retries, lost", [("kill", 0, 1), ("freeze", 0, 1), ("kill", 1, 0), ("stop", 1, 0)])
def test_a_producer_without_retries_gives_up_what_is_under_way(how: str, retries: int, lost: int) -> None:
    # A record of each partition is sent within 0.1 s of 60 s.
    seen = story(broker(60, how), broker(75, "return"), replicas=3, settings={"producer.retries": retries}).to_end(120)
    assert [240 - len(handled(seen)[number]) for number in range(6)] == [
        lost * (number in ON_B2) for number in range(6)
    ]


def test_both_replicas_down_and_the_last_one_has_to_come_back() -> None:
    events = broker(60, "stop"), broker(70, "stop", "b3"), broker(80, "return"), broker(100, "return", "b3")
    seen = story(*events, replicas=2).to_end(120)
    # b2's partitions have replicas on b2 and b3; those of b1 and b3 have one on b1, too.
    assert [silence(seen, number) > 29 for number in range(6)] == [number in ON_B2 for number in range(6)]
    assert all(handled(seen)[number] == set(range(240)) for number in range(6))


def test_a_new_owner_waits_as_well_and_goes_on_where_the_other_stood() -> None:
    seen = story(broker(60, "kill"), Leave(at=75_000.0, leave="c1"), broker(90, "return")).to_end(120)
    (began,) = [fact for now, fact in seen.of(Position) if now > 60_000 and fact.queue.number == 2]
    assert (began.member, began.offset, began.why) == ("c2", 120, "committed")
    assert handled(seen)[2] == set(range(240))


def test_what_waits_is_read_on_only_with_a_leader() -> None:
    """A backlog of 500 records in each partition, handled in 100 s: b2's partitions wait meanwhile for 30 s."""
    events = Produce(at=30_000.0, produce={"t": 3000}), broker(60, "kill"), broker(90, "return")
    seen = story(*events, handle=50.0).to_end(400)
    assert not [each for each in when(seen, 2) if each[0] < 89.9 and each[1] > 60.1]
    assert handled(seen)[0] >= set(range(1200))
    assert handled(seen)[2] >= set(range(1200))
    assert sum(len(each) for each in handled(seen).values()) == sum(max(each) + 1 for each in handled(seen).values())


def test_what_is_sent_at_once_waits_too_poison_among_it() -> None:
    events = broker(60, "kill"), Produce(at=70_000.0, produce={"t": 60}), Poison(at=71_000.0, poison="t-3")
    seen = story(*events, broker(90, "return")).to_end(120)
    assert [len(handled(seen)[number]) for number in (0, 1, 2)] == [250] * 3
    (stuck,) = {(fact.queue.number, fact.offset) for _, fact in seen.of(StandsStill)}
    assert stuck == (3, 152)


def test_offsets_of_a_time_are_those_of_what_was_sent_by_then() -> None:
    lived = story(broker(60, "kill"), broker(90, "return"))
    lived.until(120)
    assert dict(lived.cluster.topics.offsets_at("t", 75_000.0))["t", 2] == 150


@rows(
    ("replicas", "settings", "waits", "others"),
    [
        (3, {}, 6, 10.2),
        (3, {"broker.session.timeout.ms": 18_000}, 6, 20.5),
        (3, {"producer.acks": 1}, 2, 10.2),
        (2, {}, 6, 10.2),
        (1, {}, 2, 0.6),
    ],
)
def test_a_killed_broker_holds_up_all_partitions_until_its_session_ends(
    replicas: int, settings: dict[str, Any], waits: int, others: float
) -> None:
    """``waits``: partitions of which nothing is acknowledged; with ``acks=1`` records of others only cannot be read."""
    session = settings.get("broker.session.timeout.ms", 9_000)
    for seed in range(5):
        seen = story(broker(60, "kill"), broker(90, "return"), replicas=replicas, settings=settings, seed=seed).to_end(
            120
        )
        told = [fact for now, fact in seen.of(Writes) if now == 60_000 and fact.waits]
        assert len(told) == (6 if replicas > 1 else 2)
        assert sum(not fact.acknowledged for fact in told) == waits
        (fenced,) = [now for now, fact in seen.of(Stage) if fact.what == "the controller fences b2"]
        assert session - 2_000 <= fenced - 60_000 <= session * 9 / 8
        assert silence(seen, 0) <= others
        assert handled(seen)[0] == handled(seen)[2] == set(range(240))
        assert seen.generations() == [1]


@rows(("acks", "alone"), [("all", 0), (1, 6)])
def test_of_partitions_with_fewer_replicas_in_sync_than_demanded_nothing_is_read_before_the_return(
    acks: str | int, alone: int
) -> None:
    """``alone``: partitions whose leaders acknowledge all the same; those of b2 do once producers have found them."""
    settings = {"min.insync.replicas": 3, "producer.acks": acks}
    seen = story(broker(60, "kill"), broker(90, "return"), replicas=3, settings=settings).to_end(120)
    assert all(29 < silence(seen, number) < 33 for number in range(6))
    told = {fact.queue.number: fact for now, fact in seen.of(Writes) if 60_000 <= now < 90_000}
    assert sum(fact.acknowledged for fact in told.values() if fact.waits) == alone


@rows(("brokers", "of_topic", "stand_still"), [(1, 2, "t"), (2, 1, "offsets"), (2, None, "t offsets"), (1, None, "")])
def test_commits_need_what_the_brokers_demand_in_sync_and_not_what_the_topic_does(
    brokers: int, of_topic: int | None, stand_still: str
) -> None:
    topics = {"t": {"queues": 3, "min_insync_replicas": of_topic}}
    group = {"name": "g", "members": {"c1": {"subscribe": ["t"]}}}
    rest: dict[str, Any] = {"group": group, "run": {"for": "1min"}, "systems": ["kafka:range"]}
    given = scenario(name="n", brokers=BROKERS, topics=topics, **rest)
    controller = Controller(BROKERS, 50)
    outages = Outages(controller, ProducerSettings(), 0, brokers)
    TopicTable(given, controller, outages, "here", 0.0)
    for name in ("b2", "b3"):
        controller.ended(name)
        controller.fence(name)
    outages.look(1000.0)
    assert (("t", 0) in outages.waiting) == ("t" in stand_still.split())
    assert len(outages.offsets_waiting()) == (50 if "offsets" in stand_still else 0)


def test_no_more_replicas_are_demanded_in_sync_than_there_are() -> None:
    seen = story(broker(60, "kill"), replicas=2, settings={"min.insync.replicas": 3}).to_end(70)
    assert len(handled(seen)[0]) >= 120


def test_a_frozen_broker_keeps_its_clients_until_it_thaws_or_their_requests_time_out() -> None:
    for seed in range(5):
        long = story(
            BrokerEvent.model_validate({"at": 60_000.0, "broker": "b2", "does": "freeze", "for": "60s"}),
            replicas=3,
            seed=seed,
        )
        seen = long.to_end(150)
        assert 30 < silence(seen, 2) < 33
        assert 7 < silence(seen, 0) < 11
        short = story(
            BrokerEvent.model_validate({"at": 60_000.0, "broker": "b2", "does": "freeze", "for": "4s"}),
            replicas=3,
            seed=seed,
        )
        seen = short.to_end(150)
        assert 3.5 < silence(seen, 2) < 4.5
        assert {fact.what for _, fact in seen.of(Stage)} == {"producers reach b2 again"}
        assert handled(seen)[2] == set(range(300))


@rows(
    ("controllers", "events", "fenced"),
    [
        (("b2", "b1", "b3"), [("kill", "b2", 60)], (11.0, 12.5)),
        (("b1", "b2", "b3"), [("kill", "b2", 60)], (7.0, 10.2)),
        (("q1",), [("kill", "q1", 60)], None),
        (("q1",), [("kill", "q1", 55), ("kill", "b2", 60), ("return", "q1", 80)], (31.0, 33.0)),
        (("q1", "q2", "q3"), [("kill", "q1", 62), ("kill", "b2", 60)], (13.0, 14.8)),
    ],
)
def test_only_an_active_controller_fences(
    controllers: tuple[str, ...], events: list[tuple[str, str, float]], fenced: tuple[float, float] | None
) -> None:
    happens = sorted((broker(at, does, name) for does, name, at in events), key=lambda event: event.at)
    seen = story(*happens, replicas=3, controllers=controllers).to_end(120)
    found = [now / 1000 - 60 for now, fact in seen.of(Stage) if "fences" in fact.what]
    assert bool(found) == (fenced is not None)
    if fenced is None:
        assert silence(seen, 0) < 0.1
    else:
        assert fenced[0] <= found[0] <= fenced[1]


def test_commits_fail_after_five_seconds_in_every_group_and_count_once_the_broker_is_fenced() -> None:
    seen = story(broker(60, "kill"), replicas=3).to_end(120)
    failed = [(now, fact) for now, fact in seen.of(Committed) if fact.error]
    assert {fact.error for _, fact in failed} == {"COORDINATOR_NOT_AVAILABLE"}
    assert {fact.member for _, fact in failed} == {"c1", "c2"}
    (fenced,) = [now for now, fact in seen.of(Stage) if "fences" in fact.what]
    assert all(65_000 <= now <= fenced for now, _ in failed)
    taken = [now for now, fact in seen.of(Committed) if not fact.error]
    assert not [now for now in taken if 60_010 < now < fenced]
    assert [now for now in taken if now == fenced]
    assert seen.generations() == [1]
