"""Skipping quiet times from the beginning, however short the run, where the skipping itself is tested."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import pytest


@contextmanager
def skipping_at_once() -> Iterator[None]:
    """Meanwhile RocketMQ waits for no number of events before it looks for quiet times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("rocketmq_selfbalance.fast_forward"), "LEAST_EVENTS", 0)
        yield
