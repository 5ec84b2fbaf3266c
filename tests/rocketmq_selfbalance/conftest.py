"""RocketMQ's quiet times are skipped from the beginning, however short the run: what is tested here is the skipping."""

from collections.abc import Iterator

import pytest

from rocketmq_selfbalance.fast_forward import driver


@pytest.fixture(autouse=True, scope="package")
def _skipping_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "LEAST_EVENTS", 0)
        yield
