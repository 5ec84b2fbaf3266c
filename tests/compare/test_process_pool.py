"""Work side by side ends when nobody wants it any more."""

import time
from multiprocessing import active_children

import pytest

from compare.process_pool import process_pool

LONG_S = 600.0


def test_an_interruption_ends_what_is_under_way() -> None:
    before = set(active_children())
    with pytest.raises(KeyboardInterrupt):
        _interrupted()
    assert set(active_children()) <= before


def _interrupted() -> None:
    with process_pool(2) as executor:
        for _ in range(4):
            executor.submit(time.sleep, LONG_S)
        raise KeyboardInterrupt


def test_results_come_back() -> None:
    with process_pool(2) as executor:
        assert list(executor.map(abs, [-1, 2, -3])) == [1, 2, 3]
