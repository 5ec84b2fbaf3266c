"""What the comparison says caused a rebalance: the event that did, never one that only came in between."""

from typing import Any

import pytest

from compare.running.run_variant import run_variant
from compare.running.systems import known_strategies
from compare.running.variants import variants_of
from protocols.scenario.reading import read
from tests.compare.compared import made

GROW = {"at": "60s", "queues": {"T": 6}}
SLOWER = {"at": "100s", "network": "delay", "delay": "10ms", "for": "5s"}


def causes(system: str, *events: dict[str, Any], members: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    """Trigger and cause of every rebalance after the beginning; c1, c2 and c3 share topic T for eight minutes."""
    group = {"name": "g", "members": members or {"c1..c3": ["T"]}}
    of = made(topics={"T": 4, "U": 2}, group=group, load={}, run={"for": "8min", "seed": 1}, events=list(events))
    (variant,) = variants_of(of, [system])
    rebalances = run_variant(variant).timeline.rebalances
    return [(each.trigger, each.cause.text) for each in rebalances if each.cause.text != BEGINNING]


BEGINNING = "the scenario begins"
SEEN = "c3 rejoined with other protocols or metadata"


def test_partitions_seen_minutes_later_are_put_down_to_the_change_of_the_topic(subtests: pytest.Subtests) -> None:
    for system in ["kafka:range", "kafka:cooperative-sticky"]:
        for between in [
            {"at": "100s", "reset_offsets": "g", "topic": "T", "to": "10s"},
            {**SLOWER, "between": ["c1", "broker-a"]},
            {**SLOWER, "between": ["c3", "broker-a"]},
            {**SLOWER, "between": ["broker-a"]},
            {"at": "100s", "queues": {"U": 3}},
            {"at": "100s", "add_topic": {"V": 3}},
        ]:
            with subtests.test(system=system, between=between):
                assert causes(system, GROW, between) == [(SEEN, "T has 6 queues")]


def test_topics_seen_by_a_pattern_are_put_down_to_the_new_topic() -> None:
    members = {"c1..c3": {"pattern": "T.*"}}
    new, slower = {"at": "60s", "add_topic": {"T2": 3}}, {**SLOWER, "between": ["c1", "broker-a"]}
    ((_, cause),) = causes("kafka:range", new, slower, members=members)
    assert cause == "T2 is created"


def test_a_change_of_the_topic_is_still_the_cause_after_the_rebalance_of_a_crash() -> None:
    crash = {"at": "100s", "crash": "c1"}
    assert causes("kafka:sticky", GROW, crash)[-1] == (SEEN, "T has 6 queues")


@pytest.mark.parametrize(
    "between", [GROW, {**SLOWER, "at": "60s", "between": ["c1", "broker-a"]}, {"at": "60s", "add_topic": {"V": 1}}]
)
def test_a_session_that_runs_out_is_put_down_to_what_befell_its_member(between: dict[str, Any]) -> None:
    first, *_ = causes("kafka:range", {"at": "50s", "crash": "c2"}, between)
    assert first == ("session of c2 timed out", "c2 crashes")


def test_a_cut_network_is_the_cause_of_the_session_that_it_lets_run_out() -> None:
    cut = {"at": "50s", "network": "cut", "between": ["c1", "broker-a"], "for": "60s"}
    assert causes("kafka:range", cut, GROW)[0] == (
        "session of c1 timed out",
        "network between c1 and broker-a is cut for 60s",
    )


def test_a_crash_is_the_cause_of_the_sessions_of_all_who_lived_in_the_process() -> None:
    members = {"c1": {"subscribe": ["T"], "process": "p"}, "c2": {"subscribe": ["T"], "process": "p"}, "c3": ["T"]}
    found = causes("kafka:range", {"at": "50s", "crash": "c1"}, GROW, members=members)
    assert {cause for trigger, cause in found if "timed out" in trigger} == {"c1 crashes"}


def test_members_who_share_by_themselves_do_give_up_a_queue_whose_offset_is_reset() -> None:
    reset = {"at": "100s", "reset_offsets": "g", "topic": "T", "to": "10s"}
    assert {cause for _, cause in causes("rocketmq:AVG", GROW, reset)} == {
        "T has 6 queues",
        "offsets of g in T are set back to 10s",
    }


def test_what_happens_in_a_group_is_no_cause_in_a_process_that_has_nothing_of_it() -> None:
    of = read("examples/scenarios/two-groups-one-process.yaml", known_strategies())
    (variant,) = variants_of(of, ["rocketmq:AVG"])
    rebalances = run_variant(variant).timeline.rebalances
    (alone,) = [each for each in rebalances if each.group == "invoice-group" and each.began > 50_000]
    assert alone.cause.text == "payments has 4 queues and invoices has 4 queues"
