"""Tables of rows fail where a row fails, and name it."""

import pytest

from tests.rows import rows


def test_every_row_is_tried_and_those_that_fail_are_named() -> None:
    tried = []

    @rows(("number", "square"), [(2, 4), (3, 8), (4, 16), (5, 24)])
    def squares(number: int, square: int) -> None:
        tried.append(number)
        assert number * number == square

    with pytest.raises(AssertionError, match=r"2 of 4 rows fail:\n\(3, 8\): AssertionError.*\n.*\(5, 24\)") as failed:
        squares()
    assert tried == [2, 3, 4, 5]
    assert isinstance(failed.value.__cause__, AssertionError)


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="tests nothing"):
        rows("number", [])
