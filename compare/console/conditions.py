"""``COLUMN SIGN VALUE``, as options such as `--fail-if 'max_over_mean > 1.5'` take it."""

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from protocols.errors import UserError

SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_FORM = re.compile(r"\s*([a-z_0-9/-]+)\s*(>=|<=|==|!=|>|<)\s*(\S(?:.*\S)?)\s*")


class Parts(NamedTuple):
    """A condition as it was written."""

    column: str
    sign: str
    limit: str


def parts_of(text: str, option: str, example: str = "max_over_mean > 1.5", value: str = "VALUE") -> Parts:
    """The parts of a condition; `UserError` where it has another form. ``value``: what a limit is."""
    matched = _FORM.fullmatch(text)
    if matched is None:
        raise UserError(f"{option} {text!r}: expected COLUMN SIGN {value}, such as {example!r}")
    return Parts(*matched.groups())


def limit_of(parts: Parts, text: str, option: str) -> float:
    """The limit as a number; `UserError` where it is none."""
    try:
        value = float(parts.limit)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{option} {text!r}: {parts.limit!r} is not a number, expected one such as 1.5")
    return value


class NumberCondition(NamedTuple):
    """A column of numbers, a sign and a limit. What is null never meets it."""

    column: str
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str, option: str, columns: Collection[str], example: str) -> "NumberCondition":
        """The condition that the text says; `UserError` names what was expected."""
        parts = parts_of(text, option, example, "NUMBER")
        if parts.column not in columns:
            from protocols.scenario.validation import suggestion  # only for those who made a mistake

            raise UserError(f"{option} {text!r}: no column {parts.column!r}, {suggestion(parts.column, columns)}")
        return cls(parts.column, parts.sign, limit_of(parts, text, option))

    def holds(self, value: float | None) -> bool:
        """Whether a value meets it."""
        return value is not None and SIGNS[self.sign](value, self.limit)
