"""One table of messages per source: what a message must hold, how its parts are found, what it then says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

PARTS = ("group", "member", "client", "instance", "generation", "text", "names")
"""Named groups of the patterns; `names` is a list with commas."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """``holds``: text that every such message has; ``parts``: finds the parts; ``kind``: of the fact."""

    holds: str
    parts: re.Pattern[str]
    kind: str


def table(rows: Sequence[tuple[str, str, str]]) -> tuple[Pattern, ...]:
    """Rows of (kind, text that it holds, regular expression with named groups)."""
    return tuple(Pattern(holds, re.compile(expression), kind) for kind, holds, expression in rows)


def first_match(patterns: Sequence[Pattern], message: str) -> tuple[str, dict[str, str]] | None:
    """The kind and the parts of the first pattern that the message matches."""
    for pattern in patterns:
        if pattern.holds in message and (match := pattern.parts.search(message)):
            return pattern.kind, {name: value for name, value in match.groupdict().items() if value is not None}
    return None
