"""Amounts in sentences: three digits, and never an exponent."""

import pytest

from compare.formatting import amount, duration


def test_amounts_have_no_exponent(subtests: pytest.Subtests) -> None:
    for value, told in [
        (0.2041, "0.204"),
        (57.42, "57.4"),
        (99.94, "99.9"),
        (99.96, "100"),
        (999.7, "1,000"),
        (1911.79, "1,912"),
    ]:
        with subtests.test(value=value, told=told):
            assert amount(value) == told


def test_durations_have_no_exponent(subtests: pytest.Subtests) -> None:
    for seconds, told in [
        (0.0283, "28.3 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (119.96, "120 s"),
        (120.0, "2 min"),
        (125.2, "2 min 5 s"),
    ]:
        with subtests.test(seconds=seconds, told=told):
            assert duration(seconds) == told
