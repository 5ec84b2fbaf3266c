"""Observes a simulation and keeps the figures only: for benchmarks and for sweeps over thousands of runs."""

from protocols.engine.nodes import Message, Time
from protocols.facts import Owns, RebalanceEnded
from protocols.timeline.lifetimes import Lifetimes
from protocols.timeline.ownership import Beliefs


class FigureRecorder:
    """A `protocols.engine.simulation.Observer` that keeps who owns what, the figures that follow, and nothing else."""

    __slots__ = ("beliefs", "generations")

    def __init__(self, lives: Lifetimes | None = None, uncounted: tuple[str, ...] = ()) -> None:
        self.beliefs = Beliefs(lives, uncounted)
        self.generations = 0
        """Generations that a coordinator completed."""

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        if isinstance(fact, Owns):
            self.beliefs.change(now, *fact)
        elif isinstance(fact, RebalanceEnded) and fact.member is None:
            self.generations += 1

    def created(self, number: int, due: Time, kind: int, node: str, what: object, cause: int) -> None: ...

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None: ...
