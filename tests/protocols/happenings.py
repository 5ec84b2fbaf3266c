"""What befalls nodes in a random run, and what they tell."""

from typing import Any, NamedTuple

from protocols.engine.nodes import Time
from protocols.engine.simulation import Unobserved


class Facts(Unobserved):
    """Every fact with its time, its node and the call that began it."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self.told.append((now, node, fact, root))


class Happens(NamedTuple):
    """``what`` happens to a client or a server, both by number."""

    at: Time
    what: str
    client: int
    server: int
