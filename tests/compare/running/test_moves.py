"""Moves against the fewest that the fairest sharing takes: what of the two is less, and why."""

from typing import Any

import pytest

from compare.explaining.side_by_side import side_by_side
from compare.explaining.standing import rows
from compare.explaining.verdict import verdict
from compare.running.checks import usually_ends_complete
from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.systems import known_strategies
from compare.running.variants import variants_of
from protocols.scenario.reading import read
from tests.compare.compared import made

STATIC = "kafka:range+static"
RESTART = [{"at": "20s", "leave": "c2"}, {"at": "30s", "join": "c2"}]


def records(systems: list[str], **more: Any) -> list[dict[str, Any]]:
    return [run_record(run_variant(each)) for each in variants_of(made(**more), systems)]


def reached(after: dict[str, Any]) -> bool:
    """Whether the fairest sharing, with one owner for every queue, was there just before the next event."""
    fairness = after["fairness"]
    whole = not fairness["unowned_queues"] and not fairness["double_owned_queues"]
    return whole and fairness["jain"] >= after["optimum"]["jain"] - 1e-9


def test_who_reaches_the_fairest_sharing_after_an_event_never_moves_less_than_it_takes(
    subtests: pytest.Subtests,
) -> None:
    for name in ["rolling-restart", "join-crash-leave-commit", "two-owners-at-a-join", "lost-commit", "broker-down"]:
        with subtests.test(name=name):
            of = read(f"examples/scenarios/{name}.yaml", known_strategies())
            after = [each for variant in variants_of(of) for each in run_record(run_variant(variant))["after"]]
            assert any(each["fewest_moves"] for each in after)
            assert all(each["moves"] >= each["fewest_moves"] for each in after if reached(each))


def test_a_queue_that_waits_for_its_last_owner_needs_no_move_once_that_is_back() -> None:
    (record,) = records([STATIC], events=RESTART)
    left, back = record["after"][1:]
    assert left["fairness"]["unowned_queues"] == left["fewest_moves"] == 2
    assert (back["moves"], back["fewest_moves"]) == (0, 0)


def test_fewer_moves_than_the_fairest_sharing_takes_are_told_with_the_reason() -> None:
    (static,), (uneven,) = records([STATIC], events=RESTART), records(["kafka:range"])
    for record, said in (
        (
            static,
            "Kafka range+static moves no partition, while reaching the optimum after every event takes 2 moves"
            " (after c2 leaves, 2 of 4 partitions still have no owner when the next event happens).",
        ),
        (
            uneven,
            "Kafka range moves no partition, while reaching the optimum after every event takes 3 moves (after c4"
            " joins, the Jain index is 0.50 where 1.00 is possible at the end).",
        ),
    ):
        (told,) = [each for each in verdict(record) if "moves" in each.text]
        assert told.text == said
        assert told.figures["moves"] < told.figures["fewest_moves"]


def test_a_variant_that_leaves_queues_to_nobody_is_no_fair_one_and_best_at_nothing() -> None:
    fair, open_ended = records(["kafka:range"]), records(["kafka:range"])
    (first,), (second,) = fair, open_ended
    second |= {"label": "open", "moves": first["moves"] - 1, "settle_s": 0.0, "unowned_queue_s": 0.0, "rebalances": 1}
    for each, unowned in ((first, 0), (second, 2)):
        each["fairness"] |= {"jain": 1.0, "min": 1, "max": 1, "idle_members": 0, "unowned_queues": unowned}
        each["optimum"] |= {"jain": 1.0, "min": 1, "max": 1, "idle_members": 0}
    best = {
        record["label"]: {cell.metric.heading for cell in row if cell.best}
        for record, row in zip([first, second], rows([first, second], {}), strict=True)
    }
    assert {"Jain", "idle", "most", "requests/s"} <= best["kafka:range"]
    assert not best["open"]
    better_there = {"moves", "rebalances", "settled, s", "no owner, queue-s"}
    assert not better_there & best["kafka:range"], "where nobody else may be the best, being there is no merit"
    sentences = [each.text for each in verdict(second)]
    assert "open ends with 2 of 4 partitions without an owner: 1 partition per member." in sentences
    ((sentence, rests),) = [each for each in side_by_side([first, second]) if "fair" in each[0].text]
    assert sentence.text == (
        "1 of 2 variants ends as fair as possible (Kafka range); open does not: 2 of its queues have no owner."
    )
    assert rests["open"]["fairness.unowned_queues"] == 2


def test_over_many_seeds_a_variant_ends_complete_if_nearly_all_of_its_runs_do() -> None:
    def seeds(unowned: float) -> dict[str, Any]:
        return {"fairness.unowned_queues": {"p95": unowned}, "fairness.double_owned_queues": {"p95": 0.0}}

    assert usually_ends_complete(seeds(0.0))
    assert not usually_ends_complete(seeds(1.0))
