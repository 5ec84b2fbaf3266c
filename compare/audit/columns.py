"""What a row of the audit says: the columns of the table, which conditions and sorting know by name and by heading."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import floor
from typing import TypeAlias

from compare.console.output import number, ratio
from compare.explaining.diagnosis import Explained
from compare.figures import FIGURES

Value: TypeAlias = str | float | int | None


@dataclass(frozen=True, slots=True)
class Column:
    """``name`` as in JSON, ``heading`` as in the table, ``value`` of a group, and how a person reads it."""

    name: str
    heading: str
    value: Callable[[Explained], Value]
    text: Callable[[float | int | None], str] | None = number

    @property
    def is_text(self) -> bool:
        """Whether it holds a name instead of a number."""
        return self.text is None

    def cell(self, explained: Explained) -> str:
        """The table's cell."""
        value = self.value(explained)
        if value is None or self.text is None or isinstance(value, str):
            return "-" if value is None else str(value)
        return self.text(value)


def _figure(name: str) -> Callable[[Explained], Value]:
    return lambda explained: explained.group.figures[name]


def _state(explained: Explained) -> Value:
    observed = explained.group.observed
    return observed.state if observed.mode == "shared" else observed.mode


def _points(value: float | int | None) -> str:
    # Half a point counts up, as in the report.
    return "-" if value is None else str(floor(value + 0.5))


TABLE = (
    Column("system", "system", lambda explained: explained.group.observed.system, None),
    Column("group", "group", lambda explained: explained.group.observed.name, None),
    Column("kind", "kind", lambda explained: explained.kind, None),
    Column("strategy", "strategy", lambda explained: explained.group.observed.strategy, None),
    Column("state", "state", _state, None),
    Column("members", "members", _figure("members")),
    Column("idle_members", "idle", _figure("idle_members")),
    Column("queues", "queues", _figure("queues")),
    Column("min", "min", _figure("min")),
    Column("max", "max", _figure("max")),
    Column("max_over_mean", "max/mean", _figure("max_over_mean"), ratio),
    Column("jain", "jain", _figure("jain"), ratio),
    Column("pile_up", "pile-up", _figure("pile_up"), ratio),
    Column("unowned_queues", "unowned", _figure("unowned_queues")),
    Column("double_owned_queues", "twice", _figure("double_owned_queues")),
    Column("lag", "lag", _figure("lag")),
    Column("score", "score", lambda explained: explained.score, _points),
)
"""The table's columns, from left to right."""

_OTHERS = (
    *(Column(name, name, _figure(name)) for name in FIGURES if name not in {column.name for column in TABLE}),
    Column("score_after", "score after", lambda explained: explained.score_after),
    Column("cost", "cost", lambda explained: explained.group.cost),
)

COLUMNS: Mapping[str, Column] = {
    **{column.heading: column for column in TABLE},
    **{column.name: column for column in (*TABLE, *_OTHERS)},
}
"""By name, and by heading where that is another word."""

NAMES = tuple(dict.fromkeys(column.name for column in (*TABLE, *_OTHERS)))
"""The names, for messages."""
