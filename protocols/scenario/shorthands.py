"""What people may write in short, part by part: topics and their queues, members, events, systems."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, get_args

from pydantic import BaseModel

from protocols.scenario.events import AddTopic, Event, Join, Network, Queues, Subscribe
from protocols.scenario.groups import GroupPart, MemberPart, TopicPart
from protocols.scenario.model import SystemPart
from protocols.scenario.parts import PartError, field_names, known, mapping, part, short, suggestion
from protocols.scenario.paths import Path

EVENT_KINDS: Mapping[str, type[BaseModel]] = {
    next(name for name in kind.model_fields if name not in ("at", "group")): kind for kind in get_args(Event)
}
"""The field that says what happens (``join``, ``crash``, ...) to the kind of event."""

_RANGE = re.compile(r"(.*?)(\d+)\.\.\1(\d+)", re.ASCII | re.DOTALL)
MOST_NAMES = 100_000
"""More names than any range stands for."""
MOST_QUEUES = 10_000_000
"""More queues than any topic has."""


def names(given: object, path: Path) -> tuple[str, ...]:
    """One name, or a list of different ones."""
    if isinstance(given, str):
        return (given,)
    listed = items(given, path)
    for number, each in enumerate(listed):
        if not isinstance(each, str) or not each:
            raise PartError(
                (*path, number),
                f"{short(each)} is not a name, expected a text (in quotes if it looks like another type)",
            )
        if each in listed[:number]:
            raise PartError((*path, number), f"{each!r} appears twice, expected each name once")
    return tuple(listed)


def items(given: object, path: Path) -> Sequence[Any]:
    """``given`` if it is a list, else `PartError`."""
    if not isinstance(given, list | tuple):
        raise PartError(path, f"{short(given)} is no list, expected one such as [a, b]")
    return given


def queues(given: object, brokers: Sequence[str], path: Path) -> dict[str, int]:
    """Queues per broker: given so, or as one number that is dealt over the brokers in turn."""
    if not isinstance(given, Mapping):
        total = _count(given, path)
        shares = {broker: (total + len(brokers) - 1 - at) // len(brokers) for at, broker in enumerate(brokers)}
        return {broker: share for broker, share in shares.items() if share}
    per_broker = mapping(given, path)
    known(per_broker, brokers, path, "broker")
    return {broker: _count(count, (*path, broker)) for broker, count in per_broker.items()}


def topics(given: object, brokers: Sequence[str], path: Path) -> dict[str, TopicPart]:
    """Topics by name (``t1..t9`` means nine); a topic is its fields, or just its number of queues."""
    found: dict[str, TopicPart] = {}
    for written, each in mapping(given, path).items():
        made = _topic(each, brokers, (*path, written))
        for name in _names_in(written, (*path, written)):
            if name in found:
                raise PartError((*path, written), f"two topics {name!r}, expected each name once")
            found[name] = made
    return found


def _topic(given: object, brokers: Sequence[str], path: Path) -> TopicPart:
    if isinstance(given, int):
        given = {"queues": given}
    if isinstance(given, Mapping) and "queues" in given:
        fields = mapping(given, path)
        given = {**fields, "queues": queues(fields["queues"], brokers, (*path, "queues"))}
    made = part(TopicPart, given, path)
    number = sum(made.queues.values())
    if made.replica_racks is not None and len(made.replica_racks) != number:
        racks = len(made.replica_racks)
        raise PartError((*path, "replica_racks"), f"racks of {racks} queues, expected those of {number}")
    return made


def group(given: object, path: Path) -> tuple[GroupPart, dict[str, Path]]:
    """A group, and where each of its members is written. ``c1..c20`` as a member's name means twenty members."""
    if isinstance(given, GroupPart):
        return given, {name: (*path, "members", name) for name in given.members}
    fields = mapping(given, path)
    known(fields, field_names(GroupPart), path)
    inside = (*path, "members")
    found: dict[str, MemberPart] = {}
    places: dict[str, Path] = {}
    for written, each in mapping(fields.get("members", {}), inside).items():
        made = member(each, (*inside, written))
        for name in _names_in(written, (*inside, written)):
            if name in found:
                raise PartError((*inside, written), f"two members {name!r}, expected each name once in a group")
            found[name], places[name] = made, (*inside, written)
    return GroupPart(members=found), places


