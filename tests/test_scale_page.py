"""The kept rows of docs/scale.md are what a run gives, and what the page says of limits is what they come to."""

import pytest

from compare.sweeping.limits import ALIKE, first_limit
from compare.sweeping.reading import read_text
from compare.sweeping.scale import FIGURES, scale_row
from kafka_coordinator.group_sizes import target_batch_bytes
from tools.pages import DOCS
from tools.scale import AS_A_PARABOLA, ROWS, grows, minutes_of, parabola, rows_of


@pytest.mark.parametrize("row", [row for row in ROWS if row["members"] == 10], ids=lambda row: str(row["variant"]))
def test_the_smallest_rows_are_what_a_run_gives(row: dict[str, float | None]) -> None:
    minutes = minutes_of(str(row["variant"]))
    sweep = read_text(f"name: s\nkind: scale\nmembers: 10\nsystems: [{row['variant']}]\nfor: {minutes}min\n").sweep
    ran = scale_row(sweep, sweep.cell(0), sweep.systems[0])
    for name in FIGURES:
        found = ran[name]
        assert row[name] == (None if found is None else pytest.approx(found, rel=1e-3, abs=1e-3)), name


@pytest.mark.parametrize("variant", grows())
def test_smaller_groups_say_what_the_largest_computed_one_costs(variant: str) -> None:
    *smaller, largest = rows_of(variant)
    for column in AS_A_PARABOLA:
        assert parabola(smaller, column, largest["members"]) == pytest.approx(largest[column], rel=0.01), column


@pytest.mark.parametrize("page", ["scale.md", "zh/scale.md"])
def test_the_page_names_the_first_group_beyond_each_limit(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8").replace(",", "")
    for protocol in ("classic", "consumer protocol"):
        limit = first_limit(protocol)
        assert limit is not None
        assert str((limit.members or 0) + 1) in text
    assert f"{target_batch_bytes(ALIKE, 100_000) / 1e6:.1f} MB" in text
