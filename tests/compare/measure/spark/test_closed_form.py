"""The closed forms in native columns say what the strategies say, to the last bit."""

from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from compare.measure.spark.closed_form import closed_form
from compare.measure.spark.forms import BLOCKS, IN_TURN, OPTIMUM, ROUND_ROBIN, has_closed_form
from compare.sweeping.allocations import FIGURES, answer
from compare.sweeping.grid import Cell, NamedEvent
from compare.sweeping.shapes import SHAPES
from compare.sweeping.stories import OF_ALLOCATIONS
from protocols.scenario.model import SystemPart
from tests.compare.measure.spark.spark_fixture import session

__all__ = ["session"]

SIZES = st.tuples(st.integers(1, 20), st.integers(1, 9), st.integers(1, 70), st.integers(1, 4))
"""Members, topics, queues per topic, brokers."""

SYSTEMS = (*BLOCKS, IN_TURN, ROUND_ROBIN, OPTIMUM)
FORMS = [
    (system, shape, event, loads)
    for system in SYSTEMS
    for shape in SHAPES
    for event in OF_ALLOCATIONS
    for loads in (False, True)
    if has_closed_form(system, shape, event, loads)
]
COLUMNS = "cell long, members int, topics int, queues_per_topic int, brokers int"


def test_there_is_a_form_for_every_strategy_and_event_where_all_read_all() -> None:
    found = {(system, event) for system, shape, event, loads in FORMS if shape == "equal" and not loads}
    assert found == {(system, event) for system in SYSTEMS for event in OF_ALLOCATIONS}
    assert {shape for system, shape, _, _ in FORMS if system == "kafka:range"} == set(SHAPES)


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_native_columns_are_the_strategies_answers(session: SparkSession, data: st.DataObject) -> None:
    system, shape, event, loads = data.draw(st.sampled_from(FORMS))
    sizes = data.draw(st.lists(SIZES, min_size=60, max_size=60))
    cells = [
        Cell(number, members, topics, queues, brokers, shape, NamedEvent(event), (1.0, 5.0), 0)
        for number, (members, topics, queues, brokers) in enumerate(sizes)
        if event != "leave" or members > 1
    ]
    rows = [(each.number, each.members, each.topics, each.queues, each.brokers) for each in cells]
    found = closed_form(session.createDataFrame(rows, COLUMNS).coalesce(1), system, shape, event, loads)
    names = ("cell", *FIGURES, *(("loads",) if loads else ()))
    of_cell = {row["cell"]: row for row in found.select(*names).collect()}
    for cell in cells:
        expected = answer(cell, SystemPart(system=system))
        row = of_cell[cell.number]
        assert {name: row[name] for name in FIGURES} == dict(expected.figures), cell
        assert not loads or tuple(row["loads"]) == expected.loads, cell
