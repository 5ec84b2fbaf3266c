"""Under load, too, quiet times are passed over: what comes of it is what comes of every single pull."""

from collections.abc import Mapping
from typing import Any

import pytest

from protocols.facts import Delivered, Owns
from protocols.java import Queue
from protocols.offsets import OffsetSet
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage
from tests.rocketmq_selfbalance.lived import Lived
from tests.rows import rows

TOPICS = {"T": {"broker-a": 4, "broker-b": 4}}


def at(seconds: float, **what: Any) -> dict[str, Any]:
    return {"at": seconds * 1000.0, **what}


def killed(seconds: float, back: float) -> list[dict[str, Any]]:
    return [at(seconds, broker="broker-b", does="kill"), at(back, broker="broker-b", does="return")]


CALAMITIES = {
    "nothing": [],
    "join": [at(60, join="c3", subscribe=("T",))],
    "leave": [at(61.2, leave="c2")],
    "crash": [at(70.7, crash="c2")],
    "hang": [at(70.7, hang="c1", **{"for": 25_000.0})],
    "kill": killed(83.4, 120),
    "cut": [at(70, network="cut", between=("c1", "broker-a"), **{"for": 20_000.0})],
    "queues": [at(66, queues={"T": {"broker-a": 7, "broker-b": 4}})],
}

LOADS = [(0.2, 0.0), (1.0, 20.0), (7.0, 20.0), (3.0, 0.0)]


def lived(events: list[Any], per_second: float, handle: float = 0.0, seconds: float = 170, **more: Any) -> Lived:
    members = {name: {"subscribe": ("T",), "handle": handle} for name in ("c1", "c2")}
    events = [{**each, "handle": handle} if "join" in each else each for each in events]
    return Lived(TOPICS, members, *events, seconds=seconds, produce=per_second, **more)


def handled(of: Lived) -> dict[tuple[str, Any], OffsetSet]:
    found: dict[tuple[str, Any], OffsetSet] = {}
    for _, _, fact in of.told(Delivered):
        found.setdefault((fact.member, fact.queue), OffsetSet()).add(fact.first, fact.end)
    return found


def committed(of: Lived) -> dict[Any, int]:
    brokers = [(queue, of.cluster.broker(queue.broker)) for queue in of.queues()]
    return {
        queue: broker.offsets.query("g", queue.topic, queue.number) for queue, broker in brokers if broker is not None
    }


def on_disk(of: Lived) -> list[Any]:
    return [(name, disk.offsets.offsets) for name, disk in of.cluster.servers.disks.items()]


@rows(
    ("what", "per_second", "handle"),
    [(what, *LOADS[place % len(LOADS)]) for place, what in enumerate(CALAMITIES)],
)
def test_members_handle_and_commit_the_same_records_as_pull_by_pull(
    what: str, per_second: float, handle: float
) -> None:
    quick, full = (lived(CALAMITIES[what], per_second, handle, full=full) for full in (False, True))
    assert handled(quick) == handled(full)
    assert committed(quick) == committed(full)
    assert on_disk(quick) == on_disk(full)
    owners = [{(fact.member, fact.queues) for _, _, fact in each.told(Owns)} for each in (quick, full)]
    assert owners[0] == owners[1]
    counts = [dict(each.variant.simulation.messages) for each in (quick, full)]
    pulls = [[of.pop(PullMessage), of.pop(PullAnswer)] for of in counts]
    assert counts[0] == counts[1]
    assert pulls[0] == pytest.approx(pulls[1], rel=0.01, abs=8)


@rows("what", ["join", "queues"])
def test_queues_with_rates_of_their_own_are_followed_as_well(what: str) -> None:
    rates = {"T-broker-a-1": 7.0, "T-3": 0.2, "T-broker-b-0": 0.0}
    quick, full = (lived(CALAMITIES[what], 3.0, 20.0, rates=rates, full=full) for full in (False, True))
    assert handled(quick) == handled(full)
    assert committed(quick) == committed(full)
    assert on_disk(quick) == on_disk(full)
    counts = [each.variant.simulation.messages for each in (quick, full)]
    assert len(counts[0]) == len(counts[1])
    assert quick.variant.simulation.number < full.variant.simulation.number


@rows("what", ["join", "kill"])
def test_ordered_consumption_is_followed_as_well(what: str) -> None:
    settings = {"orderly": True}
    quick, full = (lived(CALAMITIES[what], 5.0, settings=settings, full=full) for full in (False, True))
    assert handled(quick) == handled(full)
    assert committed(quick) == committed(full)
    assert on_disk(quick) == on_disk(full)


