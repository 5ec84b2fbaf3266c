"""How big a message is, as a class: small, medium or large by the number of values that it carries.

A value is a number, a text, a flag or nothing (None); records, tuples and mappings count what is in them, mappings
their keys as well. Up to `SMALL` values a message is small (a heartbeat, a commit), up to `MEDIUM` it is medium (a
join answer with a few members), beyond that it is large (the leader's list of a big group).
"""

from collections.abc import Mapping

SMALL = 16
MEDIUM = 256
CLASSES = ("small", "medium", "large")


def values_in(message: object) -> int:
    """How many values a message carries; it stops counting once there are more than `MEDIUM`."""
    count = 0
    waiting: list[object] = [message]
    while waiting and count <= MEDIUM:
        each = waiting.pop()
        if isinstance(each, tuple | list | frozenset):
            waiting.extend(each)
        elif isinstance(each, Mapping):
            waiting.extend(each)
            waiting.extend(each.values())
        else:
            count += 1
    return count


def size_class(message: object) -> str:
    """``small``, ``medium`` or ``large``."""
    count = values_in(message)
    return CLASSES[0] if count <= SMALL else CLASSES[1] if count <= MEDIUM else CLASSES[2]
