"""Names that a topic may have.

In Kafka `Topic`.
"""

import re
from collections.abc import Iterable
from typing import Final

from kio.schema.errors import ErrorCode

from kafka_coordinator.wire.refusals import RefusedError

_MOST_CHARACTERS: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def check_name(name: str) -> None:
    """Raises `RefusedError` for a name that no topic may have."""
    why = None
    if name == "":
        why = "the empty string is not allowed"
    elif name in (".", ".."):
        why = f"'{name}' is not allowed"
    elif len(name) > _MOST_CHARACTERS:
        why = f"the length of '{name}' is longer than the max allowed length {_MOST_CHARACTERS}"
    elif not _LEGAL.fullmatch(name):
        why = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    if why is not None:
        raise RefusedError(ErrorCode.invalid_topic_exception, f"Topic name is invalid: {why}")


def check_collision(name: str, known: Iterable[str]) -> None:
    """Raises `RefusedError` where another topic has the same name but for ``.`` and ``_``."""
    if "." in name or "_" in name:
        plain = name.replace(".", "_")
        for each in known:
            if each != name and each.replace(".", "_") == plain:
                text = f"Topic '{name}' collides with existing topic: {each}"
                raise RefusedError(ErrorCode.invalid_topic_exception, text)