def member(given: object, path: Path) -> MemberPart:
    """A member as its fields, or just as the list of topics that it subscribes to."""
    if isinstance(given, list | tuple):
        given = {"subscribe": given}
    made = part(MemberPart, _with_names(given, path), path)
    if not {"subscribe", "pattern"} & made.model_fields_set:
        raise PartError(
            path, "subscribes to nothing, expected subscribe: [topic, ...] or pattern: a regular expression"
        )
    check_subscription(made.subscribe, made.pattern, path)
    return made


def check_subscription(subscribe: Iterable[str] | None, pattern: str | None, path: Path) -> None:
    """Topics or a pattern that is a regular expression, not both."""
    if pattern is None:
        return
    if subscribe:
        raise PartError((*path, "pattern"), "subscribe and pattern at once, expected one of them")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise PartError((*path, "pattern"), f"{short(pattern)} is no regular expression: {error}") from None


def event(given: object, brokers: Sequence[str], path: Path) -> Event:
    """An event; what it is called by says which kind it is."""
    if isinstance(given, get_args(Event)):
        return cast(Event, given)
    fields = mapping(given, path)
    kind = _kind(fields, path)
    written: Mapping[str, Any] = fields
    if kind is Join:
        written = _with_names(fields, path)
    elif kind is Subscribe:
        inside = (*path, "subscribe")
        chosen = mapping(fields["subscribe"], inside)
        written = {**fields, "subscribe": {each: names(to, (*inside, each)) for each, to in chosen.items()}}
    elif kind is Queues:
        inside = (*path, "queues")
        changed = mapping(fields["queues"], inside)
        written = {**fields, "queues": {each: queues(to, brokers, (*inside, each)) for each, to in changed.items()}}
    elif kind is AddTopic:
        written = {**fields, "add_topic": topics(fields["add_topic"], brokers, (*path, "add_topic"))}
    elif kind is Network and "between" in fields:
        written = {**fields, "between": names(fields["between"], (*path, "between"))}
    made = cast(Event, part(kind, written, path))
    if isinstance(made, Join):
        check_subscription(made.subscribe, made.pattern, path)
    return made


def system(given: object, path: Path) -> SystemPart:
    """A variant as its fields, or just as the system's name; the label is filled in."""
    made = part(SystemPart, {"system": given} if isinstance(given, str) else given, path)
    return made if made.label else made.model_copy(update={"label": made.system})


def _kind(fields: Mapping[str, Any], path: Path) -> type[BaseModel]:
    found = [name for name in EVENT_KINDS if name in fields]
    kinds = [
        name for name in found if not any(name in field_names(EVENT_KINDS[other]) for other in found if other != name)
    ]
    if len(kinds) == 1:
        return EVENT_KINDS[kinds[0]]
    if kinds:
        raise PartError((*path, kinds[1]), f"{kinds[0]} and {kinds[1]} in one event, expected one thing that happens")
    others = [name for name in fields if name not in ("at", "group", "for", "strategy", "settings", "how", "does")]
    if others:
        raise PartError((*path, others[0]), f"unknown event {short(others[0])}, {suggestion(others[0], EVENT_KINDS)}")
    raise PartError(path, f"nothing happens, expected one of {', '.join(EVENT_KINDS)}")


def _with_names(given: object, path: Path) -> Any:
    """The fields with ``subscribe`` as a tuple of names, where it is there."""
    if isinstance(given, Mapping) and given.get("subscribe") is not None:
        return {**given, "subscribe": names(given["subscribe"], (*path, "subscribe"))}
    return given


def _count(given: object, path: Path) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= MOST_QUEUES:
        raise PartError(path, f"{short(given)} is no number of queues, expected one from 0 to {MOST_QUEUES}")
    return given


def _names_in(written: str, path: Path) -> Iterable[str]:
    if not written:
        raise PartError(path, "an empty name, expected one of at least one letter")
    match = _RANGE.fullmatch(written)
    if match is None:
        return (written,)
    first, last = match[2], match[3]
    if len(last) > 9 or not 0 <= int(last) - int(first) < MOST_NAMES:
        raise PartError(path, f"{short(written)} is no range of names, expected one such as c1..c20")
    width = len(first) if first.startswith("0") else 0
    return [f"{match[1]}{number:0{width}d}" for number in range(int(first), int(last) + 1)]
