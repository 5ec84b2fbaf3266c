"""The record of a strategy, the same for every system, and the registry of a system's strategies.

Each system has one catalogue in its own package: a tuple of `StrategyRecord`. Whatever lists strategies (registry,
scenario names, help, the audit's what-if, documentation) reads it there, so that a new strategy is one row and one
function. A record says what the strategy needs (rooms, a configured list, the previous allocation), because a
scenario that lacks it has to be refused before it runs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from protocols.errors import StrategyError

S = TypeVar("S")

Sharing: TypeAlias = Literal["per topic", "across topics", "other"]
"""How even a strategy is where all members subscribe to the same topics.

``per topic``: it deals every topic by itself from the first member on, so that the first members get the remainder of
every topic. ``across topics``: nobody has more than one queue more than anybody else. ``other``: neither is certain.
"""


@dataclass(frozen=True, slots=True)
class ScenarioContext:
    """The parts of a scenario on which it depends whether a strategy can run.

    ``rooms``: the racks of the members, sorted; empty where one has none. ``settings``: names of the settings that any
    member has; ``strategies``: the members' own strategies.
    """

    brokers: tuple[str, ...]
    rooms: tuple[str, ...]
    settings: frozenset[str]
    strategies: frozenset[str] = frozenset()


DefaultSettings: TypeAlias = Callable[[ScenarioContext], Mapping[str, object] | None]
"""The settings with which a scenario that names no system runs the strategy; None: it does not run it."""


def always(context: ScenarioContext) -> Mapping[str, object]:
    return {}


def never(context: ScenarioContext) -> None:
    """For a strategy that a scenario has to name."""


@dataclass(frozen=True, slots=True)
class StrategyRecord(Generic[S]):
    """A strategy in a system's catalogue."""

    name: str
    implementation: S
    """The class or callable, in the form that the system's package calls."""
    about: str
    """What it does, in one sentence."""
    protocol: str
    """The group protocol in which it is used, in the system's own words."""
    java_class: str = ""
    """Simple name of the released class; empty for a strategy that a user registered."""
    tool_name: str = ""
    """What the system's own tools and settings call it; `known_as` gives ``name`` where this is empty."""
    sharing: Sharing = "other"
    keeps: bool = False
    """Whether it leaves queues with the members that own them already: its answer depends on the past."""
    settings: tuple[str, ...] = ()
    """Names of its settings."""
    needs: str = ""
    """What must be given before it can be used at all, as words; empty where nothing is needed."""
    by_default: DefaultSettings = always

    @property
    def known_as(self) -> str:
        """What the system's own tools and settings call it."""
        return self.tool_name or self.name


class Registry(Generic[S]):
    """Strategy names to records of one system: those of its catalogue, then those that a user `register`ed."""

    def __init__(self, system: str, catalogue: Iterable[StrategyRecord[S]] = ()) -> None:
        self.system = system
        self._found: dict[str, StrategyRecord[S]] = {}
        for record in catalogue:
            self.register(record)
        self.of_catalogue = tuple(self._found)
        """Names of the strategies that the system brings along."""

    def register(self, record: StrategyRecord[S]) -> None:
        """Make a strategy known under its name; `StrategyError` if the name is taken."""
        if record.name in self._found:
            raise StrategyError(f"{self.system} has a strategy {record.name!r} already: choose another name")
        self._found[record.name] = record

    def records(self) -> tuple[StrategyRecord[S], ...]:
        """All strategies, in the order in which they became known."""
        return tuple(self._found.values())

    def __getitem__(self, name: str) -> StrategyRecord[S]:
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
