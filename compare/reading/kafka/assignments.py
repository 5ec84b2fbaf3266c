"""The text of a member's assignment: ``orders:0,1;returns:2``, before version 4 ``orders(0,1), returns(2)``.

Some versions before 4, such as 3.9, leave the names of the topics out: ``(0,1), (2)``.
"""

import re

from compare.reading.kafka.rows import MISSING, RowError
from protocols import Queue

_NUMBERS = r"([0-9]{1,10}(?:,[0-9]{1,10})*)"
_COLON = re.compile(r"([a-zA-Z0-9._-]+):" + _NUMBERS)
_PARENTHESES = re.compile(r"([a-zA-Z0-9._-]+)\(" + _NUMBERS + r"\)")
_WITHOUT_TOPICS = re.compile(rf"\({_NUMBERS}\)(?:, \({_NUMBERS}\))*")


def read_assignment(cell: str, column: str) -> tuple[Queue, ...]:
    """The queues in the order written, none for ``-``; `RowError` if the text is no assignment."""
    text = cell.strip(" ")
    if text == MISSING:
        return ()
    parts, form = (text.split(", "), _PARENTHESES) if text.endswith(")") else (text.split(";"), _COLON)
    queues: list[Queue] = []
    for part in parts:
        found = form.fullmatch(part)
        if found is None:
            raise RowError(f"expected topics and partitions, or -, under {column}")
        topic = found[1]
        queues += [Queue(topic, "", int(number)) for number in found[2].split(",")]
    return tuple(dict.fromkeys(queues))


def count_without_topics(cell: str) -> int | None:
    """How many partitions are listed, where the names of their topics are left out; else None."""
    text = cell.strip(" ")
    if not text.startswith("(") or _WITHOUT_TOPICS.fullmatch(text) is None:
        return None
    return sum(len(part.split(",")) for part in text.split(", "))


def has_colon_form(cell: str) -> bool:
    """Whether the text is an assignment in the newer form."""
    return _COLON.fullmatch(cell.strip(" ").partition(";")[0]) is not None
