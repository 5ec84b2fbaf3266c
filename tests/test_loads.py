"""docs/load.md shows what its contenders do: the table is that of the figures, and figures come out again."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tools.loads.__main__ import FIGURES, table
from tools.loads.contenders import FREE, OURS, contenders, modified_fit
from tools.loads.day import Outcome, Seen, live
from tools.loads.families import Load, families

DOCS = Path(__file__).parents[1] / "docs"
ROWS = pq.read_table(DOCS / "load" / "outcomes.parquet").to_pylist()


@pytest.mark.parametrize(
    ("family", "contender"), [(4, OURS), (5, "kafka: sticky"), (0, "modified worst fit"), (3, FREE)]
)
def test_a_figure_on_the_page_comes_out_again(family: int, contender: str) -> None:
    load = families(2)[family]
    found = live(load, contenders(load)[contender], **({"move_s": 0} if contender == FREE else {}))
    (kept,) = [row for row in ROWS if (row["family"], row["contender"], row["seed"]) == (load.name, contender, 2)]
    assert {name: getattr(found, name) for name in FIGURES} == pytest.approx({name: kept[name] for name in FIGURES})


def test_the_page_has_the_figures_of_the_file() -> None:
    page = (DOCS / "load.md").read_text(encoding="utf-8")
    for load in families():
        found: dict[str, list[Outcome]] = {}
        for row in ROWS:
            if row["family"] == load.name:
                figures = (row["p99_age_s"], row["drain_s"], row["moves"], row["unowned_queue_s"])
                found.setdefault(row["contender"], []).append(Outcome(*figures, ()))
        assert table(found) in page
        assert (DOCS / "load" / f"{load.name}.svg").read_text(encoding="utf-8").startswith("<svg")


def test_what_a_member_cannot_handle_waits_and_ages() -> None:
    """Two queues of 10/s at a member of 15/s: 5/s wait; a third record in four is handled ever later."""
    load = Load("made", "", ((10.0, 10.0),) * 100, ((15.0,),) * 100)
    found = live(load, lambda seen: [0, 0])
    assert found.lag[-1] == pytest.approx(500)
    assert found.moves == found.unowned_queue_s == 0
    assert 24 < found.p99_age_s < 26


@pytest.mark.parametrize(("first", "at"), [(60.0, [0, 1, 1]), (10.0, [1, 1, 1])])
@pytest.mark.parametrize("best", [True, False])
def test_modified_fit_opens_a_bin_only_for_what_fits_in_no_open_one(best: bool, first: float, at: list[int]) -> None:
    """Member 1, with 80, is first; it has room for 20 of member 0's queue."""
    seen = Seen(0, (first, 30.0, 50.0), (), (0, 0, 0), {0: 100.0, 1: 100.0}, (0, 1, 1))
    assert modified_fit(best=best)(seen) == at
