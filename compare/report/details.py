"""What a group's opened details need, as small as it can be said; the browser draws it when it is asked for."""

from collections.abc import Mapping, Sequence
from typing import Any

from compare.output import visible
from compare.report.drawing import Drawing, draw
from compare.report.wording import FIGURES
from rocketmq_selfbalance.codes import RETRY_PREFIX

TOPIC_FIGURES = ("queues", "min", "max", "mean", "idle_members", "jain", "unowned_queues", "double_owned_queues", "lag")
WHAT_IF = ("max", "min", "idle_members", "jain", "moves")
MOST_TOPICS = 60
"""Topics with figures of their own; of more, the least even ones."""


def details(group: Mapping[str, Any]) -> dict[str, Any]:
    """One group of the audit's document, for the page's script."""
    owners = group.get("owners") or {}
    topics = group.get("topics") or {}
    best, optimum = group.get("best_owners"), group.get("optimum_owners")
    drawing = draw(owners, (best, optimum), topics)
    what_if = group.get("what_if") or []
    return {
        "name": visible(str(group.get("group", ""))),
        "system": visible(str(group.get("system", ""))),
        "mode": visible(group.get("mode") or "shared"),
        "strategy": _text(group.get("strategy")),
        "state": _text(group.get("state")),
        "score": _short(group.get("score")),
        "score_after": _short(group.get("score_after")),
        "figures": [_short(group.get(name)) for name in FIGURES],
        "findings": _findings(group),
        "topics": drawing.topics,
        "brokers": drawing.brokers,
        "members": drawing.members,
        "gap": drawing.gap,
        "unowned": drawing.unowned,
        "twice": drawing.twice,
        "views": [True, best is not None, optimum is not None],
        "best": best_label(best, what_if, str(group.get("system", ""))),
        "optimum": [_short((group.get("optimum") or {}).get(name)) for name in WHAT_IF],
        "what_if": [_what_if(each) for each in what_if],
        "per_topic": _per_topic(topics),
        "remarks": _remarks(drawing, topics),
        "notes": _notes(group),
        "sources": [visible(str(source)) for source in group.get("sources") or ()],
    }


def best_label(
    owners: Mapping[str, Sequence[Any] | None] | None, what_if: Sequence[Mapping[str, Any]], system: str
) -> str | None:
    """The name of the strategy whose row of the what-if table has the loads that ``owners`` shows, if one has.

    Of several, one of the group's own ``system`` with the fewest moves.
    """
    if not owners:
        return None
    loads = [sum(not queue[0].startswith(RETRY_PREFIX) for queue in owned or ()) for owned in owners.values()]
    found = [
        row
        for row in what_if
        if (row.get("max"), row.get("min"), row.get("idle_members")) == (max(loads), min(loads), loads.count(0))
    ]
    if not found:
        return None
    first = min(found, key=lambda row: (row.get("system") != system, row.get("moves") or 0))
    name = visible(str(first.get("strategy")))
    return name if first.get("system") == system else f"{visible(str(first.get('system')))}: {name}"


def _text(value: Any) -> str | None:
    return None if value is None else visible(str(value))


def _short(value: Any) -> Any:
    """A figure with six digits at most behind the point: more than the page shows."""
    return round(value, 6) if isinstance(value, float) else value


def _findings(group: Mapping[str, Any]) -> list[list[str | None]]:
    """(cause, remedy) of each finding; the group's own come first."""
    told = [(group.get("cause"), group.get("remedy"))]
    told += [(each.get("cause"), each.get("remedy")) for each in group.get("findings") or ()]
    return [[_text(cause), _text(remedy)] for cause, remedy in dict.fromkeys(told) if cause or remedy]


def _notes(group: Mapping[str, Any]) -> list[str]:
    """The notes, and every reason why something is not there."""
    reasons = [each.get("why") for each in group.get("untold") or ()]
    told = [*(group.get("notes") or ()), (group.get("partial") or {}).get("why"), *reasons]
    return [visible(str(note)) for note in dict.fromkeys(told) if note]


def _what_if(row: Mapping[str, Any]) -> list[Any]:
    return [_text(row.get("system")), _text(row.get("strategy")), *(_short(row.get(name)) for name in WHAT_IF)]


def _per_topic(topics: Mapping[str, Mapping[str, Any]]) -> list[list[Any]]:
    def unevenness(topic: str) -> tuple[Any, ...]:
        figures = topics[topic]
        broken = (figures.get("unowned_queues") or 0) + (figures.get("double_owned_queues") or 0)
        return -broken, -(figures.get("spread") or 0), topic

    worst = sorted(topics, key=unevenness)[:MOST_TOPICS]
    return [[visible(topic), *(_short(topics[topic].get(name)) for name in TOPIC_FIGURES)] for topic in worst]


def _remarks(drawing: Drawing, topics: Mapping[str, Any]) -> list[str]:
    """What the page leaves out, said in words."""
    remarks = []
    if drawing.gap:
        of = drawing.gap[0] + len(drawing.members)
        remarks.append(
            f"Drawn: {len(drawing.members)} of {of} members, those with the most and the fewest queues today."
        )
    if drawing.counted:
        remarks.append("So many queues: bars and tables count them per topic instead of naming each one.")
    if drawing.retry_hidden:
        remarks.append("%RETRY% queues are neither drawn nor counted.")
    if len(topics) > MOST_TOPICS:
        remarks.append(f"Topics listed: the {MOST_TOPICS} least even ones of {len(topics)}.")
    return remarks
