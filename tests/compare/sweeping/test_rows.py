"""A row says of a group what the strategies themselves and independent counting say."""

import pytest

from compare.auditing.what_if import moves_between, with_withheld
from compare.figures import fairness
from compare.sweeping.allocations import after_event, answer, group_of
from compare.sweeping.folder import parts_of
from compare.sweeping.reading import read_text
from compare.sweeping.running import schema_of, table_of
from compare.sweeping.simulations import FIGURES, run_row
from kafka_coordinator import assign
from protocols.scenario.model import SystemPart
from rocketmq_selfbalance import allocate

ALLOCATIONS = """\
name: rows
kind: allocations
members: [2, 5]
topics: 3
queues: 4
subscriptions: [equal, skewed, disjoint, nested]
events: [none, leave, join, grow]
"""


RATIOS = ("mean", "cv", "jain", "gini", "max_over_mean")


def test_figures_are_those_of_the_strategies_allocations() -> None:
    sweep = read_text(ALLOCATIONS).sweep
    for number in range(sweep.cells):
        cell = sweep.cell(number)
        for name in ("kafka:sticky", "kafka:cooperative-sticky", "rocketmq:AVG", "rocketmq:CONSISTENT_HASH"):
            system, strategy = name.split(":")
            before = group_of(cell.size, system, strategy)
            after = after_event(cell, before, system, strategy)
            if system == "kafka":
                owned = assign(strategy, before)
                allocation = owned if after is before else with_withheld(assign(strategy, after, owned))
            else:
                owned, allocation = allocate(strategy, before), allocate(strategy, after)
            expected = fairness(allocation)
            found = answer(cell, SystemPart(system=name))
            assert {key: found[key] for key in RATIOS} == {key: getattr(expected, key) for key in RATIOS}
            assert [found[key] for key in ("queues", "unowned_queues", "idle_members", "min", "max", "moves")] == [
                expected.queues,
                len(allocation.unowned),
                sum(not queues for queues in allocation.values()),
                min(map(len, allocation.values())),
                max(map(len, allocation.values())),
                moves_between(allocation, owned),
            ]


def test_no_strategy_that_hands_out_all_is_fairer_than_the_optimum() -> None:
    sweep = read_text(ALLOCATIONS).sweep
    best = sweep.systems[-1]
    for number in range(sweep.cells):
        cell = sweep.cell(number)
        fairest = answer(cell, best)
        assert fairest["unowned_queues"] == 0
        for part in sweep.systems[:-1]:
            found = answer(cell, part)
            if not found["unowned_queues"] and not found["double_owned_queues"]:
                assert sorted(found["loads"], reverse=True) >= sorted(fairest["loads"], reverse=True), (cell, part)


def test_queues_that_move_are_counted_by_hand() -> None:
    sweep = read_text(ALLOCATIONS.replace("[2, 5]", "2").replace("topics: 3", "topics: 1")).sweep
    found = {
        (sweep.cell(number).event.name, part.label): answer(sweep.cell(number), part)["moves"]
        for number in range(4)
        for part in sweep.systems
        if part.label in ("kafka:range", "kafka:roundrobin", "kafka:sticky")
    }
    # Four queues of two members: 0 1 | 2 3. A third one comes: 0 1 | 2 | 3. The second leaves: all to the first. With
    # eight queues 0 to 3 are the first one's. In turn: 0 2 | 1 3, of three 0 3 | 1 | 2.
    assert [found[event, "kafka:range"] for event in ("none", "leave", "join", "grow")] == [0, 2, 1, 2]
    assert [found[event, "kafka:roundrobin"] for event in ("none", "leave", "join", "grow")] == [0, 2, 2, 0]
    assert [found[event, "kafka:sticky"] for event in ("none", "leave", "join", "grow")] == [0, 2, 1, 0]


def test_a_table_has_the_columns_of_its_kind_and_no_row_for_a_group_that_nobody_would_be_left_in() -> None:
    sweep = read_text(ALLOCATIONS.replace("[2, 5]", "[1, 2]") + "loads: true\n").sweep
    tables = [table_of(sweep, part) for part in parts_of(sweep) if part.variant == 0]
    assert sum(table.num_rows for table in tables) == sweep.cells - 4
    assert all(table.schema == schema_of(sweep) for table in tables)
    for row in tables[0].to_pylist():
        assert sum(row["loads"]) == row["queues"] - row["unowned_queues"]
        assert len(row["loads"]) == row["group_members"]


SIMULATIONS = """\
name: runs
kind: simulations
members: 3
topics: 1
queues: 6
brokers: 2
events: [crash]
systems: [kafka:range, rocketmq:AVG, rocketmq:MACHINE_ROOM, rocketmq:CONFIG]
seeds: 0..1
produce: 5/s
"""


def test_a_run_says_what_a_crash_costs_and_seeds_differ() -> None:
    sweep = read_text(SIMULATIONS).sweep
    rows = {
        part.label: [run_row(sweep, sweep.cell(number), part) for number in range(sweep.cells)]
        for part in sweep.systems
    }
    assert all(tuple(row) == FIGURES for of_variant in rows.values() for row in of_variant)
    kafka, rocketmq = rows["kafka:range"], rows["rocketmq:AVG"]
    # Kafka waits for the session timeout (45 s), RocketMQ's broker sees the connection close.
    assert all(40 < (row["event_settle_s"] or 0) < 55 for row in kafka)
    assert all((row["event_settle_s"] or 0) < 5 for row in rocketmq)
    assert kafka[0]["event_settle_s"] != kafka[1]["event_settle_s"]
    # The list of the one who crashed is nobody's any more.
    assert rows["rocketmq:CONFIG"][0]["unowned_queues"] == 2
    assert rows["rocketmq:MACHINE_ROOM"][0]["unowned_queues"] == 0


def test_every_event_runs(subtests: pytest.Subtests) -> None:
    for event in ["none", "join", "leave", "hang", "deploy", "grow"]:
        with subtests.test(event=event):
            sweep = read_text(SIMULATIONS.replace("[crash]", f"[{event}]").replace("seeds: 0..1", "seeds: 0")).sweep
            row = run_row(sweep, sweep.cell(0), sweep.systems[1])
            assert row["settled"] == 1
            assert (row["event_moves"] is None) == (event == "none")


def test_groups_without_owners_have_no_figures_of_ownership() -> None:
    owned = "systems: [kafka:range, rocketmq:AVG, rocketmq:MACHINE_ROOM, rocketmq:CONFIG]"
    sweep = read_text(SIMULATIONS.replace(owned, "systems: [kafka:share, rocketmq:POP]\nhandle: 20ms")).sweep
    rows = [run_row(sweep, sweep.cell(0), part) for part in sweep.systems]
    about_owners = ("settled", "event_settle_s", "event_moves", "unowned_queues", "max_over_mean")
    for row in rows:
        assert tuple(row) == FIGURES
        assert 0.9 * (row["written"] or 0) < (row["handled"] or 0)
        assert {row[name] for name in about_owners} == {None}
