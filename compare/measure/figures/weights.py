"""Groups as Python values: one row per queue, with its owners and its weight."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from compare.measure.figures.definitions import MILLIONTHS, Figure
from protocols.errors import UserError

Weight: TypeAlias = int | float | None
Row: TypeAlias = tuple[str, object, tuple[int, ...], Weight]
"""Topic, the queue within the topic, the positions of its owners among the members, its weight (None: unknown)."""


@dataclass(frozen=True, slots=True)
class GroupLoads:
    """One group: its number of members and one row per queue."""

    members: int
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Figure name to value for the whole group, and the same per topic, topics sorted."""

    overall: dict[str, Figure]
    topics: dict[str, dict[str, Figure]]


def unit_of(groups: Sequence[GroupLoads]) -> int:
    """The load of weight 1: more than one where some weight is no integer."""
    return MILLIONTHS if any(isinstance(row[3], float) for group in groups for row in group.rows) else 1


def overloaded_group(number: int, unit: int) -> UserError:
    """The weights of a member of the group at this position are too much."""
    most = (1 << 62) // unit
    return UserError(f"the weights of one member of group {number + 1} add up to {most} or more, expected less")


def load_of(weight: Weight, unit: int) -> int:
    """A weight as an integer, 0 where it is unknown; `UserError` unless it is one."""
    if weight is None:
        return 0
    if not 0 <= weight < (1 << 62) / unit:
        raise UserError(f"a weight is {weight}, expected 0 or more and less than {(1 << 62) // unit}")
    # One product in float64, rounded half to even: what Spark's rint does.
    return int(weight) if unit == 1 else round(float(weight) * unit)
