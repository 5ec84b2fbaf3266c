"""Whole runs beside arithmetic that anybody can do: each row has a scenario, where a figure stands in the record, and
the least and most that it may be."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import pytest

from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.spread import figure
from compare.running.systems import scenario
from compare.running.variants import variants_of

Ranges: TypeAlias = Mapping[str, tuple[float, float]]

KAFKA, ROCKETMQ = "kafka:range", "rocketmq:AVG"
BOTH: Final = [KAFKA, ROCKETMQ]


def members(count: int, handle: str) -> dict[str, object]:
    return {"name": "g", "members": {f"p1..p{count}" if count > 1 else "p1": {"subscribe": ["t"], "handle": handle}}}


def day(queues: object, count: int, handle: str, load: object, lasts: str, *events: object, **more: Any) -> Any:
    given = {
        "name": "arithmetic",
        "topics": {"t": queues},
        "group": members(count, handle),
        "load": load,
        "run": {"for": lasts, "seed": 3},
        "events": list(events),
        "systems": BOTH,
    }
    return scenario({**given, **more})


def both(wanted: Ranges) -> Mapping[str, Ranges]:
    return dict.fromkeys(BOTH, wanted)


BROKERS: Final = {"brokers": ["b1", "b2", "b3"], "group": members(3, "1ms")}
SPREAD: Final = {"queues": {"b1": 2, "b2": 2, "b3": 2}}


def out(does: str) -> Any:
    """A broker of three is out for a minute."""
    event = {"at": "60s", "broker": "b2", "does": does, "for": "60s"}
    return day(SPREAD, 3, "1ms", {"produce": "20/s"}, "6min", event, **BROKERS)


CASES: Final[Mapping[str, tuple[Any, Mapping[str, Ranges]]]] = {
    # Four members take 100/s each and get 25/s: a burst of 1,500 a queue is over after 1500 / 100 s, when its last
    # record is as old.
    "a burst": (
        day(4, 4, "10ms", {"produce": "25/s"}, "3min", {"at": "60s", "produce": {"t": 6000}}),
        both(
            {
                "capacity_per_s": (400, 400),
                "lag.peak": (5_700, 6_200),
                "lag.drain_s": (14.5, 16),
                "record_age_ms.max": (14_500, 16_000),
                "harm.work.waiting": (0, 0),
                "redelivered": (0, 0),
            }
        ),
    ),
    # 80 % of 2 x 1000 / 20 = 100/s.
    "percent of capacity": (
        day(4, 2, "20ms", {"produce": "80%"}, "5min"),
        both({"capacity_per_s": (100, 100), "handled_per_s": (78, 80.1), "harm.work.waiting": (0, 2)}),
    ),
    # 15/s come, 5/s can be handled: 10/s wait, and the last record that is handled is 2/3 of the run old.
    "too slow": (
        day(3, 1, "200ms", {"produce": "5/s"}, "5min"),
        both(
            {
                "capacity_per_s": (5, 5),
                "handled_per_s": (4.8, 5.05),
                "harm.work.waiting": (2_900, 3_060),
                "record_age_ms.max": (185_000, 203_000),
            }
        ),
    ),
    # p1 takes 5/s of its 20/s for 60 s: 900 wait; then it takes 100/s and gains 80/s: 11.3 s.
    "slow for a minute": (
        day(4, 2, "10ms", {"produce": "10/s"}, "5min", {"at": "60s", "slow": {"p1": "200ms"}, "for": "60s"}),
        both({"lag.peak": (860, 930), "harm.work.waiting": (0, 2), "longest_gap_s": (0, 0)}),
    ),
    # One key: all 40/s go to one queue, whose reader takes 25/s: 15/s wait, and what comes before the group has begun
    # (Kafka: 6 s, twice group.initial.rebalance.delay.ms as members come one after the other).
    "one key": (
        day(4, 4, "40ms", {"produce": "10/s", "keys": {"t": 1}}, "4min"),
        both({"handled_per_s": (24, 25.1), "harm.work.waiting": (3_500, 3_720)}),
    ),
    # Sessions: Kafka's 45 s; RocketMQ's channel 120 s after its last heartbeat (each 30 s), looked for each 10 s.
    "a lost machine": (
        day(6, 3, "1ms", {"produce": "10/s"}, "5min", {"at": "61s", "lose": "p2"}),
        {
            KAFKA: {"longest_gap_s": (42, 52), "harm.longest_stall_s": (42, 52), "harm.stalled_queues": (2, 6)},
            ROCKETMQ: {"harm.longest_stall_s": (89, 132), "harm.stalled_queues": (2, 2)},
        },
    ),
    # Who cannot say good-bye is missed at once: the connection ends.
    "a killed process": (
        day(6, 3, "1ms", {"produce": "10/s"}, "5min", {"at": "61s", "crash": "p2"}),
        {KAFKA: {"harm.longest_stall_s": (42, 52)}, ROCKETMQ: {"harm.longest_stall_s": (0, 3)}},
    ),
    # Two threads of 10 ms each for 120/s; with ten, records of one queue overtake each other where there are several.
    "threads": (
        day(2, 1, "10ms", {"produce": "60/s"}, "2min", threads=2),
        both({"capacity_per_s": (200, 200), "handled_per_s": (116, 120.5)}),
    ),
    "a killed broker": (
        out("kill"),
        {
            # Nothing is acknowledged anywhere until the session of 9 s is over, checked each 1.125 s.
            KAFKA: {
                "record_age_ms.max": (7_000, 12_600),
                "harm.work.refused": (0, 0),
                "redelivered": (0, 0),
                "harm.stalled_queues": (6, 6),
            },
            # Plain sends go elsewhere; its queues stand still until the broker is back and all have heard of it.
            ROCKETMQ: {"harm.work.refused": (0, 0), "harm.stalled_queues": (2, 6)},
        },
    ),
    # A request waits for 30 s; the thaw comes later. RocketMQ's route stays.
    "a frozen broker": (
        out("freeze"),
        {
            KAFKA: {"record_age_ms.max": (30_000, 33_500), "harm.work.refused": (0, 0)},
            ROCKETMQ: {"harm.stalled_queues": (2, 6), "harm.longest_stall_s": (55, 64)},
        },
    ),
    # A pod takes 50/s, 200/s come: at least four are needed, and six keep up with what waits.
    "an autoscaler": (
        day(
            12,
            1,
            "20ms",
            {"produce": "16.7/s"},
            "10min",
            scale={"group": "g", "lag": 1000, "between": "1..12", "every": "30s"},
        ),
        both({"capacity_per_s": (50, 50), "harm.work.waiting": (0, 30_000)}),
    ),
    # Four members say good-bye and are back 5 s later, one after the other: two rebalances each.
    "a rolling deploy": (
        day(
            8, 4, "1ms", {"produce": "20/s"}, "4min", {"at": "60s", "rolling": "p1..p4", "gap": "20s", "downtime": "5s"}
        ),
        {
            KAFKA: {"redelivered": (0, 0), "rebalances": (8, 9), "longest_gap_s": (0, 4)},
            ROCKETMQ: {"longest_gap_s": (0, 22), "harm.work.waiting": (0, 2)},
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_figures_are_what_arithmetic_says(name: str) -> None:
    of, wanted = CASES[name]
    wrong = []
    for variant in variants_of(of):
        record = run_record(run_variant(variant))
        for path, (least, most) in wanted.get(variant.label, {}).items():
            found = figure(record, path)
            if found is None or not least <= found <= most:
                wrong.append(f"{variant.label} {path}: {found}, wanted {least:g} to {most:g}")
    assert wrong == []
