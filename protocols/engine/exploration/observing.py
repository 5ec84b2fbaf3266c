"""How a property watches: what it remembers of each process, and when that is a violation."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol


class BrokenInvariant(NamedTuple):
    """A fact that the explorer tells of a process whose node raised in a step: what never may be in the model is."""

    why: str


class Ended(NamedTuple):
    """A fact that only watches are told: the process of a server has ended."""


class Watch(Protocol):
    """A property of reachable states. It is told the facts of each process in their order (`protocols.facts`) and
    remembers a hashable value per process; only from these it says whether a state violates it. So what it remembers is
    part of the state, and should be no more than it needs."""

    @property
    def name(self) -> str:
        """As the user asks for it."""
        ...

    @property
    def nothing(self) -> Hashable:
        """What it remembers of a process that told nothing."""
        ...

    def remember(self, before: Any, fact: tuple[object, ...]) -> Hashable:
        """What it remembers of a process after this fact of its."""
        ...

    def is_violated(self, remembered: Sequence[Any]) -> bool:
        """Whether the property does not hold where it remembers this of the processes (those that ever ran)."""
        ...
