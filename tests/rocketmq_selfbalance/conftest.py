"""RocketMQ's quiet times are skipped from the beginning, however short the run: what is tested here is the skipping."""

from collections.abc import Iterator

import pytest

from tests.skipping import skipping_at_once


@pytest.fixture(autouse=True, scope="package")
def _skipping_at_once() -> Iterator[None]:
    with skipping_at_once():
        yield
