"""The small picture in the list: one bar per member, heaviest first.

What the picture of a group shows: which members, which queues, and what was left out, as short strings.

A member's queues are one string: ``0:0-3,7;1/2:5`` is queues 0 to 3 and 7 of topic 0 and queue 5 of topic 1 on
broker 2; ``0*12`` is twelve queues of topic 0 whose numbers are left out. Topics and brokers are places in the
group's lists.

What a group's opened details need, as small as it can be said; the browser draws it when it is asked for.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from compare.documents.audit import Owners, PicturedGroup, RemedyRecord, WhatIfRecord
from compare.explaining.remedies.remedy import RESTARTS
from compare.figures import Figure
from compare.figures.metrics import paths
from compare.formatting import visible
from compare.reading.rocketmq.lines import is_retry

WIDTH, HEIGHT = 96, 24
MOST_BARS = 32
"""Of more members, evenly spaced ones stand for all."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Paths of SVG in a box of ``WIDTH`` by ``HEIGHT``, and the same in words."""

    bars: str
    idle: str
    words: str


def shape(owners: Owners) -> Shape | None:
    """The members' loads as bars; None where not every member's load is told, or there is none."""
    loads = sorted((-1 if owned is None else len(owned) for owned in owners.values()), reverse=True)
    if not loads or loads[-1] < 0:
        return None
    words = f"{len(loads)} members own " if len(loads) > 1 else "1 member owns "
    words += f"{loads[-1]} to {loads[0]} queues" if loads[0] != loads[-1] else f"{loads[0]} queues each"
    if len(loads) > MOST_BARS:
        last = len(loads) - 1
        loads = [loads[at * last // (MOST_BARS - 1)] for at in range(MOST_BARS)]
    step = min(12, WIDTH // len(loads))
    width = step - 1
    top = max(loads[0], 1)
    bars, idle = [], []
    for at, load in enumerate(loads):
        if load:
            height = max(2, round(load * (HEIGHT - 1) / top))
            bars.append(f"M{at * step} {HEIGHT}v-{height}h{width}v{height}")
        else:
            idle.append(f"M{at * step} {HEIGHT - 2}h{width}")
    return Shape("".join(bars), "".join(idle), words)


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
    hidden = {topic for topic in _topics_of(told) if is_retry(topic) and topic not in topics}
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


TOPIC_FIGURES, WHAT_IF = paths("audit topics"), paths("what if")
MOST_TOPICS = 60
"""Topics with figures of their own; of more, the least even ones."""


class Texts:
    """Sentences that many groups share stand in the page once; elsewhere is their place in the list."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, text: object) -> int:
        """The place of a text, whose hidden characters are made visible."""
        shown = visible(str(text))
        if shown not in self._places:
            self._places[shown] = len(self.all)
            self.all.append(shown)
        return self._places[shown]


def details(group: PicturedGroup, texts: Texts) -> dict[str, object]:
    """One group of the audit's document, for the page's script; its sentences are added to ``texts``."""
    head = {
        "name": visible(str(group.get("group", ""))),
        "system": visible(str(group.get("system", ""))),
        "mode": visible(group.get("mode") or "shared"),
        "kind": _text(group.get("kind")),
        "strategy": _text(group.get("strategy")),
        "state": _text(group.get("state")),
        "score": _short(group.get("score")),
        "score_after": _short(group.get("score_after")),
        "figures": [_short(group.get(name)) for name in paths("audit figures")],
        "findings": _findings(group, texts),
        "notes": [texts.place(note) for note in _notes(group)],
        "sources": [texts.place(source) for source in group.get("sources") or ()],
    }
    if not group.get("detailed", True):
        return head
    owners = group.get("owners") or {}
    topics = group.get("topics") or {}
    at_best: Mapping[str, object] = group.get("optimum") or {}
    best, optimum = group.get("best_owners"), group.get("optimum_owners")
    drawing = draw(owners, (best, optimum), topics)
    return head | {
        "topics": drawing.topics,
        "brokers": drawing.brokers,
        "members": drawing.members,
        "gap": drawing.gap,
        "unowned": drawing.unowned,
        "twice": drawing.twice,
        "views": [True, best is not None, optimum is not None],
        "best": _text(group.get("best_strategy")),
        "optimum": [_short(at_best.get(name)) for name in WHAT_IF],
        "what_if": [_what_if(each) for each in group.get("what_if") or ()],
        "per_topic": _per_topic(topics),
        "remarks": _remarks(drawing, topics),
    }


def _text(value: object) -> str | None:
    return None if value is None else visible(str(value))


def _short(value: object) -> object:
    """A figure with six digits at most behind the point: more than the page shows."""
    return round(value, 6) if isinstance(value, float) else value


def _findings(group: PicturedGroup, texts: Texts) -> list[list[object]]:
    """(cause, remedies) of each finding, a remedy being (text, terms, risks)."""
    return [
        [texts.place(finding["cause"]), [_remedy(remedy, texts) for remedy in finding.get("remedies") or ()]]
        for finding in group.get("findings") or ()
    ]


def _remedy(remedy: RemedyRecord, texts: Texts) -> list[object]:
    undo = "Reversible." if remedy["reversible"] else "Irreversible."
    terms = f"{RESTARTS[remedy['restart']][1]} {undo}"
    return [texts.place(remedy["text"]), texts.place(terms), [texts.place(risk) for risk in remedy["risks"]]]


def _notes(group: PicturedGroup) -> list[str]:
    """The notes, and every reason why something is not there."""
    reasons = [each.get("why") for each in group.get("untold") or ()]
    partial = group.get("partial")
    told = [*(group.get("notes") or ()), partial.get("why") if partial else None, *reasons]
    return [str(note) for note in dict.fromkeys(told) if note]


def _what_if(row: WhatIfRecord) -> list[object]:
    shown = [_text(row.get("system")), _text(row.get("strategy")), *(_short(row.get(name)) for name in WHAT_IF)]
    return [*shown, _text(row.get("why")), bool(row.get("reachable", True))]


def _per_topic(topics: Mapping[str, Mapping[str, Figure]]) -> list[list[object]]:
    def unevenness(topic: str) -> tuple[float, float, str]:
        figures = topics[topic]
        broken = (figures.get("unowned_queues") or 0) + (figures.get("double_owned_queues") or 0)
        return -broken, -(figures.get("spread") or 0), topic

    worst = sorted(topics, key=unevenness)[:MOST_TOPICS]
    return [[visible(topic), *(_short(topics[topic].get(name)) for name in TOPIC_FIGURES)] for topic in worst]


def _remarks(drawing: Drawing, topics: Mapping[str, object]) -> list[str]:
    """What the page leaves out, said in words."""
    remarks = []
    if drawing.gap:
        of = drawing.gap[0] + len(drawing.members)
        remarks.append(
            f"The drawing shows {len(drawing.members)} of {of} members: those with the most and the fewest queues."
        )
    if drawing.counted:
        remarks.append(
            "Bars and tables count queues per topic, because the group has too many queues to name each one."
        )
    if drawing.retry_hidden:
        remarks.append("Drawings and counts leave out %RETRY% queues.")
    if len(topics) > MOST_TOPICS:
        remarks.append(f"The list shows the {MOST_TOPICS} least even of {len(topics)} topics.")
    return remarks
