"""A scenario as the text of a file: `protocols.scenario.reading.read_text` makes an equal one of it."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from io import StringIO
from typing import Any, get_args

from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from protocols.scenario.fields import count_range, duration_text, latency_of, milliseconds, per_second
from protocols.scenario.model import Scenario
from protocols.scenario.validation import Path

_WIDTH = 120
_ALWAYS = frozenset({"subscribe", "systems"})
"""Fields whose absence would mean something else than their default."""


def as_yaml(scenario: Scenario) -> str:
    """The scenario as YAML; what is left out in it has its default. Durations keep every digit."""
    from ruamel.yaml import YAML  # scenarios that stay in memory need no YAML

    yaml = YAML()
    yaml.width = _WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    yaml.dump(_arranged(as_fields(scenario), ()), text)
    return text.getvalue()


def as_fields(part: BaseModel) -> dict[str, Any]:
    """A part of a scenario as the values that one would write, without what has its default."""
    found: dict[str, Any] = {}
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        if value is not None and (name in _ALWAYS or value != field.get_default(call_default_factory=True)):
            found[field.alias or name] = _field_value(value, field)
    if "pattern" in found and not found.get("subscribe"):
        found.pop("subscribe", None)
    return found


def _field_value(value: object, field: FieldInfo | None = None) -> object:
    for mark in () if field is None else _marks(field):
        if isinstance(mark, BeforeValidator) and mark.func in _WRITERS:
            write = _WRITERS[mark.func]
            return {name: write(each) for name, each in value.items()} if isinstance(value, Mapping) else write(value)
    if isinstance(value, BaseModel):
        return as_fields(value)
    if isinstance(value, Mapping):
        return {name: _field_value(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_field_value(each) for each in value]
    return value


def _marks(field: FieldInfo) -> Iterator[object]:
    """What the field's annotation says of its values, also where it may be None."""
    yield from field.metadata
    for each in get_args(field.annotation):
        yield from getattr(each, "__metadata__", ())


def _duration(value: float) -> str:
    short = duration_text(value)
    return short if milliseconds(short) == value else f"{Decimal(value):f}ms"


def _rate(value: float) -> str:
    return f"{Decimal(repr(value)):f}/s"


def _latency(value: tuple[float, float]) -> str:
    return "..".join(map(_duration, value))


def _range(value: tuple[int, int]) -> str:
    return "..".join(map(str, value))


_WRITERS: Mapping[object, Callable[[Any], str]] = {
    milliseconds: _duration,
    per_second: _rate,
    latency_of: _latency,
    count_range: _range,
}
"""What reads a field to what writes it."""


def _arranged(value: object, path: Path) -> object:
    """Parts that a reader scans stand below each other, each of them on one line."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    made: CommentedMap | CommentedSeq
    if isinstance(value, dict):
        made = CommentedMap((name, _arranged(each, (*path, name))) for name, each in value.items())
    elif isinstance(value, list):
        made = CommentedSeq(_arranged(each, (*path, number)) for number, each in enumerate(value))
    else:
        return value
    below = path in ((), ("topics",), ("systems",), ("events",)) or (path[:1] == ("groups",) and len(path) < 4)
    if not below:
        made.fa.set_flow_style()
    return made
