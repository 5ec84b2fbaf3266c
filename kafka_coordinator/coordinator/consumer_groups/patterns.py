"""Regular-expression subscriptions as the broker reads them: RE2 syntax, matched against whole topic names (spec 6.8).

Python's `re` does the matching. What RE2 has not (references back, looking around, atomic groups, possessive
repetition, conditions) is refused before, and what RE2 writes differently is rewritten; both accept the rest alike.

In Kafka `com.google.re2j.Pattern`.
"""

import re
from functools import lru_cache
from typing import Final

MOST_REPEATS: Final = 1000
"""RE2 refuses a counted repetition of more."""

_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}

_REPEAT: Final = re.compile(r"\{(\d+)(,(\d*))?\}")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAMED: Final = re.compile(r"\(\?P?<([A-Za-z_0-9]+)>")
_ESCAPES: Final = frozenset("AbBdDsSwWzafnrtv")
_CLASS_NAME: Final = re.compile(r"\[:(\^?)([a-z]+):\]")


class BadPattern(ValueError):  # noqa: N818 - what it is
    """RE2 would not take the expression."""


@lru_cache(maxsize=1 << 10)
def compiled(regex: str) -> re.Pattern[str]:
    """The expression, ready for `fullmatch`; `BadPattern` where RE2 refuses it."""
    try:
        return re.compile(_Translation(regex).text(), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"{regex!r}: {error}") from None


def matching(regex: str, topics: frozenset[str]) -> frozenset[str]:
    """The topics whose whole name the expression matches."""
    pattern = compiled(regex)
    return frozenset([topic for topic in topics if pattern.fullmatch(topic)])


class _Translation:
    """From RE2's syntax to Python's, from left to right."""

    def __init__(self, regex: str) -> None:
        self._regex = regex
        self._at = 0
        self._out: list[str] = []
        self._repeatable = False
        """Whether there is something before that can be repeated and is not yet."""
        self._open: list[list[str]] = [[]]
        """Per open group, the whole expression first, what opens the flags that hold until its end."""

    def text(self) -> str:
        while self._at < len(self._regex):
            self._step()
        if len(self._open) > 1:
            raise self._refuse("missing closing )")
        return "".join(self._out) + ")" * len(self._open[0])

    def _refuse(self, why: str) -> BadPattern:
        return BadPattern(f"{self._regex!r}: {why}")

    def _emit(self, text: str, length: int, repeatable: bool) -> None:
        self._out.append(text)
        self._at += length
        self._repeatable = repeatable

    def _step(self) -> None:
        char = self._regex[self._at]
        if char == "\\":
            self._escape()
        elif char == "[":
            self._bracket()
        elif char == "(":
            self._group()
        elif char == ")":
            if len(self._open) == 1:
                raise self._refuse("unexpected )")
            self._emit(")" * (1 + len(self._open.pop())), 1, True)
        elif char == "|":
            # Flags hold for the other alternatives, too.
            flags = self._open[-1]
            self._emit(")" * len(flags) + "|" + "".join(flags), 1, False)
        elif char in "*+?":
            self._repeat(char, 1)
        elif char == "{" and (found := _REPEAT.match(self._regex, self._at)):
            self._check_count(found)
            self._repeat(found.group(), len(found.group()))
        elif char == "{":
            self._emit(r"\{", 1, True)
        elif char == "$":
            self._emit(r"\Z", 1, True)
        else:
            self._emit(char, 1, True)

    def _check_count(self, found: re.Match[str]) -> None:
        least, most = int(found[1]), int(found[3] or found[1])
        if least > MOST_REPEATS or most > MOST_REPEATS or most < least:
            raise self._refuse(f"invalid repeat count {found.group()}")

    def _repeat(self, operator: str, length: int) -> None:
        if not self._repeatable:
            raise self._refuse(f"nothing to repeat, or repeated twice, at {operator}")
        lazy = self._regex[self._at + length : self._at + length + 1] == "?"
        self._emit(operator + "?" * lazy, length + lazy, False)

    def _group(self) -> None:
        rest = self._regex
        if not rest.startswith("(?", self._at):
            self._open.append([])
            return self._emit("(", 1, False)
        if named := _NAMED.match(rest, self._at):
            self._open.append([])
            return self._emit(f"(?P<{named[1]}>", len(named.group()), False)
        flags = _FLAGS.match(rest, self._at)
        if flags is None or not (flags[1] or flags[2] or flags[3] == ":"):
            raise self._refuse("a group that RE2 does not have")
        on, off = flags[1].replace("U", ""), (flags[2] or "").replace("U", "")
        opening = f"(?{on}{'-' + off if off else ''}:"
        if flags[3] == ":":
            self._open.append([])
        else:
            self._open[-1].append(opening)
        return self._emit(opening, len(flags.group()), False)

    def _escape(self) -> None:
        rest = self._regex[self._at :]
        if rest.startswith(r"\Q"):
            end = rest.find(r"\E")
            quoted = rest[2:] if end < 0 else rest[2:end]
            return self._emit(re.escape(quoted), len(rest) if end < 0 else end + 2, bool(quoted))
        if rest.startswith(r"\C"):
            return self._emit(".", 2, True)
        text, length = self._escaped_character(rest)
        return self._emit(text, length, True)

    def _escaped_character(self, rest: str) -> tuple[str, int]:
        char = rest[1:2]
        if char == "z":
            return r"\Z", 2
        if found := re.match(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})", rest):
            code = int(found[1] or found[2], 16)
            if code > 0x10FFFF:
                raise self._refuse("a code point that does not exist")
            return re.escape(chr(code)), len(found.group())
        if found := re.match(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})", rest):
            return re.escape(chr(int(found[1], 8))), len(found.group())
        if char in _ESCAPES and char:
            return rest[:2], 2
        if not char or char.isalnum():
            raise self._refuse(f"an escape that RE2 does not have, or classes by Unicode name: \\{char}")
        return re.escape(char), 2

    def _bracket(self) -> None:
        """A class of characters."""
        parts = ["["]
        start = self._at
        self._at += 1
        if self._regex.startswith("^", self._at):
            parts.append("^")
            self._at += 1
        first = True
        while first or not self._regex.startswith("]", self._at):
            if self._at >= len(self._regex):
                self._at = start
                raise self._refuse("missing closing ]")
            parts.append(self._class_item())
            first = False
        parts.append("]")
        self._emit("".join(parts), 1, True)

    def _class_item(self) -> str:
        if named := _CLASS_NAME.match(self._regex, self._at):
            if named[2] not in _POSIX or named[1]:
                raise self._refuse(f"a class of characters that is not known: {named.group()}")
            self._at += len(named.group())
            return _POSIX[named[2]]
        char = self._regex[self._at]
        if char == "\\":
            text, length = self._escaped_character(self._regex[self._at :])
            if text in (r"\b", r"\B", r"\A", r"\Z"):
                raise self._refuse("an escape that is none of a character")
            self._at += length
            return text
        self._at += 1
        return "\\" + char if char in "[]&~|" else char
