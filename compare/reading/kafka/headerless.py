"""Text without a header: the plain lists of names that Kafka's tools print."""

import re

from compare.reading.blocks import Block, skipped
from compare.reading.observed import Skipped

_NAME = re.compile(r"[^\s{}\[\]<>=|\"]+(?: [^\s{}\[\]<>=|\"]+)*")
_LONGEST = 300
_MOST_LOOKED_AT = 1000


def explain(block: Block) -> Skipped | None:
    """Why a text that no `BlockKind` knows tells nothing, if it looks like a plain list; else None.

    A list of groups cannot be told from one of topics, so that not even the names are used.
    """
    lines = [line.rstrip() for line in block.lines[:_MOST_LOOKED_AT] if line.strip()]
    looks_like_names = all(len(line) <= _LONGEST and _NAME.fullmatch(line) for line in lines)
    with_blanks = sum(" " in line for line in lines)
    if not looks_like_names or with_blanks * 2 > len(lines) or len(set(lines)) != len(lines):
        return None
    return skipped(
        block,
        0,
        "looks like a plain list of names, as --list prints it: which shows no members, expected --describe"
        " --all-groups or --list --state",
    )
