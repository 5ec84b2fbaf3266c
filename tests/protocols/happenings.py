"""What nodes tell in a run."""

from typing import Any

from protocols.engine.nodes import Time
from protocols.engine.simulation import Unobserved


class Facts(Unobserved):
    """Every fact with its time, its node and the call that began it."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self.told.append((now, node, fact, root))
