"""`--fail-if 'max_over_mean > 1.5'` and `--sort lag`: what the user asks of columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compare.console.conditions import SIGNS, limit_of, parts_of
from compare.explaining.diagnosis import Explained
from compare.showing.audit.tables import COLUMNS, NAMES, Column
from compare.showing.console import number
from protocols import UserError

_SAME = ("==", "!=")


@dataclass(frozen=True, slots=True)
class Condition:
    """A column, a comparison, and a limit (a number; a text for columns of text). What is not told never meets it."""

    column: Column
    sign: str
    limit: float | str

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """The condition that the text says; `UserError` names what was expected."""
        name, sign, limit = parts = parts_of(text, "--fail-if")
        column = _column(name, f"--fail-if {text!r}")
        if column.is_text:
            if sign not in _SAME:
                raise UserError(f"--fail-if {text!r}: {column.name} holds text, expected == or != instead of {sign}")
            return cls(column, sign, limit.strip("'\""))
        return cls(column, sign, limit_of(parts, text, "--fail-if"))

    def met_by(self, groups: Sequence[Explained]) -> list[str]:
        """One line for every group that meets the condition."""
        lines = []
        for group in groups:
            value = self.column.value(group)
            if value is not None and self._holds(value):
                observed = group.group.observed
                shown, limit = (each if isinstance(each, str) else number(each) for each in (value, self.limit))
                lines.append(
                    f"{observed.system} group {observed.name}: {self.column.name} is {shown}, {self.sign} {limit}"
                )
        return lines

    def _holds(self, value: float | str) -> bool:
        if isinstance(value, str) or isinstance(self.limit, str):
            return (str(value) == self.limit) == (self.sign == "==")
        return SIGNS[self.sign](value, self.limit)


def sorted_by_column(groups: Sequence[Explained], by: str | None) -> list[Explained]:
    """The groups by a column: largest number or first text first, with ``-`` before the name the other way round.

    What is not told comes last, equals stay in order. Without ``by`` the order is as it was.
    """
    if by is None:
        return list(groups)
    column = _column(by.removeprefix("-"), f"--sort {by}")
    values: list[tuple[Any, Explained]] = [(column.value(group), group) for group in groups]
    told = [each for each in values if each[0] is not None]
    told.sort(key=lambda each: each[0], reverse=column.is_text == by.startswith("-"))
    return [group for _, group in told] + [group for value, group in values if value is None]


def _column(name: str, where: str) -> Column:
    column = COLUMNS.get(name)
    if column is None:
        raise UserError(f"{where}: unknown column {name!r}, expected one of {', '.join(NAMES)}")
    return column
