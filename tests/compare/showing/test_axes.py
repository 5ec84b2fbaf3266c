"""Axes are marked at round numbers, which are written as people write them."""

import pytest

from compare.showing.pictures.charts import axis, short


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (0, "", "0"),
        (0.5, "s", "0.5 s"),
        (999, "", "999"),
        (999.9, "", "1 k"),
        (100_000, "", "100 k"),
        (2_500_000, "B", "2.5 MB"),
        (3e12, "B", "3 TB"),
    ],
)
def test_numbers_are_short(value: float, unit: str, written: str) -> None:
    assert short(value, unit) == written


@pytest.mark.parametrize(
    ("values", "options", "marks"),
    [
        ([0, 13_018.9], {"from_zero": True}, ["0", "5 k", "10 k", "15 k"]),
        ([0, 1790], {"unit": "s"}, ["0 min", "10 min", "20 min"]),
        ([0, 90], {"unit": "s"}, ["0 s", "20 s", "40 s", "60 s", "80 s"]),
        ([10, 100_000], {"logarithmic": True}, ["10", "100", "1 k", "10 k", "100 k"]),
        ([0, 0], {"from_zero": True}, None),
    ],
)
def test_marks_are_round_and_lie_on_the_axis(
    values: list[float], options: dict[str, bool], marks: list[str] | None
) -> None:
    found = axis(values, **options)  # type: ignore[arg-type]
    assert marks is None or [written for _, written in found.marks] == marks
    assert all(0 <= found.share(value) <= 1 for value in values)
    assert all(-1e-9 <= found.share(value) <= 1 + 1e-9 for value, _ in found.marks)
