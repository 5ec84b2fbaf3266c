"""Which systems and strategies a scenario may name, and which of them run it where it names none.

Nothing here knows any system: whoever reads a scenario hands in what the systems say of their strategies (`Systems`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from protocols.scenario.fields import MemberPart
from protocols.scenario.model import SystemPart
from protocols.strategies import ScenarioContext, StrategyRecord

STATIC = "+static"
"""Behind the name of a system and strategy: every member is static (KIP-345)."""


@dataclass(frozen=True, slots=True)
class SystemStrategies:
    """What a scenario may name of one system. ``static_members``: whether `STATIC` may stand behind a strategy."""

    records: tuple[StrategyRecord[Any], ...]
    static_members: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The strategies' names."""
        return tuple(record.name for record in self.records)

    def has(self, strategy: str) -> bool:
        """Whether the text behind the system's name is one of its strategies, maybe with `STATIC`."""
        return strategy in self.names or (self.static_members and strategy.removesuffix(STATIC) in self.names)


Systems: TypeAlias = Mapping[str, SystemStrategies]
"""System to its strategies."""


def split_system(name: str) -> tuple[str, str]:
    """System and strategy of ``system:strategy``; the strategy is empty where there is none."""
    system, _, strategy = name.partition(":")
    return system, strategy


def example_of(systems: Systems) -> str:
    """A name that a scenario may have, for error messages."""
    names = (f"{system}:{name}" for system, strategies in systems.items() for name in strategies.names)
    return next(names, "system:strategy")


def default_systems(systems: Systems, brokers: Iterable[str], members: Sequence[MemberPart]) -> tuple[SystemPart, ...]:
    """The variants of a scenario that names none: each strategy that needs nothing or is given what it needs."""
    racks = {member.rack for member in members}
    context = ScenarioContext(
        tuple(brokers),
        () if None in racks else tuple(sorted(rack for rack in racks if rack)),
        frozenset(name for member in members for name in member.settings),
        frozenset(member.strategy for member in members if member.strategy is not None),
    )
    made = []
    for system, strategies in systems.items():
        for record in strategies.records:
            settings = record.by_default(context)
            if settings is not None:
                name = f"{system}:{record.name}"
                made.append(SystemPart(system=name, label=name, settings=dict(settings)))
    return tuple(made)