@rows("seed", [3, 6, 8, 12])
def test_at_a_handover_as_records_come_in_the_same_ones_are_handled_twice(seed: int) -> None:
    """Records of all queues come together, so that the order of their pulls decides which one is in hand."""
    members = {name: {"subscribe": ("T",), "handle": 2.0, "threads": 1} for name in ("c1", "c2", "c3")}
    events = [at(20, leave="c1"), at(25, restart="c1")]
    quick, full = (
        Lived(BUSY, members, *events, seconds=35, produce=10.0, seed=seed, full=full) for full in (False, True)
    )
    assert handled(quick) == handled(full)


BUSY = {"T": {"broker-a": 20, "broker-b": 20}}
CROWD = {f"c{number:02d}": {"subscribe": ("T",), "handle": 20.0} for number in range(36)}
CROWD_QUEUES = {"T": {"broker-a": 50, "broker-b": 40}}


@rows(
    ("events", "in_flight"),
    [
        ([at(50.03, hang="c03", **{"for": 16_000.0}), at(83.37, broker="broker-b", does="kill")], 0),
        ([at(41.23, leave="c02"), at(46.71, restart="c02"), at(57.03, crash="c30")], 1),
    ],
)
def test_a_crowd_is_followed_while_some_catch_up_or_wait_for_their_next_pass(events: list[Any], in_flight: int) -> None:
    """A record in flight when its queue changes hands may be handled at the other side of that."""
    quick, full = (
        Lived(CROWD_QUEUES, CROWD, *events, seconds=84, produce=6.0, full=full, rates={"T-broker-a-7": 30.0})
        for full in (False, True)
    )
    owners = [{(fact.member, fact.queues) for _, _, fact in each.told(Owns)} for each in (quick, full)]
    assert owners[0] == owners[1]
    ours, theirs = handled(quick), handled(full)
    assert ours.keys() == theirs.keys()
    assert all(abs(len(ours[key]) - len(theirs[key])) <= in_flight for key in ours)
    assert on_disk(quick) == on_disk(full)
    assert quick.variant.simulation.messages == pytest.approx(full.variant.simulation.messages, abs=90 * in_flight)
    assert quick.variant.simulation.number < full.variant.simulation.number / 3
    times = [time for time, _, _ in quick.facts]
    assert times == sorted(times)


def crowd(full: bool, members: int, per_broker: tuple[int, int], *events: Any, **given: Any) -> Lived:
    names = list(CROWD)[:members]
    topics = {"T": dict(zip(("broker-a", "broker-b"), per_broker, strict=True))}
    return Lived(topics, {name: {"subscribe": ("T",), "handle": 5.0} for name in names}, *events, full=full, **given)


@rows(
    ("queues", "events", "given"),
    [
        # Two queues are caught up with just before the broker writes its offsets, and followed from then on.
        (
            (60, 20),
            [at(36.53396, broker="broker-b", does="kill"), at(49.28787, leave="c13")],
            {"seconds": 74.28750130085487, "produce": 6.0, "seed": 7},
        ),
        # A client commits between the last moment that is followed and the end.
        (
            (40, 40),
            [
                at(25.78538, leave="c16"),
                at(31.83769, reset_offsets="g", topic="T", to=21_837.3, via="client"),
                at(43.00125, crash="c20"),
                at(50.2909, restart="c16"),
                at(55.40777, hang="c22", **{"for": 3_000.0}),
            ],
            {"seconds": 80.40740152007999, "produce": 3.0, "seed": 25},
        ),
    ],
)
def test_a_crowd_commits_what_it_has_handled(
    queues: tuple[int, int], events: list[Any], given: Mapping[str, Any]
) -> None:
    quick, full = (crowd(full, 36, queues, *events, **given) for full in (False, True))
    assert handled(quick) == handled(full)
    assert committed(quick) == committed(full)
    assert on_disk(quick) == on_disk(full)


def test_who_has_caught_up_in_a_crowd_is_followed_from_then_on() -> None:
    """Half a minute before anything else happens: what it reads is told in a few facts, not record by record."""
    members = {name: {**member, "threads": 1} for name, member in CROWD.items()}
    quick, full = (
        Lived(CROWD_QUEUES, members, at(43.3, produce={"T-broker-a-7": 100}), seconds=75, produce=6.0, full=full)
        for full in (False, True)
    )
    assert handled(quick) == handled(full)
    (reader,) = {fact.member for _, _, fact in quick.told(Owns) if Queue("T", "broker-a", 7) in fact.queues}
    told = [time for time, _, fact in quick.told(Delivered) if fact.member == reader]
    assert sum(43.3 < time < 50 for time in told) > 100
    assert sum(time > 50 for time in told) < 10


