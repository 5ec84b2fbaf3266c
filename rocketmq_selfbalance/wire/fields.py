"""The fields of a frame and the JSON of its body, of which nothing is believed before it was looked at."""

import json
from collections.abc import Mapping

from rocketmq_selfbalance.remoting import Frame

LARGEST = 2**63 - 1


class FieldError(Exception):
    """A field or a body that a request needs and that is missing or cannot be read; its text is one line."""


class Fields:
    """The header fields of a request."""

    __slots__ = ("told",)

    def __init__(self, told: Mapping[str, str]) -> None:
        self.told = told

    def text(self, name: str, default: str | None = None) -> str:
        """A text; `FieldError` where it is missing and has no default."""
        value = self.told.get(name, default)
        if value is None:
            raise FieldError(f"the custom field <{name}> is null")
        return value

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number of at most 64 bits."""
        value = self.told.get(name)
        if value is None:
            if default is None:
                raise FieldError(f"the custom field <{name}> is null")
            return default
        return whole(name, value)

    def optional(self, name: str) -> int | None:
        """A whole number, None where there is none."""
        value = self.told.get(name)
        return None if value is None else whole(name, value)

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value."""
        value = self.told.get(name)
        return default if value is None else value.lower() == "true"


def whole(name: str, value: object) -> int:
    """A whole number of at most 64 bits; `FieldError` for anything else."""
    try:
        if isinstance(value, int | str) and -LARGEST <= (number := int(value)) <= LARGEST:
            return number
    except ValueError:
        pass
    raise FieldError(f"the custom field <{name}> is {str(value)[:40]!r}, expected a number")


def body_of(frame: Frame) -> dict[str, object]:
    """The JSON object in a frame's body; `FieldError` where there is none."""
    return parsed(frame.body)


def parsed(body: bytes) -> dict[str, object]:
    """The JSON object that this is; `FieldError` for anything else."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise FieldError("a body that is no JSON") from None
    if not isinstance(told, dict):
        raise FieldError("a body that is no JSON object")
    return told


def objects(value: object) -> list[dict[str, object]]:
    """The objects of a list; none where there is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text(told: Mapping[str, object], name: str, default: str = "") -> str:
    """A text of a JSON object."""
    value = told.get(name, default)
    return value if isinstance(value, str) else default
