"""The registry of strategies: a system's own ones and those that a user adds."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from protocols.errors import StrategyError

S = TypeVar("S")


class Registry(Generic[S]):
    """Strategy names to strategies of one system. Users `register` plain functions or classes."""

    def __init__(self, system: str) -> None:
        self.system = system
        self._found: dict[str, S] = {}

    def register(self, name: str, strategy: S) -> S:
        """Make ``strategy`` known under ``name`` and return it; `StrategyError` if the name is taken."""
        if name in self._found:
            raise StrategyError(f"{self.system} has a strategy {name!r} already: choose another name")
        self._found[name] = strategy
        return strategy

    def named(self, name: str) -> Callable[[S], S]:
        """`register` as a decorator."""
        return lambda strategy: self.register(name, strategy)

    def __getitem__(self, name: str) -> S:
        try:
            return self._found[name]
        except KeyError:
            raise StrategyError(
                f"unknown {self.system} strategy {name!r}, expected one of {', '.join(self._found)}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __contains__(self, name: object) -> bool:
        return name in self._found
