"""Arguments of a producer's calls, checked as confluent-kafka checks them: the same exceptions for what cannot be."""

from collections.abc import Mapping
from typing import Any

from compare.testing.contents import Headers


def topic(given: object) -> str:
    """A topic's name."""
    if not isinstance(given, str):
        raise TypeError(f"argument 1 must be str, not {_type(given)}")
    return given


def content(given: object, number: int) -> bytes | None:
    """A value or a key, the argument of this number."""
    if isinstance(given, str):
        return given.encode()
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, bytearray | memoryview):
        raise TypeError(f"argument {number} must be read-only bytes-like object, not {_type(given)}")
    raise TypeError(f"a bytes-like object is required, not '{_type(given)}'")


def headers(given: object) -> Headers | None:
    """A dictionary, or a list of pairs."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        pairs: list[Any] = list(given.items())
    elif isinstance(given, list):
        pairs = given
    else:
        raise TypeError(f"expected headers to be dict or list of (key, value) tuples, not {_type(given)}")
    found: list[Any] = []
    for each in pairs:
        if not isinstance(each, tuple) or len(each) != 2:
            raise TypeError("Headers are expected to be a list of (key, value) tuples")
        name, value = each
        if not isinstance(value, bytes | str | None):
            raise TypeError(f"expected header value to be None, binary, or unicode string, not {_type(value)}")
        found.append((str(name), value.encode() if isinstance(value, str) else value))
    return found


def seconds(given: object) -> float | None:
    """A timeout; None: without an end."""
    if not isinstance(given, int | float):
        raise TypeError(f"must be real number, not {type(given).__name__}")
    return None if given < 0 else float(given)


def _type(given: object) -> str:
    return "None" if given is None else type(given).__name__
