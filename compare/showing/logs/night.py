"""The data of the picture of a group: bars, lanes, and the lines behind each bar, bounded."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from itertools import chain, zip_longest

from compare.formatting import visible
from compare.logs.document import UNKNOWN, Json
from compare.logs.model import GroupLog
from compare.logs.presence import Line, Presence, Span, presence
from compare.showing.logs.text import told

MOST_LANES = 200
"""Members that have a lane of their own; those come first that caused most."""

MOST_PAUSES = 20_000
"""Pauses that are drawn, the longest ones."""

MOST_LINES = 4_000
"""Lines that stand in the page, over all groups."""

_PAUSED = {"kafka": "partitions stood still", "rocketmq": "queues had no owner, until this member took them"}


def happened(group: Json) -> list[Json]:
    """Rebalances and events of a group of the document, in order of time."""
    return sorted([*group["rebalances"], *group["events"]], key=lambda rebalance: str(rebalance["at"]))


def told_in_full(groups: Sequence[Json]) -> dict[tuple[int, int], list[Line]]:
    """Which bars (group and place in `happened`) come with their lines: the longest of each cause, cause by cause in
    turn, until the page is full."""
    causes: dict[tuple[int, str], list[tuple[float, int]]] = defaultdict(list)
    bars = [happened(group) for group in groups]
    for number, those in enumerate(bars):
        for place, each in enumerate(those):
            causes[(number, str(each["cause"]))].append((-(each["took_s"] or 0.0), place))
    found: dict[tuple[int, int], list[Line]] = {}
    room = MOST_LINES
    ranked = [[(number, place) for _, place in sorted(those)] for (number, _), those in causes.items()]
    for key in chain.from_iterable(zip_longest(*ranked)):
        if key is not None:
            lines = [(file, line) for file, line in bars[key[0]][key[1]]["evidence"]]
            room -= len(lines)
            if room < 0:
                break
            found[key] = lines
    return found


def span_of(log: GroupLog) -> tuple[float, float]:
    """The first and the last moment of the picture, seconds since 1970."""
    times = [rebalance.at for rebalance in log.rebalances] + [
        rebalance.end for rebalance in log.rebalances if rebalance.end is not None
    ]
    times += [happening.at for happening in log.happenings]
    times += [event.at for event in log.events if event.place.sure]
    begin, end = min(times, default=0.0), max(times, default=1.0)
    return begin, max(end, begin + 1.0)


def picture_data(
    log: GroupLog, group: Json, causes: Sequence[str], lines: Mapping[int, Sequence[tuple[str, int, str | None]]]
) -> dict[str, object]:
    """What the script draws; times are milliseconds after ``begin``. ``causes``: of the page, in order of colour;
    ``lines``: of the bars that have them."""
    begin, end = span_of(log)
    bars = happened(group)
    there = presence(log, begin, end)
    lanes = _lanes(bars, there)
    number = {name: place for place, name in enumerate(lanes)}
    texts: dict[str, int] = {}
    events = {id(event) for event in group["events"]}
    kept, left_out = _pauses(there, number)

    def ms(at: float) -> int:
        return round(1000 * (at - begin))

    return {
        "begin": round(1000 * begin),
        "end": ms(end),
        "lanes": [visible(name) for name in lanes],
        "others": len((there.there.keys() | there.paused.keys()) - set(lanes)),
        "there": [[number[name], ms(a), ms(b) - ms(a)] for name, a, b in _spans(there.there) if name in number],
        "paused": [[number[name], ms(a), ms(b) - ms(a)] for name, a, b in kept],
        "pauses_left_out": left_out,
        "paused_words": _PAUSED[log.system],
        "bars": [
            _bar(
                bar, told(bar, id(bar) in events, group), id(bar) in events, round(1000 * begin), causes, number, texts
            )
            for bar in bars
        ],
        "texts": [visible(text) for text in texts],
        "lines": {
            str(place): [[visible(file), line, None if text is None else visible(text)] for file, line, text in those]
            for place, those in lines.items()
        },
    }


def _bar(
    each: Json,
    text: str,
    is_event: bool,
    begin: int,
    causes: Sequence[str],
    number: Mapping[str, int],
    texts: dict[str, int],
) -> list[object]:
    """At, took (-1: unknown, -2: no rebalance), generation, cause, lanes of who caused it and of whom they waited for,
    place of the sentence, pause; times in ms."""
    took = -2 if is_event else -1 if each["took_s"] is None else round(1000 * each["took_s"])
    return [
        round(1000 * datetime.fromisoformat(each["at"]).timestamp()) - begin if each["at"] else 0,
        took,
        each["generation"],
        causes.index(each["cause"] or UNKNOWN),
        [number[name] for name in each["who"] if name in number],
        [number[name] for name in each["waited_for_who"] if name in number],
        texts.setdefault(text, len(texts)),
        None if each["paused_s"] is None else round(1000 * each["paused_s"]),
    ]


def _lanes(bars: Sequence[Json], there: Presence) -> list[str]:
    """The members that caused most, in the order of their names with numbers counted as numbers."""
    caused = Counter(name for bar in bars for name in (*bar["who"], *bar["waited_for_who"]))
    names = sorted(there.there.keys() | there.paused.keys() | caused.keys())
    return sorted(sorted(names, key=lambda name: -caused[name])[:MOST_LANES], key=_natural)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", name)]


def _spans(spans: Mapping[str, Sequence[Span]]) -> Iterator[tuple[str, float, float]]:
    return ((name, begin, end) for name, those in sorted(spans.items()) for begin, end in those)


def _pauses(there: Presence, number: Mapping[str, int]) -> tuple[list[tuple[str, float, float]], int]:
    """The longest pauses of the members that have a lane, in order of time, and how many are left out."""
    every = [span for span in _spans(there.paused) if span[0] in number]
    longest = nlargest(MOST_PAUSES, every, key=lambda span: span[2] - span[1])
    return sorted(longest, key=lambda span: (span[1], span[0])), len(every) - len(longest)
