"""A load that is written as a part of what a group can handle: ``produce: 80%`` becomes a rate per queue.

What a group can handle, in records per second, is the sum over its members that are there from 0s on: their ``threads``
(else the scenario's) over their ``handle``. A percentage of a topic or queue is what it takes of that in all; that of
``produce`` is what all queues take together that the group reads and that have no rate of their own.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from protocols.errors import UserError
from protocols.groups import Group
from protocols.scenario.fields import GroupPart, TopicPart, named_queue, queue_index
from protocols.scenario.validation import PartError, Path, short

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*", re.ASCII)

_Place = tuple[str, int]
"""A queue: its topic, and its number among all of the topic's."""


def is_share(given: object) -> TypeGuard[str]:
    """Whether somebody wrote a percentage."""
    return isinstance(given, str) and given.strip().endswith("%")


def with_rates(
    load: Mapping[str, object], topics: Mapping[str, TopicPart], groups: Mapping[str, GroupPart], threads: object
) -> dict[str, object]:
    """The load as it is written, with a rate for every percentage. ``groups`` have the members that are there from 0s
    on; ``threads``: the scenario's. Raises `PartError` for a percentage of what nobody can tell."""
    rates = load.get("rates", {})
    rates = rates if isinstance(rates, Mapping) else {}
    resolved = dict(load)
    if is_share(load.get("produce")):
        resolved["produce"] = _of_the_rest(load["produce"], rates, topics, groups, threads)
    if any(map(is_share, rates.values())):
        resolved["rates"] = {
            name: _of_one(name, each, topics, groups, threads) if is_share(each) else each
            for name, each in rates.items()
        }
    return resolved


def _of_the_rest(
    given: object,
    rates: Mapping[str, object],
    topics: Mapping[str, TopicPart],
    groups: Mapping[str, GroupPart],
    threads: object,
) -> float:
    path: Path = ("load", "produce")
    named = {place for name in rates for place in _places(name, topics)}
    per_queue: dict[str, float] = {}
    for name, group in groups.items():
        capacity = _capacity(name, group, threads, path)
        queues = [place for place in _read_by(group, topics) if place not in named]
        if not queues:
            raise PartError(path, f"group {name} reads no queue without its own rate, expected a rate such as 10/s")
        per_queue[name] = _share(given, path) * capacity / len(queues)
    return _the_same(per_queue, path)


def _of_one(
    name: str, given: object, topics: Mapping[str, TopicPart], groups: Mapping[str, GroupPart], threads: object
) -> float:
    path: Path = ("load", "rates", name)
    places = _places(name, topics)
    if not places:
        raise PartError(path, "a percentage of no queue that is there from 0s on, expected a rate such as 10/s")
    reading = {group: part for group, part in groups.items() if places[0] in _read_by(part, topics)}
    if not reading:
        raise PartError(path, "a percentage of what no group reads, expected a rate such as 10/s")
    share = _share(given, path)
    return _the_same(
        {group: share * _capacity(group, part, threads, path) / len(places) for group, part in reading.items()}, path
    )


def _share(given: object, path: Path) -> float:
    match = _PERCENT.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise PartError(path, f"{short(given)} is no percentage, expected one such as 80%")
    return float(match[1]) / 100


def _capacity(name: str, group: GroupPart, threads: object, path: Path) -> float:
    """Records per second that the group can handle."""
    if not group.members:
        raise PartError(path, f"a percentage of what nobody handles: no member of group {name} is there from 0s on")
    for member, part in group.members.items():
        if part.handle <= 0:
            raise PartError(
                path, f"a percentage of no bound: handling takes {member} no time, expected handle: of it, or a rate"
            )
        if part.threads is None and not isinstance(threads, int):
            raise PartError(
                path, f"a percentage of what differs: {member} has its client's own threads, expected threads: a number"
            )
    return sum(
        (part.threads or (threads if isinstance(threads, int) else 1)) * 1000 / part.handle
        for part in group.members.values()
    )


def _the_same(per_queue: Mapping[str, float], path: Path) -> float:
    """The rate that the percentage is for every group that reads."""
    found = set(per_queue.values())
    if len(found) > 1:
        told = ", ".join(f"{rate:g}/s a queue of group {name}" for name, rate in per_queue.items())
        raise PartError(path, f"groups differ in what they can handle: it would be {told}; expected a rate")
    if not found:
        raise PartError(path, "a percentage of what no group handles, expected a rate such as 10/s")
    return found.pop()


def _read_by(group: GroupPart, topics: Mapping[str, TopicPart]) -> set[_Place]:
    """The queues of all topics that a member of the group subscribes to."""
    plain = Group.of(
        topics={topic: sum(part.queues.values()) for topic, part in topics.items()},
        members={
            member: {"pattern": part.pattern} if part.pattern else {"subscribe": part.subscribe}
            for member, part in group.members.items()
        },
    )
    return {
        (topic, number)
        for topic, who in plain.subscribers().items()
        if who
        for number in range(sum(topics[topic].queues.values()))
    }


def _places(name: str, topics: Mapping[str, TopicPart]) -> Sequence[_Place]:
    """The queues that a name in ``rates`` means, of those that are there from 0s on: first a topic, then a queue."""
    if name in topics:
        return [(name, number) for number in range(sum(topics[name].queues.values()))]
    there = {topic: part.queues for topic, part in topics.items()}
    try:
        topic, broker, number = named_queue(name, there)
    except UserError:
        return []
    brokers = tuple(each for each, count in there[topic].items() for _ in range(count))
    return [(topic, queue_index(brokers, broker, number))]
