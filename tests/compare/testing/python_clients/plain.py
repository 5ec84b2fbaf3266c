"""What Python's clients answer as plain values that can be compared: types by their names, times and ids left out."""

import re
from typing import Any

_IDS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{20,}")
_ADDRESS = re.compile(r"127\.0\.0\.1:\d+")


def plain(value: Any) -> Any:
    """A value, with the name of its type where it is one of a client's."""
    if isinstance(value, BaseException):
        return "raises", type(value).__name__, _text(str(value))
    if hasattr(value, "serialized_value_size"):
        names = ("topic", "partition", "offset", "timestamp_type", "key", "value", "checksum", "headers")
        sizes = value.serialized_key_size, value.serialized_value_size
        return type(value).__name__, *[plain(getattr(value, name, None)) for name in names], *sizes
    if isinstance(value, set | frozenset):
        return type(value).__name__, sorted(map(repr, value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        names = [each for each in value._fields if each not in ("timestamp", "member_id", "generation_id")]
        return type(value).__name__, *[(name, plain(getattr(value, name))) for name in names]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *[plain(each) for each in value]]
    if isinstance(value, dict):
        pairs = [(repr(plain(name)), plain(each)) for name, each in value.items()]
        return type(value).__name__, sorted(pairs, key=lambda each: each[0])
    if isinstance(value, str):
        return _text(value)
    return value if value is None or isinstance(value, bool | int | float | bytes) else type(value).__name__


def _text(text: str) -> str:
    return _ADDRESS.sub("<address>", _IDS.sub("<id>", text))
