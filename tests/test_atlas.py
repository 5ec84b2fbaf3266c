"""The atlas's data are what the strategies answer and what the runs cost."""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.sweeping import allocations as rows_of_allocations
from compare.sweeping.grid import Sweep
from compare.sweeping.reading import read
from compare.sweeping.simulations import run_row
from tools.atlas import making, tables
from tools.atlas.tables import MOVES, STATE, Size

GRIDS = Path(__file__).parents[1] / "examples" / "atlas"
COLUMNS = dict(zip(STATE, ("max", "min", "idle_members", "unowned_queues", "double_owned_queues"), strict=True))


@cache
def grid(name: str) -> Sweep:
    return read(GRIDS / f"{name}.yaml").sweep


def test_the_data_have_the_axes_of_the_grids() -> None:
    sweep, atlas = grid("allocations"), tables.allocations()
    assert (sweep.members, sweep.topics, sweep.queues) == (atlas.members, atlas.topics, atlas.queues)
    assert sweep.subscriptions == atlas.shapes
    assert tuple(each.name for each in sweep.events) == atlas.events
    assert set(sweep.labels) == set(atlas.variants)
    sweep, costs = grid("events"), tables.events()
    assert Size(*sweep.members, *sweep.topics, *sweep.queues) == costs.size
    assert (sweep.produce, len(sweep.seeds)) == (costs.produce, costs.runs)
    assert {(variant, each.name) for variant in sweep.labels for each in sweep.events} == set(costs.costs)


@settings(max_examples=60)
@given(st.integers(0), st.integers(0))
def test_a_number_is_what_the_strategy_answers(variant: int, cell: int) -> None:
    sweep, atlas = grid("allocations"), tables.allocations()
    part = sweep.systems[variant % len(sweep.systems)]
    asked = sweep.cell(cell % sweep.cells)
    event, place = asked.event.name, atlas.place_of(Size(asked.members, asked.topics, asked.queues))
    told = STATE if event == "none" else (MOVES,)
    found = [atlas.of(part.label, asked.subscription, each, event)[place] for each in told]
    if not asked.counts:
        assert found == [None] * len(told)
    else:
        figures = rows_of_allocations.answer(asked, part)
        assert found == [figures[COLUMNS.get(each, each)] for each in told]


@pytest.mark.slow
@pytest.mark.parametrize("event", ["join", "crash", "deploy"])
@pytest.mark.parametrize("variant", ["kafka:range", "rocketmq:AVG"])
def test_a_cost_is_what_a_hundred_runs_cost(variant: str, event: str) -> None:
    sweep, costs = grid("events"), tables.events()
    part = next(each for each in sweep.systems if each.label == variant)
    cells = [cell for number in range(sweep.cells) if (cell := sweep.cell(number)).event.name == event]
    rows = [run_row(sweep, cell, part) for cell in cells]
    assert len(rows) == costs.runs
    for name, spread in costs.costs[variant, event].items():
        assert spread == making.spread_of(row[name] for row in rows), name
