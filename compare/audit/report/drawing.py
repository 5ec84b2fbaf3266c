"""What the picture of a group shows: which members, which queues, and what was left out, as short strings.

A member's queues are one string: ``0:0-3,7;1/2:5`` is queues 0 to 3 and 7 of topic 0 and queue 5 of topic 1 on
broker 2; ``0*12`` is twelve queues of topic 0 whose numbers are left out. Topics and brokers are places in the
group's lists.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from compare.console.output import visible
from compare.documents.audit import Owners
from compare.figures import Figure
from rocketmq_selfbalance.codes import RETRY_PREFIX

HEAVIEST = 24
LIGHTEST = 16
"""Of more members than both together, only so many of each end are drawn."""

MOST_QUEUES = 3_000
"""Beyond so many drawn queues, counts per topic stand in for the queues' numbers."""

Drawn: TypeAlias = tuple[str, str, int | None]
"""A queue: topic, broker, number; no number where only its topic is known."""

View: TypeAlias = Mapping[str, Sequence[Drawn] | None]
"""Member to its queues; None where not told."""

Topics: TypeAlias = Mapping[str, Mapping[str, Figure]]
"""Topic to its figures."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """``members``: id, and per view its queues as a string, None where not told.

    ``gap``: members left out after ``HEAVIEST``, as (count, per view the least and largest load among them).
    """

    topics: list[str]
    brokers: list[str]
    members: list[list[str | None]]
    gap: tuple[int, list[list[int] | None]] | None
    unowned: str
    twice: str
    counted: bool
    retry_hidden: bool


def draw(owners: Owners, others: Sequence[Owners | None], topics: Topics) -> Drawing:
    """The drawing of today's ``owners`` beside ``others``; ``topics`` are the figures per topic."""
    told = _view(owners)
    hidden = {each for each in _topics_of(told) if each.startswith(RETRY_PREFIX) and each not in topics}
    today = _without(told, hidden)
    views: list[View] = [today, *(_without(_view(view or {}), hidden) for view in others)]
    loads = {member: len(owned or ()) for member, owned in today.items()}
    order = sorted(loads, key=lambda member: (-loads[member], _counting(member)))
    shown, gap = order, None
    if len(order) > HEAVIEST + LIGHTEST:
        shown = order[:HEAVIEST] + order[-LIGHTEST:]
        left_out = order[HEAVIEST:-LIGHTEST]
        gap = len(left_out), [_range(view, left_out) for view in views]
    queues = Counter(topic for view in views for topic in _topics_of(view))
    missing = _unowned(views, topics)
    queues.update(topic for topic, _, _ in missing)
    names = sorted(queues, key=lambda topic: (-queues[topic], topic))
    brokers = sorted({queue[1] for view in views for owned in view.values() for queue in owned or ()})
    counted = sum(len(view.get(member) or ()) for view in views for member in shown) > MOST_QUEUES
    encoder = _Encoder(
        {name: at for at, name in enumerate(names)}, {name: at for at, name in enumerate(brokers)}, counted
    )
    return Drawing(
        topics=[visible(name) for name in names],
        brokers=[visible(name) for name in brokers],
        members=[[visible(member), *(encoder.member(view, member) for view in views)] for member in shown],
        gap=gap,
        unowned=encoder.queues(missing),
        twice=encoder.queues(_twice(today)),
        counted=counted,
        retry_hidden=bool(hidden),
    )


@dataclass(frozen=True, slots=True)
class _Encoder:
    topics: Mapping[str, int]
    brokers: Mapping[str, int]
    counted: bool

    def member(self, view: View, member: str) -> str | None:
        owned = view.get(member)
        return None if owned is None else self.queues(owned)

    def queues(self, queues: Iterable[Drawn]) -> str:
        numbers: dict[tuple[int, int], list[int]] = {}
        counts: Counter[int] = Counter()
        for topic, broker, number in queues:
            if self.counted or number is None:
                counts[self.topics[topic]] += 1
            else:
                numbers.setdefault((self.topics[topic], self.brokers[broker]), []).append(number)
        parts = [
            (topic, f"{topic}/{broker}:{_ranges(each)}" if self.brokers.keys() != {""} else f"{topic}:{_ranges(each)}")
            for (topic, broker), each in sorted(numbers.items())
        ]
        parts += [(topic, f"{topic}*{count}") for topic, count in counts.items()]
        return ";".join(part for _, part in sorted(parts, key=lambda part: part[0]))


def _counting(name: str) -> tuple[list[tuple[int, str]], str]:
    """Sort key by which client-2 comes before client-10."""
    parts = re.findall(r"([0-9]+)|([^0-9]+)", name)
    return [(len(digits.lstrip("0")) + 1 if digits else 0, digits.lstrip("0") or text) for digits, text in parts], name


def _ranges(numbers: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _view(owners: Owners) -> View:
    return {
        member: None if owned is None else [(str(topic), str(broker), int(number)) for topic, broker, number in owned]
        for member, owned in owners.items()
    }


def _without(view: View, hidden: set[str]) -> View:
    if not hidden:
        return view
    return {
        member: None if owned is None else [queue for queue in owned if queue[0] not in hidden]
        for member, owned in view.items()
    }


def _topics_of(view: View) -> Iterable[str]:
    return (queue[0] for owned in view.values() for queue in owned or ())


def _range(view: View, members: Iterable[str]) -> list[int] | None:
    loads = [len(owned) for member in members if (owned := view.get(member)) is not None]
    return [min(loads), max(loads)] if loads else None


def _twice(today: View) -> list[Drawn]:
    owned = Counter(queue for queues in today.values() for queue in queues or ())
    return sorted(queue for queue, owners in owned.items() if owners > 1)


def _unowned(views: Sequence[View], topics: Topics) -> list[Drawn]:
    """Queues that nobody owns today: by name where another view hands them out, else as many as were counted."""
    today, *others = [{queue for owned in view.values() for queue in owned or ()} for view in views]
    named = sorted(set().union(*others) - today)
    per_topic = Counter(queue[0] for queue in named)
    missing: list[Drawn] = []
    for topic, figures in topics.items():
        count = int(figures.get("unowned_queues") or 0)
        if per_topic[topic] == count:
            missing += [queue for queue in named if queue[0] == topic]
        else:
            missing += [(topic, "", None)] * count
    return missing
