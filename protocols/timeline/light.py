"""Listens and only counts: for benchmarks and for sweeps over thousands of runs."""

from typing import Any

from protocols.engine.nodes import Message, Time
from protocols.facts import Owns, RebalanceEnded
from protocols.timeline.lifetimes import Lifetimes
from protocols.timeline.ownership import Beliefs


class Light:
    """A `protocols.engine.simulation.Observer` that keeps who owns what, the figures that follow, and nothing else."""

    __slots__ = ("beliefs", "generations")

    def __init__(self, lives: Lifetimes | None = None, uncounted: tuple[str, ...] = ()) -> None:
        self.beliefs = Beliefs(lives, uncounted)
        self.generations = 0
        """Generations that a coordinator completed."""

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        kind = type(fact)
        if kind is Owns:
            self.beliefs.change(now, *fact)
        elif kind is RebalanceEnded and fact.member is None:  # type: ignore[attr-defined]
            self.generations += 1

    def created(self, number: int, due: Time, kind: int, node: str, what: Any, cause: int) -> None: ...

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None: ...
