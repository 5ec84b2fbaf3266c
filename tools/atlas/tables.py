"""The atlas's data: allocations of every strategy over a grid of groups, and what events cost in simulated runs.

`python -m tools.atlas` makes ``data.json.xz`` from the sweeps of ``examples/atlas``.

Its ``allocations`` have the axes of the grid and, per strategy, subscription shape and event, one whole number for each
group: members vary slowest, then topics, then queues per topic; null where the event leaves nobody. Where all groups
have the same number, it stands once instead of the list.

Its ``events`` have the group that the runs were of, and per strategy and event the 5th percentile, median and 95th
percentile of each cost over all runs.
"""

import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

OPTIMUM: Final = "optimum"
"""The variant that is the fairest allocation."""

STATE: Final = ("max", "min", "idle", "unowned", "twice")
"""What is kept of the group without an event: the most and the fewest queues of a member, members without a queue,
queues without an owner, queues with two."""

MOVES: Final = "moves"
"""What is kept of the group after an event: queues with another owner than before."""

ALLOCATIONS: Final = "allocations"
EVENTS: Final = "events"
DATA: Final = Path(__file__).with_name("data.json.xz")

Values: TypeAlias = Sequence[int | None]
Key: TypeAlias = tuple[str, str, str, str]
"""(variant, subscription shape, event, what is told)."""


@dataclass(frozen=True, slots=True)
class Size:
    """A group of the grid."""

    members: int
    topics: int
    queues: int
    """Of each topic."""


@dataclass(frozen=True, slots=True)
class Allocations:
    """The atlas's allocations. ``values``: a number for each of `sizes`, in their order."""

    members: tuple[int, ...]
    topics: tuple[int, ...]
    queues: tuple[int, ...]
    shapes: tuple[str, ...]
    events: tuple[str, ...]
    variants: tuple[str, ...]
    values: Mapping[Key, Values]

    @property
    def sizes(self) -> list[Size]:
        """Every group of the grid."""
        return [Size(m, t, q) for m in self.members for t in self.topics for q in self.queues]

    def place_of(self, size: Size) -> int:
        """The place of a group among `sizes`. Raises `ValueError` for a size that the grid has not."""
        member, topic = self.members.index(size.members), self.topics.index(size.topics)
        return (member * len(self.topics) + topic) * len(self.queues) + self.queues.index(size.queues)

    def size_of(self, place: int) -> Size:
        """The group at a place of `sizes`."""
        member, rest = divmod(place, len(self.topics) * len(self.queues))
        topic, queue = divmod(rest, len(self.queues))
        return Size(self.members[member], self.topics[topic], self.queues[queue])

    @property
    def strategies(self) -> tuple[str, ...]:
        """The variants but for the optimum."""
        return tuple(variant for variant in self.variants if variant != OPTIMUM)

    def of(self, variant: str, shape: str, told: str, event: str = "none") -> Values:
        """A number for each of `sizes`. Raises `KeyError` for what is not in the atlas."""
        return self.values[variant, shape, event, told]

    def as_json(self) -> dict[str, Any]:
        """The file's content."""
        tables: dict[tuple[str, str, str], dict[str, Any]] = {}
        for (variant, shape, event, told), values in self.values.items():
            first = values[0]
            short = first if first is not None and all(value == first for value in values) else list(values)
            tables.setdefault((variant, shape, event), {})[told] = short
        names = ("variant", "subscription", "event")
        return {
            "members": list(self.members),
            "topics": list(self.topics),
            "queues": list(self.queues),
            "subscriptions": list(self.shapes),
            "events": list(self.events),
            "variants": list(self.variants),
            "tables": [dict(zip(names, key, strict=True)) | tables[key] for key in sorted(tables)],
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Allocations":
        """The content of a file."""
        count = len(found["members"]) * len(found["topics"]) * len(found["queues"])
        values = {
            (table["variant"], table["subscription"], table["event"], told): given
            if isinstance(given, list)
            else [given] * count
            for table in found["tables"]
            for told, given in table.items()
            if told in (*STATE, MOVES)
        }
        return cls(
            tuple(found["members"]),
            tuple(found["topics"]),
            tuple(found["queues"]),
            tuple(found["subscriptions"]),
            tuple(found["events"]),
            tuple(found["variants"]),
            values,
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """5th percentile, median and 95th percentile over the runs; None where no run tells it."""

    low: float | None
    median: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Events:
    """What events cost. ``size``: the group of the runs, all of whose members read every topic; ``produce``: records
    per second and queue; ``runs``: of each variant and event; ``costs``: (variant, event) to the name of a cost, as in
    the rows of a sweep, to its spread."""

    size: Size
    produce: float
    runs: int
    events: tuple[str, ...]
    variants: tuple[str, ...]
    costs: Mapping[tuple[str, str], Mapping[str, Spread]]

    def as_json(self) -> dict[str, Any]:
        """The file's content."""
        return {
            "members": self.size.members,
            "topics": self.size.topics,
            "queues": self.size.queues,
            "produce": self.produce,
            "runs": self.runs,
            "events": list(self.events),
            "variants": list(self.variants),
            "costs": [
                {"variant": variant, "event": event}
                | {name: [spread.low, spread.median, spread.high] for name, spread in sorted(told.items())}
                for (variant, event), told in sorted(self.costs.items())
            ],
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Events":
        """The content of a file."""
        costs = {
            (cost["variant"], cost["event"]): {
                name: Spread(*given) for name, given in cost.items() if name not in ("variant", "event")
            }
            for cost in found["costs"]
        }
        size = Size(found["members"], found["topics"], found["queues"])
        return cls(size, found["produce"], found["runs"], tuple(found["events"]), tuple(found["variants"]), costs)


@cache
def allocations() -> Allocations:
    """The allocations that the page tells of."""
    return Allocations.from_json(data()[ALLOCATIONS])


@cache
def events() -> Events:
    """The costs of events that the page tells of."""
    return Events.from_json(data()[EVENTS])


@cache
def data() -> Mapping[str, Any]:
    """The content of the file."""
    found: Mapping[str, Any] = json.loads(lzma.decompress(DATA.read_bytes()))
    return found


def write(content: Mapping[str, Any]) -> None:
    """Replace the content of the file."""
    DATA.write_bytes(lzma.compress(f"{json.dumps(content, separators=(',', ':'))}\n".encode(), preset=9))
