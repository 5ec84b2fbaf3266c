"""A sweep's file: shorthands, what is refused and where, and the cells that come of it."""

import pytest

from compare.running.systems import versions_of
from compare.sweeping import folder
from compare.sweeping.folder import parts_of
from compare.sweeping.reading import read_text
from compare.sweeping.running import try_variants
from compare.sweeping.simulations import scenario_of
from compare.sweeping.stories import SHAPES, subscription
from protocols.errors import UserError

GRID = """\
name: a few groups
kind: allocations
members: [1..3, 8]
topics: [1, 2]
queues: 4
subscriptions: [equal, nested]
events: [none, leave]
systems: [kafka:range, {system: rocketmq:CONSISTENT_HASH, settings: [{}, {virtual_nodes: 100}]}]
"""


def test_every_combination_is_a_cell_and_stretches_have_one_shape_and_event() -> None:
    sweep = read_text(GRID).sweep
    cells = [sweep.cell(number) for number in range(sweep.cells)]
    assert len(cells) == 2 * 2 * 4 * 2
    assert len({(each.members, each.topics, each.subscription, each.event.name) for each in cells}) == len(cells)
    for first in range(0, sweep.cells, sweep.stretch):
        within = cells[first : first + sweep.stretch]
        assert len({(each.subscription, each.event.name) for each in within}) == 1
    assert [each.counts for each in cells if each.event.name == "leave" and each.members == 1] == [False] * 4


def test_settings_in_a_list_make_variants_and_the_optimum_is_always_there() -> None:
    assert read_text(GRID).sweep.labels == (
        "kafka:range",
        "rocketmq:CONSISTENT_HASH",
        "rocketmq:CONSISTENT_HASH virtual_nodes=100",
        "optimum",
    )


def test_a_bad_grid_is_one_line_with_its_place(subtests: pytest.Subtests) -> None:
    for old, new, line, why in [
        ("queues: 4", "queues: 0", 5, "queues: 0 is out of bounds, expected numbers from 1 to"),
        ("queues: 4", "queues: [4, 2..5]", 5, "4 appears twice"),
        ("queues: 4", "queues: many", 5, "expected one such as 4, or a range such as 1..64"),
        ("queues: 4", "queues: []", 5, "an empty list"),
        ("queues: 4", "queue: 4", 5, "unknown field 'queue', did you mean queues?"),
        ("queues: 4", "queues: 500000", 5, "1,000,000 queues in all topics"),
        ("members: [1..3, 8]", "members: 1..5000\nbrokers: 1..1000", 1, "160,000,000 cells in all variants, expected"),
        ("[equal, nested]", "[equal, nestd]", 6, "unknown 'nestd', did you mean nested?"),
        ("[none, leave]", "[none, crash]", 7, "unknown 'crash', expected one of none, join, leave, grow"),
        ("kafka:range", "kafka:rang", 8, "unknown strategy 'rang' of kafka, did you mean range?"),
        ("kafka:range", "kafka-zookeeper:range", 8, "is only in simulations"),
        ("kafka:range", "kafka:share", 8, "kafka:share is only in simulations"),
        ("kind: allocations", "kind: both", 2, "kind: 'both' is unknown, expected allocations, simulations or scale"),
        ("name: a few groups\n", "", 1, "name: is missing"),
        ("members: [1..3, 8]", "members: [1..3, 8", 4, "expected YAML"),
    ]:
        with subtests.test(old=old, new=new, line=line, why=why):
            with pytest.raises(UserError) as refused:
                read_text(GRID.replace(old, new), "grid.yaml")
            told = str(refused.value)
            assert told.startswith(f"grid.yaml line {line}: ")
            assert why in told
            assert "\n" not in told


def test_a_setting_that_a_strategy_lacks_is_told_with_the_line_of_the_variant() -> None:
    given = read_text(GRID.replace("virtual_nodes", "virtual_node_count"), "grid.yaml")
    with pytest.raises(UserError, match=r"grid.yaml line 8: systems\.1: none: unknown setting 'virtual_node_count'"):
        try_variants(given)


def test_a_sweep_of_simulations_is_of_one_version_and_a_folder_of_another_is_another() -> None:
    simulations = GRID.replace("kind: allocations", "kind: simulations").replace("none, leave", "leave")
    newest, old = (read_text(f"{simulations}{line}").sweep for line in ("", "versions: {kafka: 4.1}"))
    assert newest.versions == {system: versions_of(system).newest.name for system in ("kafka", "rocketmq")}
    assert scenario_of(old, old.cell(0), "kafka:range").versions == {**newest.versions, "kafka": "4.1"}
    assert folder.identity(newest, parts_of(newest)) != folder.identity(old, parts_of(old))
    with pytest.raises(UserError, match=r"unknown version '4\.9', expected one of 4\.1"):
        read_text(f"{simulations}versions: {{kafka: 4.9}}")
    with pytest.raises(UserError, match="unknown field 'versions'"):
        read_text(f"{GRID}versions: {{kafka: 4.1}}")


def test_events_of_ones_own_are_only_in_simulations_and_are_tried() -> None:
    own = GRID.replace("kind: allocations", "kind: simulations").replace(
        "[none, leave]", "[{name: two crashes, events: [{at: 60s, crash: m0001}, {at: 70s, crash: m0009}]}]"
    )
    with pytest.raises(UserError, match="m0009"):
        try_variants(read_text(own))


def test_everybody_reads_something_and_every_topic_is_read() -> None:
    for shape in SHAPES:
        for members in range(1, 9):
            for topics in range(1, 9):
                read = [subscription(shape, member, members, topics) for member in range(members)]
                assert all(read), (shape, members, topics)
                assert {topic for each in read for topic in each} == set(range(topics)), (shape, members, topics)


def test_parts_cover_every_cell_once_and_none_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(folder.MOST_SIZE, "allocations", 5_000)
    sweep = read_text(GRID.replace("members: [1..3, 8]", "members: 1..40").replace("queues: 4", "queues: 1..9")).sweep
    parts = parts_of(sweep)
    assert all(part.size <= 5_000 for part in parts)
    for variant in range(len(sweep.systems)):
        of_variant = [part for part in parts if part.variant == variant]
        assert [part.number for part in of_variant] == list(range(len(of_variant)))
        assert len(of_variant) > 8
        cells = [cell.number for part in of_variant for cell in part.cells(sweep)]
        assert sorted(cells) == [number for number in range(sweep.cells) if sweep.cell(number).counts]


def test_a_group_that_is_too_large_is_a_part_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(folder.MOST_SIZE, "allocations", 1)
    sweep = read_text(GRID).sweep
    assert len(parts_of(sweep)) == len(sweep.systems) * len(sweep.subscriptions) * sweep.stretch
