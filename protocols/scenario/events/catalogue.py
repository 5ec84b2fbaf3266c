"""Which kinds of events there are, and how one finds the kind of an event that somebody wrote.

Several events of one time in words.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Annotated, TypeAlias, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from protocols.scenario.events.base import Event, Written
from protocols.scenario.fields import listed_members
from protocols.scenario.shorthands import each_name
from protocols.scenario.validation import PartError, Path, field_names, mapping, short, suggestion

E = TypeVar("E", bound=Event)

_KINDS: dict[str, type[Event]] = {}

EVENT_KINDS: Mapping[str, type[Event]] = MappingProxyType(_KINDS)
"""The field that says what happens (``join``, ``crash``, ...) to the kind of event, in the order of the reference."""

_TELL_NO_KIND = ("at", "group", "for", "strategy", "settings", "how", "does", "gap", "downtime", "surge", "at_once")
"""Fields that are taken for a part of an event whose kind is left out, and not for an unknown kind."""


def register(kind: type[E]) -> type[E]:
    """Makes a kind of event known; usable as a decorator. Raises `ValueError` where its name is another's."""
    name = kind.kind_name()
    if name in _KINDS:
        raise ValueError(f"there is an event {name!r} already: expected another first field of {kind.__name__}")
    _KINDS[name] = kind
    return kind


def unregister(kind: type[Event]) -> None:
    """Scenarios no longer know this kind."""
    del _KINDS[kind.kind_name()]


def read_events(given: object, brokers: Sequence[str], path: Path) -> Sequence[Written]:
    """An event as it is written, or the plain events that it means: one of each member where it names several, those of
    a shorthand. What it is called by says which kind it is. Raises `PartError`."""
    if isinstance(given, Event):
        return given.plain(path)
    fields = mapping(given, path)
    kind = _kind(fields, path)
    field = kind.kind_name()
    if not kind.takes_several():
        return kind.read(fields, brokers, path).plain(path)
    return [
        Written(kind.read({**fields, field: member}, brokers, path), path, (field, *item))
        for member, item in each_name(fields[field], (*path, field))
    ]


def _kind(fields: Mapping[str, object], path: Path) -> type[Event]:
    found = [name for name in _KINDS if name in fields]
    kinds = [name for name in found if not any(name in field_names(_KINDS[other]) for other in found if other != name)]
    if len(kinds) == 1:
        return _KINDS[kinds[0]]
    if kinds:
        raise PartError((*path, kinds[1]), f"{kinds[0]} and {kinds[1]} in one event, expected one thing that happens")
    others = [name for name in fields if name not in _TELL_NO_KIND]
    if others:
        raise PartError((*path, others[0]), f"unknown event {short(others[0])}, {suggestion(others[0], _KINDS)}")
    raise PartError(path, f"nothing happens, expected one of {', '.join(_KINDS)}")


class _AnyKind:
    """Tells pydantic that a field holds events of all kinds that are known when it is asked."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_validated)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [handler(kind.__pydantic_core_schema__) for kind in _KINDS.values()]}


AnyEvent: TypeAlias = Annotated[Event, _AnyKind()]
"""An event of any kind, as the type of a field."""


def _validated(given: object) -> Event:
    try:
        return given if isinstance(given, Event) else _kind(fields := mapping(given, ()), ()).model_validate(fields)
    except PartError as error:
        raise ValueError(error.problem) from None


def described(events: Iterable[Event]) -> list[str]:
    """What happens, in the order given; equal events of several members that follow each other are one: "c3 joins",
    "c1, c2 and c3 crash", "c1 to c8 hang for 40s"."""
    told: list[str] = []
    for (_, _, what), equal in groupby(events, lambda event: (type(event), event.group, event.what(several=True))):
        same = list(equal)
        if what is None or len(same) == 1:
            told += [event.describe() for event in same]
        else:
            told.append(f"{listed_members([name for event in same for name in event.members()])} {what}")
    return told
