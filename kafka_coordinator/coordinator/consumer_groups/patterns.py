"""Regular-expression subscriptions as the broker reads them: RE2 syntax, matched against whole topic names (spec 6.8).

Python's `re` does the matching. What RE2 has not (references back, looking around, atomic groups, possessive
repetition, conditions) is refused before, and what RE2 writes differently is rewritten; both accept the rest alike.

In Kafka `com.google.re2j.Pattern`.
"""

import re
import unicodedata
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
_ASSERTIONS: Final = {"A": r"\A", "b": r"\b", "B": r"\B", "z": r"\Z"}
_SPACES: Final = {"s": r"\t\n\f\r ", "S": r"\x00-\x08\x0B\x0E-\x1F!-\U0010FFFF"}
_CODE: Final = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})")
_OCTAL: Final = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_PROPERTY: Final = re.compile(r"\\([pP])(?:([A-Z])|\{(\^?\w+)\})")
_SCRIPTS: Final = (
    "Any",
    "Arabic",
    "Common",
    "Cyrillic",
    "Greek",
    "Han",
    "Hebrew",
    "Hiragana",
    "Katakana",
    "Latin",
    "Thai",
)
_CATEGORIES: Final = frozenset(
    [
        "C",
        "Cc",
        "Cf",
        "Co",
        "Cs",
        "L",
        "Ll",
        "Lm",
        "Lo",
        "Lt",
        "Lu",
        "M",
        "Mc",
        "Me",
        "Mn",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Pe",
        "Pf",
        "Pi",
        "Po",
        "Ps",
        "S",
        "Sc",
        "Sk",
        "Sm",
        "So",
        "Z",
        "Zl",
        "Zp",
        "Zs",
    ]
)
_CLASS_NAME: Final = re.compile(r"\[:(\^?)(\w+):\]")


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
        elif char in "^$":
            self._anchor(char)
        else:
            self._emit(char, 1, True)

    def _anchor(self, char: str) -> None:
        """The beginning and the end of the text, or of a line where the flag m holds."""
        self._emit(f"(?:{char})" if char == "^" else "(?:$(?!\n\\Z))", 1, True)

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
        if flags is None:
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
        if rest[1:2] in _ASSERTIONS:
            # In a group, so that it can be repeated.
            return self._emit(f"(?:{_ASSERTIONS[rest[1:2]]})", 2, True)
        text, length, is_class = self._escaped(rest)
        return self._emit(f"[{text}]" if is_class else text, length, True)

    def _escaped(self, rest: str) -> tuple[str, int, bool]:
        """An escape as it stands in a class of characters, its length, and whether it is a class itself."""
        char = rest[1:2]
        if char and char in "dDsSwW":
            return rest[:2] if char not in "sS" else _SPACES[char], 2, True
        if found := _PROPERTY.match(rest):
            return self._property(found), len(found.group()), True
        if found := _CODE.match(rest):
            code = int(found[1] or found[2], 16)
            if code > 0x10FFFF:
                raise self._refuse("a code point that does not exist")
            return re.escape(chr(code)), len(found.group()), False
        if found := _OCTAL.match(rest):
            return re.escape(chr(int(found[1], 8))), len(found.group()), False
        if char and char in "afnrtv":
            return rest[:2], 2, False
        if not char or char.isalnum() or not char.isascii():
            raise self._refuse(f"an escape that RE2 does not have: \\{char}")
        return re.escape(char), 2, False

    def _property(self, found: re.Match[str]) -> str:
        """A class by its Unicode name, as far as it is ASCII: no topic has another character in its name."""
        name = found[2] or found[3]
        negated = (found[1] == "P") != name.startswith("^")
        name = name.removeprefix("^")
        if name not in _SCRIPTS and name not in _CATEGORIES:
            raise self._refuse(f"a class of characters that is not known: {name}")
        inside = [char for char in map(chr, range(128)) if _has(name, char) != negated]
        return "".join(map(re.escape, inside)) + (r"\x80-\U0010FFFF" if negated else "") or r"^\x00-\U0010FFFF"

    def _bracket(self) -> None:
        """A class of characters."""
        parts = ["["]
        self._at += 1
        if self._regex.startswith("^", self._at):
            parts.append("^")
            self._at += 1
        first = True
        while first or not self._regex.startswith("]", self._at):
            parts.append(self._class_item())
            first = False
        self._emit("".join([*parts, "]"]), 1, True)

    def _class_item(self) -> str:
        """A character, a range of two, or a class within the class."""
        if named := _CLASS_NAME.match(self._regex, self._at):
            if named[2] not in _POSIX:
                raise self._refuse(f"a class of characters that is not known: {named.group()}")
            self._at += len(named.group())
            return _without(_POSIX[named[2]]) if named[1] else _POSIX[named[2]]
        low, is_class = self._class_character()
        if is_class or not self._regex.startswith("-", self._at) or self._regex.startswith("-]", self._at):
            return low
        self._at += 1
        high, is_class = self._class_character()
        if is_class:
            raise self._refuse("a range that ends with a class")
        return f"{low}-{high}"

    def _class_character(self) -> tuple[str, bool]:
        if self._at >= len(self._regex):
            raise self._refuse("missing closing ]")
        char = self._regex[self._at]
        if char == "\\":
            text, length, is_class = self._escaped(self._regex[self._at :])
            self._at += length
            return text, is_class
        self._at += 1
        return re.escape(char), False


def _has(name: str, char: str) -> bool:
    if name in _SCRIPTS:
        return name == "Any" or name == ("Latin" if char.isalpha() else "Common")
    return unicodedata.category(char).startswith(name)


def _without(members: str) -> str:
    """What is not in a class, as members of another one."""
    inside = re.compile(f"[{members}]")
    outside = [char for char in map(chr, range(128)) if not inside.fullmatch(char)]
    return "".join(map(re.escape, outside)) + r"\x80-\U0010FFFF"