def test_a_reset_takes_queues_away_while_they_are_added_which_two_read_for_a_while() -> None:
    events = [
        at(35.35676, disconnect="c21"),
        at(38.48538, reset_offsets="g", topic="T", to=28_485.0, via="client"),
        at(47.49628, queues={"T": {"broker-a": 47, "broker-b": 40}}),
    ]
    given = {"seconds": 72.49590990221708, "produce": 6.0, "seed": 2, "strategy": "AVG_BY_CIRCLE"}
    quick, full = (crowd(full, 30, (40, 40), *events, **given) for full in (False, True))
    assert handled(quick) == handled(full)
    assert on_disk(quick) == on_disk(full)


def test_a_killed_broker_forgets_what_it_had_not_written() -> None:
    """It writes every five seconds, the last time 4.8 s before."""
    quick, full = (lived(killed(84.8, 200), 10.0, seconds=100, full=full) for full in (False, True))
    stored = [each.cluster.servers.disks["broker-b"].offsets.offsets["T@g"] for each in (quick, full)]
    assert stored[0] == stored[1]
    assert set(stored[0].values()) <= {799, 800}


def test_facts_come_in_the_order_of_time() -> None:
    for per_second in (1.0, 10.0):
        times = [time for time, _, _ in lived(CALAMITIES["hang"], per_second, 20.0).facts]
        assert times == sorted(times)


@rows(
    ("events", "per_second", "handle"),
    [
        ([at(60.59, produce={"T-broker-a-0": 3})], 3.0, 20.0),
        ([at(70, reset_offsets="g", topic="T", to=10_000.0, via="client")], 10.0, 0.0),
    ],
)
def test_nobody_goes_ahead_of_what_is_yet_to_be_told(events: list[Any], per_second: float, handle: float) -> None:
    quick, full = (lived(events, per_second, handle, seconds=110.742, full=full) for full in (False, True))
    times = [time for time, _, _ in quick.facts]
    assert times == sorted(times)
    assert handled(quick) == handled(full)


def test_reading_does_not_go_ahead_of_the_end_of_a_pass() -> None:
    topics = {"T": {"broker-a": 3}, "U": {"broker-a": 1, "broker-b": 1}}
    join = at(115.424, join="gn1", subscribe=("T",))
    members = {"g1": {"subscribe": ("T", "U")}}
    given: dict[str, Any] = {"strategy": "CONSISTENT_HASH", "latency": (2.0, 2.0), "seed": 2}
    joined = Lived(topics, members, join, seconds=315.424, produce=3.0, **given)
    times = [time for time, _, _ in joined.facts]
    assert times == sorted(times)


def test_a_reader_whose_pull_was_lost_reads_on_when_it_is_overdue() -> None:
    cut = {"network": "cut", "between": ("c1", "broker-a"), "for": 2_400.0}
    quick, full = (lived([at(99.9, **cut)], 1.0, full=full, latency=(0.0, 60.0)) for full in (False, True))
    late = [
        {(each[2].queue, each[2].first) for each in of.told(Delivered) if 103 < each[0] < 125} for of in (quick, full)
    ]
    assert late[0] == late[1]
    assert handled(quick) == handled(full)


def test_the_cost_does_not_grow_with_the_rate() -> None:
    numbers = [lived([], rate, seconds=600).variant.simulation.number for rate in (10.0, 500.0)]
    assert numbers[1] < 15 * numbers[0]
    assert lived([], 10.0, seconds=600, full=True).variant.simulation.number > 10 * numbers[0]


@rows(
    "settings",
    [{"consumer": "lite_pull"}, {"messageModel": "BROADCASTING"}, {"pullInterval": 50}],
)
def test_other_ways_to_read_are_simulated_pull_by_pull(settings: dict[str, Any]) -> None:
    quick, full = (lived([], 2.0, seconds=60, settings=settings, full=full) for full in (False, True))
    assert quick.told(Delivered) == full.told(Delivered) != []


def test_reading_is_simulated_where_nearly_all_threads_work() -> None:
    """Each client has four queues with 10 records per second, of 45 ms each: 1.8 threads work on average, of two."""
    settings = {"consumeThreadMax": 2}
    quick, full = (lived([], 10.0, 45.0, seconds=60, settings=settings, full=full) for full in (False, True))
    assert quick.told(Delivered) == full.told(Delivered) != []
