"""What people may write in short: names, topics and their queues, members."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from protocols.scenario.fields import GroupPart, MemberPart, Settings, TopicPart
from protocols.scenario.validation import PartError, Path, field_names, known, mapping, short, validated

_RANGE = re.compile(r"(.*?)(\d+)\.\.\1(\d+)", re.ASCII | re.DOTALL)
MOST_NAMES = 100_000
"""More names than any range stands for."""
MOST_QUEUES = 10_000_000
"""More queues than any topic has."""


def names(given: object, path: Path) -> tuple[str, ...]:
    """One name, or a list of different ones."""
    if isinstance(given, str):
        return (given,)
    found: list[str] = []
    for number, item in enumerate(items(given, path)):
        if not isinstance(item, str) or not item:
            raise PartError(
                (*path, number),
                f"{short(item)} is not a name, expected a text (in quotes if it looks like another type)",
            )
        if item in found:
            raise PartError((*path, number), f"{item!r} appears twice, expected each name once")
        found.append(item)
    return tuple(found)


def each_name(given: object, path: Path) -> list[tuple[object, Path]]:
    """One name, a range of names, or a list of both, without any twice: every name, and where it is written from the
    field on. What is no text is handed on as it is, for who knows what the field may hold."""
    if isinstance(given, str):
        return [(name, ()) for name in _names_in(given, path)]
    if not isinstance(given, list | tuple):
        return [(given, ())]
    if not given:
        raise PartError(path, "nobody, expected at least one name")
    found: dict[object, Path] = {}
    for number, each in enumerate(given):
        inside = (*path, number)
        if not isinstance(each, str):
            raise PartError(
                inside, f"{short(each)} is no text, expected a name (in quotes if it looks like another type)"
            )
        for name in _names_in(each, inside):
            if name in found:
                raise PartError(inside, f"{name!r} appears twice, expected each name once")
            found[name] = (number,)
    return list(found.items())


def items(given: object, path: Path) -> Sequence[object]:
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
    topic_parts: dict[str, TopicPart] = {}
    for written, each in mapping(given, path).items():
        made = _topic(each, brokers, (*path, written))
        for name in _names_in(written, (*path, written)):
            if name in topic_parts:
                raise PartError((*path, written), f"two topics {name!r}, expected each name once")
            topic_parts[name] = made
    return topic_parts


def with_names(given: object, path: Path) -> object:
    """The fields of a member or a join with ``subscribe`` as a tuple of names, where it is there."""
    if isinstance(given, Mapping) and given.get("subscribe") is not None:
        return {**given, "subscribe": names(given["subscribe"], (*path, "subscribe"))}
    return given


def _topic(given: object, brokers: Sequence[str], path: Path) -> TopicPart:
    if isinstance(given, int):
        given = {"queues": given}
    if isinstance(given, Mapping) and "queues" in given:
        fields = mapping(given, path)
        given = {**fields, "queues": queues(fields["queues"], brokers, (*path, "queues"))}
    made = validated(TopicPart, given, path)
    number = sum(made.queues.values())
    if made.replica_racks is not None and len(made.replica_racks) != number:
        racks = len(made.replica_racks)
        raise PartError((*path, "replica_racks"), f"racks of {racks} queues, expected those of {number}")
    return made


class WrittenGroup(NamedTuple):
    """``places``: where each member is written; ``for_all``: settings of every member that has not its own."""

    group: GroupPart
    places: dict[str, Path]
    for_all: Settings


def group(given: object, path: Path, of_members: Collection[str]) -> WrittenGroup:
    """A group, whose members have the settings of all. ``c1..c20`` as a member's name means twenty members.
    ``of_members``: names of settings that are those of members; others are the group's own."""
    if isinstance(given, GroupPart):
        return WrittenGroup(given, {name: (*path, "members", name) for name in given.members}, {})
    fields = mapping(given, path)
    known(fields, field_names(GroupPart), path)
    inside = (*path, "members")
    member_parts: dict[str, MemberPart] = {}
    places: dict[str, Path] = {}
    for written, each in mapping(fields.get("members", {}), inside).items():
        made = member(each, (*inside, written))
        for name in _names_in(written, (*inside, written)):
            if name in member_parts:
                raise PartError((*inside, written), f"two members {name!r}, expected each name once in a group")
            member_parts[name], places[name] = made, (*inside, written)
    settings = validated(GroupPart, {name: fields[name] for name in ("settings",) if name in fields}, path).settings
    for_all = {name: value for name, value in settings.items() if name in of_members and value is not None}
    if for_all:
        member_parts = {name: _with_settings(part, for_all) for name, part in member_parts.items()}
    own = {name: value for name, value in settings.items() if name not in of_members}
    return WrittenGroup(validated(GroupPart, {"members": member_parts, "settings": own}, path), places, for_all)


def _with_settings(part: MemberPart, for_all: Settings) -> MemberPart:
    """A member's own null is none at all."""
    merged = {**for_all, **part.settings}
    return part.model_copy(update={"settings": {name: value for name, value in merged.items() if value is not None}})


def member(given: object, path: Path) -> MemberPart:
    """A member as its fields, or just as the list of topics that it subscribes to."""
    if isinstance(given, list | tuple):
        given = {"subscribe": given}
    made = validated(MemberPart, with_names(given, path), path)
    if not {"subscribe", "pattern"} & made.model_fields_set:
        raise PartError(
            path, "subscribes to nothing, expected subscribe: [topic, ...] or pattern: a regular expression"
        )
    check_subscription(made.subscribe, made.pattern, path)
    if made.resolved_by == "broker" and made.pattern is None:
        raise PartError((*path, "resolved_by"), "broker without a pattern, expected pattern: a regular expression")
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
