"""`--fail-if 'max_over_mean > 1.5'`: conditions of the user's that make the audit exit with 1."""

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compare.audit.judge import AuditedGroup
from compare.figures import FIGURES
from compare.output import number
from protocols import UserError

NAMES = (*FIGURES, "lag")
"""What a condition may speak of."""

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_FORM = re.compile(r"\s*([a-z_]+)\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class Condition:
    """A figure, a comparison, a limit. A figure that is not known never meets it."""

    figure: str
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """The condition that the text says; `UserError` names what was expected."""
        matched = _FORM.fullmatch(text)
        if matched is None:
            raise UserError(f"--fail-if {text!r}: expected FIGURE SIGN NUMBER, such as 'max_over_mean > 1.5'")
        figure, sign, limit = matched.groups()
        if figure not in NAMES:
            raise UserError(f"--fail-if {text!r}: unknown figure {figure!r}, expected one of {', '.join(NAMES)}")
        try:
            value = float(limit)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise UserError(f"--fail-if {text!r}: {limit!r} is no number, expected one such as 1.5")
        return cls(figure, sign, value)

    def met_by(self, groups: Sequence[AuditedGroup]) -> list[str]:
        """One line for every group that meets the condition."""
        lines = []
        for group in groups:
            value = group.figures[self.figure]
            if value is not None and _COMPARE[self.sign](value, self.limit):
                observed = group.observed
                limit = f"{self.sign} {self.limit:g}"
                lines.append(f"{observed.system} group {observed.name}: {self.figure} is {number(value)}, {limit}")
        return lines
