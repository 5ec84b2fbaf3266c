"""What happens to a tool's output on its way to us: each decoration takes lines and gives lines."""

import re
from collections.abc import Callable, Mapping, Sequence

Lines = list[str]
Decoration = Callable[[Sequence[str]], Lines]


def prefixed(prefix: Callable[[int], str]) -> Decoration:
    """``prefix`` is given the line's place."""
    return lambda lines: [
        f"{prefix(at)}{line}".rstrip(" ") if not line else f"{prefix(at)}{line}" for at, line in enumerate(lines)
    ]


def coloured(lines: Sequence[str]) -> Lines:
    """Headers in bold, the first word of every other line in red."""
    return [
        f"\x1b[1m{line}\x1b[0m"
        if line.isupper() or line.startswith("#")
        else re.sub(r"^(\S+)", "\x1b[01;31m\x1b[K\\1\x1b[m\x1b[K", line)
        for line in lines
    ]


def titled(lines: Sequence[str]) -> Lines:
    """A terminal's title and the place of its cursor."""
    return [f"\x1b]0;admin@host\x07\x1b[2K{line}" for line in lines]


def returned(lines: Sequence[str]) -> Lines:
    return [f"{line}\r" for line in lines]


def overwritten(lines: Sequence[str]) -> Lines:
    """A spinner's text stood in the line first."""
    return [f"reading...\r\x1b[K{line}" for line in lines]


def hard_blanks(lines: Sequence[str]) -> Lines:
    return [line.replace(" ", "\xa0") for line in lines]


def stripped(lines: Sequence[str]) -> Lines:
    return [line.rstrip() for line in lines]


def fenced(lines: Sequence[str]) -> Lines:
    return ["```text", *lines, "```"]


def bulleted(lines: Sequence[str]) -> Lines:
    """A list's entry: the first line that is not blank has the bullet."""
    first = next((at for at, line in enumerate(lines) if line), 0)
    return [f"- {line}" if at == first else f"  {line}" for at, line in enumerate(lines)]


def tabbed(lines: Sequence[str]) -> Lines:
    """Runs of blanks became tabs."""
    return [re.sub(r" {2,}", "\t", line.rstrip()) for line in lines]


def unexpanded(lines: Sequence[str]) -> Lines:
    return [_unexpanded(line) for line in lines]


def _unexpanded(line: str) -> str:
    parts = [line[at : at + 8] for at in range(0, len(line), 8)]
    return "".join(part.rstrip(" ") + "\t" if len(part) == 8 and part.endswith("  ") else part for part in parts)


def wrapped(width: int) -> Decoration:
    def wrap(lines: Sequence[str]) -> Lines:
        return [
            part for line in lines for part in ([line[at : at + width] for at in range(0, len(line), width)] or [""])
        ]

    return wrap


def pasted_with_prompt(lines: Sequence[str]) -> Lines:
    """Other commands before and behind."""
    return ["[admin@host ~]$ date > /dev/null", *lines, "[admin@host ~]$ "]


def in_panel(lines: Sequence[str]) -> Lines:
    width = max(map(len, lines), default=0)
    return [f"┌{'─' * (width + 2)}┐", *(f"│ {line:<{width}} │" for line in lines), f"└{'─' * (width + 2)}┘"]


DECORATIONS: Mapping[str, Decoration] = {
    "colours": coloured,
    "title": titled,
    "returns": returned,
    "overwritten": overwritten,
    "hard blanks": hard_blanks,
    "stripped": stripped,
    "kubectl": prefixed(lambda at: "[pod/kafka-0/kafka] "),
    "compose": prefixed(lambda at: "kafka-1  | "),
    "time": prefixed(lambda at: f"2025-11-22T03:04:{at % 60:02}.{'678912345'[: 1 + at % 9]}Z "),
    "bracketed time": prefixed(lambda at: f"[2025-11-22 03:04:{at % 60:02},678] "),
    "cri": prefixed(lambda at: f"2025-11-22T03:04:{at % 60:02}.678Z stdout F "),
    "syslog": prefixed(lambda at: f"Nov {1 + at % 30:2} 03:04:05 host-1 tool[{at}]: "),
    "indented": prefixed(lambda at: "    "),
    "quoted": prefixed(lambda at: "> "),
    "twice quoted": prefixed(lambda at: "> > "),
    "numbered": prefixed(lambda at: f"{at + 1:6}\t"),
    "bulleted": bulleted,
    "fenced": fenced,
    "tabs": tabbed,
    "unexpanded": unexpanded,
    "80 columns": wrapped(80),
    "100 columns": wrapped(100),
    "120 columns": wrapped(120),
    "132 columns": wrapped(132),
    "prompts": pasted_with_prompt,
    "panel": in_panel,
}
