"""Share groups in scenarios: when records are given, again, and to whom (spec share 2.3, 6, 7); what is refused."""

from collections.abc import Mapping
from typing import Any

import pytest

from compare.running.run_variant import run_variant
from compare.running.systems import scenario
from compare.running.variants import variants_of
from protocols.errors import UserError
from protocols.facts import Available
from protocols.timeline import Timeline

MEMBER = {"subscribe": ["orders"], "handle": "100ms"}
EXPLICIT = {"share.acknowledgement.mode": "explicit"}


def run(
    *events: Mapping[str, Any],
    members: int = 2,
    partitions: int = 2,
    brokers: int = 1,
    seconds: int = 120,
    settings: Mapping[str, Any] | None = None,
    **own: Any,
) -> Timeline:
    """A share group, whose members have these settings or other fields; a record per second and partition."""
    names = [f"b{number}" for number in range(1, brokers + 1)]
    lived = scenario(
        name="s",
        brokers=names,
        topics={"orders": {"queues": dict.fromkeys(names, partitions)}},
        groups={
            "g": {
                "settings": {"share.auto.offset.reset": "earliest"},
                "members": {f"c{number}": {**MEMBER, **own} for number in range(1, members + 1)},
            }
        },
        load={"produce": "1/s"},
        run={"for": f"{seconds}s"},
        systems=[{"system": "kafka:share", "settings": settings or {}}],
        events=list(events),
    )
    (variant,) = variants_of(lived)
    return run_variant(variant).timeline


def back(timeline: Timeline, why: str) -> list[tuple[str, float]]:
    """Who had records that came back so, and when (seconds)."""
    return [(fact.member, now / 1000) for now, fact in _told(timeline) if fact.why == why]


def _told(timeline: Timeline) -> list[tuple[float, Available]]:
    return [(each.now, each.fact) for each in timeline.facts if isinstance(each.fact, Available)]


def test_a_new_group_is_given_nothing_before_its_second_heartbeat() -> None:
    given = run(seconds=20).given
    assert 5_000 < given[0].since < 5_100
    assert {each.first for each in given if each.since < 5_100} == {0}


def test_a_machine_that_is_lost_keeps_its_records_until_their_locks_end() -> None:
    timeline = run({"at": "20s", "lose": "c1"}, handle="700ms", seconds=150)
    ((who, at),) = back(timeline, "lock timeout")[:1]
    assert who == "c1"
    assert 45 < at <= 50.1
    assert back(timeline, "session closed") == []
    orphaned = {each.queue for each in timeline.given if each.member == "c1"}
    again = min(each.since for each in timeline.given if each.queue in orphaned and each.since > 22_000)
    assert 60_000 < again <= 70_000  # its session, then a heartbeat of another member


def test_a_hung_process_keeps_its_session() -> None:
    timeline = run({"at": "20s", "hang": "c1", "for": "35s"}, handle="700ms")
    (back_at,) = {round(at) for who, at in back(timeline, "lock timeout") if who == "c1"}
    assert 45 <= back_at <= 50


def test_deliveries_are_counted_anew_by_a_new_leader() -> None:
    events = {"at": "30.3s", "broker": "b1", "does": "kill"}
    timeline = run(events, brokers=2, partitions=1, members=2, handle="500ms")
    lost = [(each.queue, each.first) for each in timeline.given if each.fate == "leader moved"]
    assert lost
    assert {each.attempt for each in timeline.given if (each.queue, each.first) in lost} == {1}


@pytest.mark.parametrize(
    ("events", "times"),
    [
        # Back before its session ends, it leads on until it is unfenced: it loses records twice.
        ([{"at": "30.3s", "broker": "b1", "does": "kill", "for": "2s"}], 2),
        # Others lead already when the frozen process is killed: it has nothing more to lose.
        (
            [
                {"at": "30.3s", "broker": "b1", "does": "freeze", "for": "60s"},
                {"at": "50s", "broker": "b1", "does": "kill", "for": "20s"},
            ],
            1,
        ),
        # A process is frozen once: nothing is lost, as it goes on before its session ends.
        (
            [
                {"at": "30.3s", "broker": "b1", "does": "freeze", "for": "4s"},
                {"at": "33s", "broker": "b1", "does": "freeze", "for": "12s"},
            ],
            0,
        ),
    ],
)
def test_records_of_a_broker_that_ends_come_back_once(events: list[dict[str, Any]], times: int) -> None:
    timeline = run(*events, brokers=2, partitions=1, members=6, handle="5s")
    assert len({round(at) for _, at in back(timeline, "leader moved") if at < 80}) == times


@pytest.mark.parametrize(
    ("own", "fates"),
    [
        ({**EXPLICIT, "on.error": "release"}, ["released"] * 4 + ["archived"]),
        ({**EXPLICIT, "on.error": "reject"}, ["archived"]),
        ({}, ["lock timeout"] * 4),
    ],
)
def test_a_record_that_the_code_cannot_handle(own: dict[str, str], fates: list[str]) -> None:
    timeline = run({"at": "20.1s", "poison": "orders-0"}, members=6, partitions=1, settings=own, seconds=200)
    assert [each.fate for each in timeline.given if each.first <= 20 < each.end][: len(fates)] == fates


def test_a_slow_record_is_renewed_by_a_code_that_does() -> None:
    slow = {"at": "20s", "slow": {"c1": "50s", "c2": "50s"}, "for": "100s"}
    assert back(run(slow), "lock timeout") != []
    assert back(run(slow, settings={**EXPLICIT, "renew.interval.ms": 10_000}), "lock timeout") == []


@pytest.mark.parametrize(
    ("own", "settings", "says"),
    [
        ({"instance_id": "i"}, {}, "member c1: group.instance.id i: share groups have no static members"),
        ({"strategy": "uniform"}, {}, "member c1: strategy uniform: a share group has the broker's assignor"),
        (
            {"subscribe": (), "pattern": "o.*"},
            {},
            "member c1: pattern o.*: a share consumer subscribes to topics by name",
        ),
        ({}, {"session.timeout.ms": 1}, "unknown setting 'session.timeout.ms'"),
        ({}, {"on.error": "release"}, "needs share.acknowledgement.mode: explicit"),
        ({}, {"share.acknowledgement.mode": "both"}, "expected one of implicit, explicit"),
        ({}, {"group.share.delivery.count.limit": 11}, "expected from group.share.min.delivery.count.limit"),
    ],
)
def test_what_share_groups_do_not_have_is_refused(own: dict[str, Any], settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says.replace(".", r"\.").replace("*", r"\*")):
        run(members=1, settings=settings, **own)


def test_settings_of_shared_delivery_do_not_matter_to_groups_with_owners() -> None:
    part = {**MEMBER, "settings": {"share.acknowledgement.mode": "explicit"}}
    lived = scenario(
        name="s",
        brokers=["b1"],
        topics={"orders": {"queues": {"b1": 1}}},
        groups={"g": {"settings": {"share.delivery.count.limit": 3}, "members": {"c1": part}}},
        run={"for": "10s"},
        systems=["kafka:uniform"],
    )
    (variant,) = variants_of(lived)
    assert len(run_variant(variant).timeline.owned["g", "c1"]) == 1
