"""What a group's opened details need, as small as it can be said; the browser draws it when it is asked for."""

from collections.abc import Mapping

from compare.audit.report.drawing import Drawing, draw
from compare.audit.report.wording import FIGURES
from compare.console.output import visible
from compare.diagnosis.remedies.remedy import RESTARTS
from compare.documents.audit import PicturedGroup, RemedyRecord, WhatIfRecord
from compare.measure.figures import Figure

TOPIC_FIGURES = ("queues", "min", "max", "mean", "idle_members", "jain", "unowned_queues", "double_owned_queues", "lag")
WHAT_IF = ("max", "min", "idle_members", "jain", "moves")
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
        "figures": [_short(group.get(name)) for name in FIGURES],
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
        [texts.place(each["cause"]), [_remedy(remedy, texts) for remedy in each.get("remedies") or ()]]
        for each in group.get("findings") or ()
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
