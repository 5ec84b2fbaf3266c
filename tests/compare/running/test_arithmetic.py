"""Whole runs beside arithmetic that anybody can do: each row has a scenario, and per variant where a figure stands in
the record, and the least and most that it may be."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import pytest

from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.spread import figure
from compare.running.systems import scenario
from compare.running.variants import variants_of

Ranges: TypeAlias = Mapping[str, tuple[float, float]]

EAGER, COOPERATIVE, UNIFORM, AVG = "kafka:range", "kafka:cooperative-sticky", "kafka:uniform", "rocketmq:AVG"
SHARE, POP = "kafka:share", "rocketmq:POP"
KAFKA: Final = (EAGER, COOPERATIVE, UNIFORM)
OWNERS: Final = (*KAFKA, AVG)
EVERY: Final = (*OWNERS, SHARE, POP)
ITS, OTHERS = "outages.0.without_send_s.its", "outages.0.without_send_s.others"
READ_ITS, READ_OTHERS = "outages.0.without_read_s.its", "outages.0.without_read_s.others"
NOTHING_LOST: Final = {"harm.work.refused": (0, 0), "harm.work.lost": (0, 0), "harm.work.waiting": (0, 2)}


def members(count: int, handle: str, **more: object) -> dict[str, object]:
    return {f"p1..p{count}" if count > 1 else "p1": {"subscribe": ["t"], "handle": handle, **more}}


def day(queues: object, group: object, load: object, lasts: str, *events: object, **more: Any) -> Any:
    given = {
        "name": "arithmetic",
        "topics": {"t": queues},
        "group": {"name": "g", "members": group},
        "load": load,
        "run": {"for": lasts, "seed": 3},
        "events": list(events),
    }
    return scenario({**given, **more})


def each_of(variants: Iterable[str], wanted: Ranges) -> Mapping[str, Ranges]:
    return dict.fromkeys(variants, wanted)


def out(does: str, lasts: str = "60s", settings: Mapping[str, object] | None = None, **more: Any) -> Any:
    """A broker of three, two queues each, is out; ``settings`` of the variants."""
    spread, load = {"queues": {"b1": 2, "b2": 2, "b3": 2}}, {"produce": "20/s", **more.pop("load", {})}
    event = {"at": "81s", "broker": "b2", "does": does, "for": lasts}
    if settings:
        more["systems"] = [{"system": each, "label": each, "settings": settings} for each in KAFKA]
    return day(spread, members(3, "1ms"), load, "7min", event, brokers=["b1", "b2", "b3"], **more)


def session(seconds: int) -> dict[str, object]:
    return members(3, "1ms", settings={"session.timeout.ms": seconds * 1000, "heartbeat.interval.ms": 2000})


def commit_each(seconds: int) -> dict[str, object]:
    names = ("auto.commit.interval.ms", "persistConsumerOffsetInterval")
    return members(2, "1ms", settings=dict.fromkeys(names, seconds * 1000))


UNLIKE: Final = {**members(1, "20ms", threads=4), "p2..p3": {"subscribe": ["t"], "handle": "20ms"}}
"""200 records/s, and twice 50 for each thread of the variant."""

CASES: Final[Mapping[str, tuple[Any, Mapping[str, Ranges]]]] = {
    "capacity of two threads": (
        day(6, UNLIKE, {"produce": "2/s"}, "90s", threads=2),
        each_of(EVERY, {"capacity_per_s": (400, 400), "handled_per_s": (11, 12.1)}),
    ),
    "capacity of each client's own threads": (
        day(6, UNLIKE, {"produce": "2/s"}, "90s", threads="real"),
        {
            **each_of((*KAFKA, SHARE), {"capacity_per_s": (300, 300)}),
            **each_of((AVG, POP), {"capacity_per_s": (2200, 2200)}),
        },
    ),
    # 80 % of 3 x 1000 / 150 records/s.
    "percent of capacity": (
        day(6, members(3, "150ms"), {"produce": "80%"}, "4min"),
        each_of(EVERY, {"capacity_per_s": (20, 20), "handled_per_s": (15.2, 16.01), "harm.work.waiting": (0, 4)}),
    ),
    # A record of each of four queues comes at a time, and is done 40 to 160 ms later, however much waited at the start.
    "age at 80 % of capacity": (
        day(4, members(1, "40ms"), {"produce": "80%"}, "5min"),
        each_of(OWNERS, {"record_age_ms.p50": (81, 126), "record_age_ms.settled_p99": (161, 166)}),
    ),
    # 20/s are too slow by a fifth for a minute: a record that comes then waits for up to 60 x (1 - 1 / 1.2) s, and of
    # 24,000 in all 4,000 have an age between 0 and that.
    "a fifth too much for a minute": (
        day(4, members(1, "20ms"), {"produce": "10/s"}, "10min", {"at": "100s", "slow": {"p1": "30ms"}, "for": "60s"}),
        each_of(
            OWNERS,
            {"lag.peak": (395, 410), "record_age_ms.max": (9_900, 10_200), "record_age_ms.settled_p99": (9_300, 9_550)},
        ),
    ),
    # A record travels for 1 to 5 ms to the member, and waits for at most one of its member's other queue.
    "age at rest": (
        day(4, members(2, "10ms"), {"produce": "2/s"}, "4min"),
        each_of(EVERY, {"record_age_ms.p50": (11, 35), "redelivered": (0, 0)}),
    ),
    # Three members take 1000 records each, 100/s: ages rise evenly up to 10 s.
    "age in a burst": (
        day(6, members(3, "10ms"), {"produce": 0}, "2min", {"at": "60s", "produce": {"t": 3000}}),
        each_of(
            EVERY,
            {
                "record_age_ms.p50": (4_900, 5_300),
                "record_age_ms.p99": (9_700, 10_500),
                "record_age_ms.max": (9_900, 10_600),
                "lag.peak": (2_990, 3_000),
                "lag.drain_s": (9.9, 10.7),
                "harm.work.written": (3_000, 3_000),
                "harm.work.handled": (3_000, 3_000),
            },
        ),
    ),
    # 100/s are handled: what waits at the peak is done after 240 / 20 s; 8/s come meanwhile.
    "lag drains": (
        day(4, members(2, "100ms"), {"produce": "2/s"}, "3min", {"at": "60s", "produce": {"t": 240}}),
        each_of(EVERY, {"lag.peak": (236, 252), "lag.drain_s": (11.5, 20.5), "harm.work.waiting": (0, 2)}),
    ),
    # Within a second of two hours, long after the first event.
    "a short peak in a long run": (
        day(
            4,
            members(2, "1ms"),
            {"produce": "1/s"},
            "2h",
            *({"at": at, "produce": {"t": count}} for at, count in (("60s", 4), ("50min", 2000))),
        ),
        each_of((EAGER, AVG), {"lag.peak": (1_995, 2_010), "lag.drain_s": (0.9, 1.5)}),
    ),
    # p1 takes 20/s of its 40/s for 5 min: 6000 wait; then it takes 100/s, and the last of them is handled after 60 s.
    # Of what comes before that, the oldest has waited for half of the five minutes.
    "slow for five minutes": (
        day(4, members(2, "10ms"), {"produce": "20/s"}, "10min", {"at": "60s", "slow": {"p1": "50ms"}, "for": "5min"}),
        each_of(
            OWNERS,
            {
                "lag.peak": (5_900, 6_120),
                "lag.drain_s": (58, 65),
                "record_age_ms.max": (145e3, 156e3),
                "redelivered": (0, 0),
            },
        ),
    ),
    # One key: all 40/s go to one queue, whose reader takes 25/s: 15/s wait, and what comes before the group has begun
    # (Kafka: 6 s, twice group.initial.rebalance.delay.ms as members come one after the other).
    "one key": (
        day(4, members(4, "40ms"), {"produce": "10/s", "keys": {"t": 1}}, "4min"),
        each_of((EAGER, AVG), {"handled_per_s": (24, 25.1), "harm.work.waiting": (3_500, 3_720)}),
    ),
    # 400/s come to members that handle 200/s, and every queue gets more than the 50/s that its reader can handle: of
    # zipf 1.2 the first key alone has 1 / 4.33 of all records. In the consumer protocol one member has all queues for
    # up to two heartbeats (5 s) and two polls of 500 records (10 s), and three handle nothing meanwhile.
    "a hot key": (
        day(4, members(4, "20ms"), {"produce": "100/s", "keys": {"t": "zipf 1.2"}}, "2min"),
        {
            **each_of((EAGER, COOPERATIVE, AVG), {"harm.work.waiting": (23_700, 25_500)}),
            UNIFORM: {"harm.work.waiting": (23_700, 28_500)},
        },
    ),
    # Of 20 threads each begins while two others of its queue (of 5 keys) are at work.
    "order of 20 threads": (
        day(2, members(1, "100ms", threads=20), {"produce": "20/s", "keys": {"t": "10"}}, "2min"),
        {AVG: {"out_of_order.queue": (4_500, 4_800), "out_of_order.key": (900, 1_900)}},
    ),
    # At most what two queues get between two commits, with what is under way.
    **{
        f"a crash, commits each {seconds} s": (
            day(4, commit_each(seconds), {"produce": "20/s"}, "3min", {"at": "83s", "crash": "p2"}),
            {
                **each_of(KAFKA, {"redelivered": (0, seconds * 40 + 4), "harm.work.waiting": (0, 4)}),
                # Each pull brings the offset along: at most what two pulls of one record each have brought since.
                AVG: {"redelivered": (0, 4), "harm.work.waiting": (0, 4)},
            },
        )
        for seconds in (1, 20)
    },
    # The session from the last heartbeat (2 s) on; then others learn of it at their next one, where partitions move.
    **{
        f"a crash, sessions of {seconds} s": (
            day(
                6,
                session(seconds),
                {"produce": "10/s"},
                "3min",
                {"at": "81s", "crash": "p2"},
                systems=[EAGER, COOPERATIVE],
            ),
            {
                EAGER: {
                    "longest_gap_s": (seconds - 2.1, seconds + 2.2),
                    "harm.longest_stall_s": (seconds - 2.1, seconds + 2.3),
                    "unowned_queue_s": (2 * (seconds - 2.1), 2 * (seconds + 2.2) + 4 * 2.1),
                },
                COOPERATIVE: {
                    "longest_gap_s": (seconds - 2.1, seconds + 4.4),
                    "unowned_queue_s": (2 * (seconds - 2.1), 2 * (seconds + 4.4) + 0.5),
                },
            },
        )
        for seconds in (6, 45)
    },
    # Kafka: sessions of 45 s, heartbeats each 3 s or 5 s. RocketMQ: the channel's 120 s after a heartbeat (each 30 s),
    # looked for each 10 s; a killed process is missed at once, as its connection ends.
    "a lost machine": (
        day(6, members(3, "1ms"), {"produce": "10/s"}, "5min", {"at": "81s", "lose": "p2"}),
        {
            EAGER: {"longest_gap_s": (41.9, 48.2)},
            COOPERATIVE: {"longest_gap_s": (41.9, 51.4)},
            UNIFORM: {"longest_gap_s": (39.9, 50.2)},
            AVG: {"longest_gap_s": (89, 132), "harm.stalled_queues": (2, 2)},
        },
    ),
    "a killed process": (
        day(6, members(3, "1ms"), {"produce": "10/s"}, "4min", {"at": "81s", "crash": "p2"}),
        {UNIFORM: {"longest_gap_s": (39.9, 50.2)}, AVG: {"longest_gap_s": (0, 1.5), "harm.longest_stall_s": (0, 3)}},
    ),
    # Its two queues have two owners from when it is missed, as above, until it goes on; but it reads nothing meanwhile.
    "a frozen process": (
        day(6, members(3, "1ms"), {"produce": "10/s"}, "5min", {"at": "81s", "hang": "p2", "for": "150s"}),
        {
            EAGER: {"two_owners.believed_queue_s": (2 * 101, 2 * 109), "two_owners.reading_queue_s": (0, 2)},
            COOPERATIVE: {"two_owners.believed_queue_s": (2 * 98, 2 * 109), "two_owners.reading_queue_s": (0, 2)},
            UNIFORM: {"two_owners.believed_queue_s": (2 * 99, 2 * 111), "two_owners.reading_queue_s": (0, 2)},
            AVG: {"two_owners.believed_queue_s": (2 * 18, 2 * 62), "two_owners.reading_queue_s": (0, 3)},
        },
    ),
    # Four members say good-bye and are back 5 s later, one after the other: two rebalances each.
    "a rolling deploy": (
        day(
            8,
            members(4, "1ms"),
            {"produce": "20/s"},
            "4min",
            {"at": "60s", "rolling": "p1..p4", "gap": "20s", "downtime": "5s"},
        ),
        {
            EAGER: {"redelivered": (0, 0), "rebalances": (8, 9), "longest_gap_s": (0, 4)},
            AVG: {"longest_gap_s": (0, 22), "harm.work.waiting": (0, 2)},
        },
    ),
    # Nothing is acknowledged anywhere until the session of 9 s (heartbeats each 2 s) is over, looked for each 1.125 s;
    # what waited is there at once then, of the dead broker's partitions a little later.
    "a killed broker": (
        out("kill"),
        {
            **each_of(
                KAFKA,
                {
                    **NOTHING_LOST,
                    "redelivered": (0, 0),
                    ITS: (7.1, 11),
                    OTHERS: (7, 10.6),
                    READ_OTHERS: (7, 10.7),
                    "record_age_ms.max": (7_000, 11_200),
                    "lag.peak": (4 * 20 * 7 - 20, 6 * 20 * 10.3 + 20),
                },
            ),
            # Plain sends go elsewhere; its queues are written to when it has registered and producers have polled.
            AVG: {"outages.0.refused": (0, 0), "outages.0.retried": (1, 1200), ITS: (63, 106), OTHERS: (0, 0.3)},
        },
    ),
    "a killed broker, sessions of 20 s": (
        out("kill", settings={"broker.session.timeout.ms": 20000}),
        each_of(KAFKA, {ITS: (17.9, 23.5), OTHERS: (17.9, 22.9)}),
    ),
    "a killed broker, acks of the leader alone": (
        out("kill", load={"producer": {"acks": 1}}),
        each_of(KAFKA, {ITS: (7.1, 11), OTHERS: (0, 0.3), READ_OTHERS: (7, 10.7)}),
    ),
    # One replica is left of those that it has, which are too few to write to until it is back.
    "a killed broker of two replicas, both demanded": (
        out("kill", settings={"min.insync.replicas": 2}, replication={"kafka": 2}),
        each_of(KAFKA, {ITS: (60, 70)}),
    ),
    # First an election after 2 s, then a new session of 9 s.
    "the active controller killed": (
        out("kill", controllers=["b2", "b1", "b3"]),
        each_of(KAFKA, {**NOTHING_LOST, ITS: (10.5, 14), OTHERS: (10.4, 13.5)}),
    ),
    "a stopped broker": (out("stop"), each_of(KAFKA, {**NOTHING_LOST, ITS: (0, 4), OTHERS: (0, 4)})),
    "a broker frozen for 5 s": (
        out("freeze", "5s"),
        {**each_of(KAFKA, {**NOTHING_LOST, ITS: (5, 7.5), OTHERS: (4.9, 7.5)}), AVG: {ITS: (3, 8), OTHERS: (0, 8)}},
    ),
    # Clients of Kafka wait for 30 s, with their own setting for 10 s; RocketMQ's route stays.
    "a broker frozen for a minute": (
        out("freeze"),
        {
            **each_of(KAFKA, {**NOTHING_LOST, ITS: (30, 32.5), OTHERS: (7, 10.7), "record_age_ms.max": (30e3, 33.5e3)}),
            AVG: {ITS: (58, 63)},
        },
    ),
    "a broker frozen for a minute, requests of 10 s": (
        out("freeze", settings={"request.timeout.ms": 10000}, load={"producer": {"request.timeout.ms": 10000}}),
        each_of(KAFKA, {ITS: (10, 12.5), OTHERS: (7, 10.7), READ_ITS: (10, 13)}),
    ),
    # A controller makes its slave master.
    "a killed master with a slave and a controller": (
        out("kill", "120s", replication={"rocketmq": 2, "rocketmq_controller": True}),
        {AVG: {"outages.0.refused": (0, 0), ITS: (0, 31), "redelivered": (0, 0)}},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_figures_are_what_arithmetic_says(name: str) -> None:
    of, wanted = CASES[name]
    wrong = []
    for variant in variants_of(of, tuple(wanted)):
        record = run_record(run_variant(variant))
        for path, (least, most) in wanted[variant.label].items():
            found = figure(record, path)
            if found is None or not least <= found <= most:
                wrong.append(f"{variant.label} {path}: {found}, wanted {least:g} to {most:g}")
    assert wrong == []
