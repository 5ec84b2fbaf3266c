"""The grids that come with the package can be computed: all twelve strategies answer, and every event runs."""

from pathlib import Path

import pytest

from compare.sweeping.parts import parts_of
from compare.sweeping.reading import read
from compare.sweeping.trial import try_variants

GRIDS = sorted((Path(__file__).parents[3] / "examples" / "atlas").glob("*.yaml"))


def test_there_are_grids_of_both_kinds() -> None:
    assert {read(path).sweep.kind for path in GRIDS} == {"allocations", "simulations"}


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.stem)
def test_every_strategy_takes_part_and_the_work_is_within_half_an_hour_of_two_processors(path: Path) -> None:
    given = read(path)
    strategies = [label for label in given.sweep.labels if label != "optimum"]
    assert len(strategies) == 12
    try_variants(given)
    assert sum(part.work for part in parts_of(given.sweep)) < 3600
