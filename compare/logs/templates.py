"""Messages of logs as templates: the text that they have, with `{field}` where something stands in it.

Each row of a table names the event that a message tells of, and the message. What a client may choose stands in
messages as it is (client ids, reasons), so that a row is anchored at both ends, and the text after a part that a
client chooses, written `{*field}`, is looked for from the right, behind a member id if any ends there: a client id
that reads as a message changes nothing but itself. `{}` is anything, `<state>` a state of a group. A row costs one
search for each of its parts, whatever stands in the message.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields

from compare.logs.events import Event, Place

Read = tuple[str, Event | None]
"""The library, and what a line tells, None where it is not used."""

_FIELD = re.compile(r"\{(\*?)(\w*)\}")
_UUID = r"-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
"""How a member id ends."""
_ENDS_AS_ID, _ID_LENGTH = re.compile(_UUID), 37
_OF_MEMBERS = frozenset({"member", "leader", "old", "by"})
_NO = (-1, -1)
_STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")
_MOST_DIGITS = 19


@dataclass(frozen=True, slots=True)
class _Part:
    """What comes after a literal: the field, whether the literal behind it is searched from the right, that literal, in
    each form that it has."""

    field: str
    from_right: bool
    literals: tuple[str, ...]

    def first(self, text: str, at: int) -> tuple[int, int]:
        """Where the literal begins and ends, (-1, -1) where it is not there."""
        found = ((begin, begin + len(each)) for each in self.literals if (begin := text.find(each, at)) >= 0)
        return min(found, default=_NO)

    def last(self, text: str, at: int) -> tuple[int, int]:
        """The same from the right: behind a member id, which ends as a UUID does, if any ends there."""
        (literal,) = self.literals
        found = begin = text.rfind(literal, at)
        while self.field in _OF_MEMBERS and begin >= 0:
            if _ENDS_AS_ID.fullmatch(text, max(at, begin - _ID_LENGTH), begin):
                found = begin
                break
            begin = text.rfind(literal, at, begin)
        return (found, found + len(literal)) if found >= 0 else _NO

    def at_end(self, text: str, at: int) -> tuple[int, int]:
        """The same where the text ends with it."""
        found = (len(text) - len(each) for each in self.literals if text.endswith(each))
        return next(((begin, len(text)) for begin in found if begin >= at), _NO)


@dataclass(frozen=True, slots=True)
class Template:
    """``event``: what the message tells of; ``begin``: how it begins; ``convert``: for each field of the event."""

    event: type[Event]
    begin: str
    parts: tuple[_Part, ...]
    convert: Mapping[str, Callable[[str], object]]

    def values(self, text: str) -> dict[str, object] | None:
        """The fields that the text gives, None where it is another message."""
        if not text.startswith(self.begin):
            return None
        found: dict[str, object] = {}
        at, last = len(self.begin), len(self.parts) - 1
        if last < 0:
            return found if at == len(text) else None
        for number, part in enumerate(self.parts):
            search = part.at_end if number == last else part.last if part.from_right else part.first
            end, at_next = search(text, at)
            if end < 0:
                return None
            if part.field:
                try:
                    found[part.field] = self.convert[part.field](text[at:end])
                except ValueError:
                    return None
            at = at_next
        return found

    def ends_before(self, text: str) -> bool:
        """Whether the message ends, and the text goes on: a layout puts something behind it, or it is quoted."""
        if not text.startswith(self.begin) or (self.parts and not self.parts[-1].literals[0]):
            return False
        at = len(self.begin)
        for part in self.parts:
            begin, at = part.first(text, at)
            if begin < 0:
                return False
        return at < len(text)


Table = Mapping[str, Sequence[Template]]
"""Templates by their first characters."""

_FIRST = 6


def table(*rows: tuple[type[Event], str]) -> Table:
    """The rows, found by how they begin; each begins with some text."""
    found: dict[str, list[Template]] = {}
    for event, message in rows:
        pieces = _FIELD.split(message)
        begin = pieces[0]
        assert len(begin) >= _FIRST, message
        parts = [
            _Part(field, bool(star), tuple(dict.fromkeys(literal.replace("<state>", state) for state in _STATES)))
            for star, field, literal in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True)
        ]
        known = {field.name: _converter(field) for field in fields(event) if field.name != "place"}
        assert all(not part.field or part.field in known for part in parts), message
        found.setdefault(begin[:_FIRST], []).append(Template(event, begin, tuple(parts), known))
    return found


def read_message(rows: Table, text: str, place: Place, more: Mapping[str, object] | None = None) -> Event | None:
    """The event that a message tells of; ``more``: fields that its head gave."""
    alike = rows.get(text[:_FIRST], ())
    for row in alike:
        found = row.values(text)
        if found is not None:
            known = {name: value for name, value in (more or {}).items() if name in row.convert}
            return row.event(place=place, **(known | found))
    place.stream.quoted += any(row.ends_before(text) for row in alike)
    return None


def _number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(text)
    return int(text)


def _instance(text: str) -> str:
    """A group.instance.id without what Scala and Java print around an optional value; "" for none."""
    if text.startswith(("Some(", "Optional[")):
        text = text.partition("(" if text[0] == "S" else "[")[2][:-1]
    return "" if text in {"None", "null", "Optional.empty"} else text


_ID = re.compile(rf".*{_UUID}(?=\W|$)")


def _member(text: str) -> str:
    """A member id, without what a layout puts behind it: it ends as a UUID does."""
    found = _ID.match(text)
    return found.group() if found else text


def _topics(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_BETWEEN = re.compile(r"(?<=-[0-9a-f]{12}), ?")


def members_in(text: str) -> tuple[str, ...]:
    """The member ids of a list: each ends as a UUID does, before which a client id may hold commas."""
    return tuple(name.strip() for name in _BETWEEN.split(text) if name.strip())


_CONVERT: Mapping[object, Callable[[str], object]] = {
    str: str,
    int: _number,
    int | None: _number,
    tuple[str, ...]: _topics,
}


def _converter(field: Field[object]) -> Callable[[str], object]:
    if field.name == "instance":
        return _instance
    if field.name == "member":
        return _member
    convert = _CONVERT[field.type]
    return members_in if field.name == "members" and convert is _topics else convert
