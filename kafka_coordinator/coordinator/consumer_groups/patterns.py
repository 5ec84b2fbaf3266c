r"""Regular-expression subscriptions as the broker reads them: RE2 syntax, matched against whole topic names (spec 6.8).

RE2 itself reads them (package google-re2, extra ``serve``). Where it is not installed, as in a browser, Python's `re`
reads what both understand alike, and everything else is refused: letters, digits, ``_ . -``, ``\.``, ``\-``, ``\d``,
``\w`` and their opposites, ``[a-z]``, ``[^a-z]``, ``( )``, ``(?: )``, ``|``, ``^``, ``$``, ``* + ?`` also lazy, and
``{2}``, ``{2,}``, ``{2,5}`` behind a single character or a class.

In Kafka `com.google.re2j.Pattern`.
"""

import re
from functools import lru_cache
from typing import Final, Protocol

_COMMON: Final = re.compile(
    r"""(?: (?: [\w.-] | \\[.dDwW-] | \[\^?(?:[\w.](?:-[\w.])?)+-?\] ) (?: (?:[*+?] | \{\d{1,3}(?:,\d{0,3})?\}) \?? )?
          | \) (?: [*+?]\?? )?
          | \((?:\?:)? | [|^$] )*""",
    re.ASCII | re.VERBOSE,
)
"""What RE2 and Python's `re` understand alike; counts behind a group are left out, because RE2 limits their product."""
_ESCAPE: Final = re.compile(r"\\Q.*?(?:\\E|$)|\\(.)", re.DOTALL)


class BadPattern(ValueError):  # noqa: N818 - what it is
    """The broker would not take the expression, or it cannot be read here."""


class Compiled(Protocol):
    """An expression that was read."""

    def fullmatch(self, text: str, /) -> object:
        """None where the expression does not match the whole text."""


@lru_cache(maxsize=1 << 10)
def compiled(regex: str) -> Compiled:
    """The expression, ready for `fullmatch`; `BadPattern` where it is refused."""
    try:
        import re2
    except ModuleNotFoundError:
        return _common(regex)
    options = re2.Options()
    options.log_errors = False
    try:
        if any(escape[1] == "C" for escape in _ESCAPE.finditer(regex)):  # any byte: RE2/J does not have it
            raise re2.error(rb"invalid escape sequence: \C")
        made: Compiled = re2.compile(regex, options)
    except re2.error as error:
        reason = " ".join(error.args[0].decode(errors="replace").split())
        raise BadPattern(f"the broker takes no such pattern, expected one of RE2: {regex!r}: {reason}") from None
    return made


def _common(regex: str) -> Compiled:
    try:
        if _COMMON.fullmatch(regex):
            return re.compile(regex, re.ASCII)
    except re.error as error:
        raise BadPattern(f"the broker takes no such pattern, expected one of RE2: {regex!r}: {error}") from None
    raise BadPattern(
        f"{regex!r} may be a pattern of RE2, which is not installed: expected pip install 'equipoise[serve]', or only"
        " letters, digits, . _ - [ ] ( ) | * + ? { }"
    )


def matching(regex: str, topics: frozenset[str]) -> frozenset[str]:
    """The topics whose whole name the expression matches."""
    pattern = compiled(regex)
    return frozenset([topic for topic in topics if pattern.fullmatch(topic)])
