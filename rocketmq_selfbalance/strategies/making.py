"""How strategies are made from settings as users write them: what the files of the strategies share."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from protocols.errors import StrategyError
from protocols.groups import Group
from rocketmq_selfbalance.strategies.interface import Strategy

Settings: TypeAlias = Mapping[str, object]

OfMember: TypeAlias = Callable[[str], Strategy]
"""Member id to the strategy object that this member runs."""

Make: TypeAlias = Callable[[Settings, Group], OfMember]
"""From settings and the group to the strategies of its members. Raises `StrategyError` for a setting that cannot be."""


def same(strategy: Strategy) -> OfMember:
    """All members run this object."""
    return lambda member: strategy


def only(names: Iterable[str], settings: Settings) -> dict[str, Any]:
    """The settings that have these names."""
    return {name: settings[name] for name in names if name in settings}


def wrong(setting: str, value: object, expected: str) -> StrategyError:
    """The error for a setting that cannot be."""
    return StrategyError(f"setting {setting} is {value!r}, expected {expected}")
