"""What the logs tell as one HTML file: the night as a timeline, causes ranked, the lines behind every rebalance."""

from collections import Counter
from collections.abc import Mapping, Sequence

from compare.formatting import number
from compare.logs.document import UNKNOWN, Json
from compare.logs.lines import LogFile
from compare.logs.model import GroupLog
from compare.logs.presence import LONGEST, Line, lines_of
from compare.showing.html import page
from compare.showing.logs.night import picture_data, told_in_full
from compare.showing.logs.text import counted, title, told

SCRIPTS = ("view.js", "picture.js", "group.js")

MOST_GROUPS = 40
"""Groups that are drawn, those with the most rebalances."""

MOST_LISTED = 300
"""Rebalances of a group in its table, the longest ones; all of them are in the picture."""

_COLOURS = 7


def write_night(logs: Sequence[GroupLog], found: Json, files: Sequence[LogFile], kept: Mapping[Line, str]) -> str:
    """The page. ``found``: the document of the same groups; ``files``: read again for the lines that are quoted;
    ``kept``: lines of standard input. It asks the network for nothing, and equal logs give equal text."""
    ranked = sorted(range(len(logs)), key=lambda place: -len(found["groups"][place]["rebalances"]))
    drawn = ranked[:MOST_GROUPS]
    groups = [found["groups"][place] for place in drawn]
    causes = _causes(groups)
    lines = told_in_full(groups)
    texts = {**lines_of(files, (line for those in lines.values() for line in those)), **_cut(kept)}
    nights = [
        picture_data(logs[place], group, causes, _quoted(lines, texts, number))
        for number, (place, group) in enumerate(zip(drawn, groups, strict=True))
    ]
    every = sum(len(group["rebalances"]) + len(group["events"]) for group in groups)
    return page(
        "logs",
        {"causes": list(causes), "colours": _COLOURS, "groups": nights},
        SCRIPTS,
        title=_title(groups),
        groups=[_static(group, causes) for group in groups],
        others=[
            (_name(each), counted(each["rebalances"]))
            for each in map(found["groups"].__getitem__, ranked[MOST_GROUPS:])
        ],
        skipped=[{"file": each["file"], "why": each["why"]} for each in found["skipped"]],
        not_understood=found["not_understood"],
        remarks=_remarks(every, len(lines), sum(map(len, lines.values()))),
    )


def _quoted(
    lines: Mapping[tuple[int, int], Sequence[Line]], texts: Mapping[Line, str], group: int
) -> dict[int, list[tuple[str, int, str | None]]]:
    return {
        place: [(file, line, texts.get((file, line))) for file, line in those]
        for (number, place), those in lines.items()
        if number == group
    }


def _cut(kept: Mapping[Line, str]) -> dict[Line, str]:
    return {line: text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for line, text in kept.items()}


def _causes(groups: Sequence[Json]) -> list[str]:
    """All causes of the page, the most frequent first: it has the first colour."""
    counts: Counter[str] = Counter()
    for group in groups:
        counts.update(rebalance["cause"] or UNKNOWN for rebalance in (*group["rebalances"], *group["events"]))
        counts.update(dict.fromkeys((row["cause"] or UNKNOWN for row in group["summary"]), 0))
    return sorted(counts, key=lambda cause: (-counts[cause], cause))


def _title(groups: Sequence[Json]) -> str:
    if not groups:
        return "no consumer group in these logs"
    if len(groups) == 1:
        return f"{_name(groups[0])}: {counted(groups[0]['rebalances'])}"
    return f"{len(groups)} groups, {counted([each for group in groups for each in group['rebalances']])}"


def _name(group: Json) -> str:
    return str(group["group"] or title(group))


_SYSTEMS = {"kafka": "Kafka", "rocketmq": "RocketMQ"}


def _static(group: Json, causes: Sequence[str]) -> dict[str, object]:
    """What is read of a group without a script."""
    rebalances = group["rebalances"]
    longest = sorted(rebalances, key=lambda rebalance: -(rebalance["took_s"] or 0.0))[:MOST_LISTED]
    listed = {id(each) for each in longest}
    shown = [*(rebalance for rebalance in rebalances if id(rebalance) in listed), *group["events"][:MOST_LISTED]]
    events = {id(event) for event in group["events"]}
    return {
        "heading": f"{_SYSTEMS[group['system']]} {title(group)}",
        "group": _name(group),
        "facts": _facts(group),
        "causes": [_cause(row, len(rebalances), causes) for row in group["summary"]],
        "rebalances": [
            _row(each, told(each, id(each) in events, group), causes)
            for each in sorted(shown, key=lambda one: str(one["at"]))
        ],
        "count": len(rebalances),
        "cut": len(rebalances) > MOST_LISTED,
        "most": MOST_LISTED,
        "notes": group["notes"],
    }


def _facts(group: Json) -> list[tuple[str, str]]:
    paused = [rebalance["paused_s"] for rebalance in group["rebalances"] if rebalance["paused_s"] is not None]
    facts = [("from", group["from"]), ("to", group["to"])] if group["from"] else []
    if paused:
        facts.append(("longest pause", f"{number(max(paused), 1)} s"))
    if group["events"]:
        facts.append(("without a rebalance", str(len(group["events"]))))
    return facts


def _cause(row: Json, every: int, causes: Sequence[str]) -> dict[str, object]:
    return {
        "colour": causes.index(row["cause"] or UNKNOWN),
        "count": f"{row['count']} of {every}",
        "name": row["cause"] or UNKNOWN,
        "who": row["who"][:_MOST_NAMES],
        "more": max(0, len(row["who"]) - _MOST_NAMES),
        "paused": number(row["paused_s"], 1),
        "remedy": row["remedy"] or "",
    }


_MOST_NAMES = 12
_MOST_PLACES = 4


def _row(each: Json, text: str, causes: Sequence[str]) -> dict[str, object]:
    places = [f"{file}:{line}" for file, line in each["evidence"][:_MOST_PLACES]]
    return {
        "at": each["at"],
        "generation": "-" if each["generation"] is None else each["generation"],
        "colour": causes.index(each["cause"] or UNKNOWN),
        "text": text,
        "took": number(each["took_s"], 1),
        "paused": number(each["paused_s"], 1),
        "waited_for": ", ".join(each["waited_for_who"]) or "-",
        "places": places,
        "more": max(0, len(each["evidence"]) - _MOST_PLACES),
    }


def _remarks(every: int, told: int, lines: int) -> list[str]:
    remarks = [f"Lines longer than {LONGEST} characters are cut."]
    if told < every:
        remarks.append(
            f"The lines of {told} of the {every} bars are in this page ({lines} lines), those that took longest of each"
            " cause; --format json names the lines of all."
        )
    return remarks
