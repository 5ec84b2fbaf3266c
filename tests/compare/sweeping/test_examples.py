"""The grids that come with the package can be computed: all twelve strategies answer (of a scale, one of each protocol
of Kafka), and every event runs."""

from pathlib import Path

import pytest

from compare.sweeping.reading import read
from compare.sweeping.running import try_variants

GRIDS = sorted((Path(__file__).parents[3] / "examples" / "atlas").glob("*.yaml"))


def test_there_are_grids_of_all_kinds() -> None:
    assert {read(path).sweep.kind for path in GRIDS} == {"allocations", "simulations", "scale"}


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.stem)
def test_every_strategy_takes_part(path: Path) -> None:
    given = read(path)
    strategies = [label for label in given.sweep.labels if label != "optimum"]
    assert len(strategies) == (3 if given.sweep.kind == "scale" else 12)
    try_variants(given)
