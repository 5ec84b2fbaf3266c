"""Shares and extremes over all groups of the atlas that have one shape of subscriptions."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tools.atlas.tables import MOVES, OPTIMUM, Allocations, Size

CHANGES: Final = ("join", "leave", "grow")

SHAPES_IN_WORDS: Final[Mapping[str, str]] = {
    "equal": "all members read every topic",
    "skewed": "all members read the first topic, every second one the others, too",
    "disjoint": "parts of the group have no topic in common",
    "nested": "each member reads the topics of the one before it, and maybe more",
}


class Evenness(NamedTuple):
    """How a strategy shares the queues of these groups.

    ``fairest``: share of the groups that are as fair as can be, with one owner for every queue. ``worst``: the largest
    quotient of the heaviest load and the heaviest at the optimum. ``unowned``: share of all queues without an owner.
    """

    fairest: float
    worst: float
    unowned: float


def evenness(variant: str, shape: str, atlas: Allocations) -> Evenness:
    """A strategy's figures over all groups with this shape."""

    def column(of: str, told: str) -> list[int]:
        return [value for value in atlas.of(of, shape, told) if value is not None]

    most, best = column(variant, "max"), column(OPTIMUM, "max")
    unowned = column(variant, "unowned")
    groups = zip(
        most, best, column(variant, "min"), column(OPTIMUM, "min"), unowned, column(variant, "twice"), strict=True
    )
    fairest = sum(
        high == best_high and low == best_low and not nobody and not twice
        for high, best_high, low, best_low, nobody, twice in groups
    )
    return Evenness(
        fairest / len(most),
        max(high / best_high for high, best_high in zip(most, best, strict=True)),
        sum(unowned) / sum(queues_of(size, "none") for size in atlas.sizes),
    )


def moved_share(variant: str, event: str, atlas: Allocations) -> float:
    """The share of the queues that an event moves where all members read every topic; groups that it leaves without
    members are not counted."""
    moves = zip(atlas.of(variant, "equal", MOVES, event), atlas.sizes, strict=True)
    counted = [(moved, queues_of(size, event)) for moved, size in moves if moved is not None]
    return sum(moved for moved, _ in counted) / sum(queues for _, queues in counted) if counted else 0.0


def queues_of(size: Size, event: str) -> int:
    """All queues of a group after an event."""
    return size.topics * size.queues * (2 if event == "grow" else 1)


def percent(share: float) -> str:
    """A share without decimals."""
    return f"{100 * share:.0f} %"
