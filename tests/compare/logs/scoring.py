"""How well the verb `logs` tells what happened: played against recorded incidents whose truth is written down.

Each folder of `tests/captures/logs` holds the logs of one incident and `what.json` (INDEX.md there explains the keys).
Times are compared as UTC; member ids are translated to the processes that held them.
"""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from compare.logs.analysis import analysed
from compare.logs.document import document
from compare.logs.lines import log_files
from compare.logs.reading import read

INCIDENTS = Path(__file__).parents[2] / "captures" / "logs"
NEAR_S = 2.0
_BROKERS = ("broker", "remoting", "namesrv")
SIDES = ("both", "broker", "clients")

Found = dict[str, Any]


@dataclass
class Score:
    """``expected``: rebalances of the truth; ``found``: of those, reported within two seconds; ``right``: with first
    cause and member; ``unknown``: reported without a cause; ``invented``: reported but not there; ``events``: what
    caused no rebalance and was told, of ``events_expected``; ``waited_for``: of ``waits_expected``; ``wrong``: what
    differs, for people."""

    expected: int = 0
    found: int = 0
    right: int = 0
    unknown: int = 0
    invented: int = 0
    events: int = 0
    events_expected: int = 0
    waits: int = 0
    waits_expected: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: "Score") -> None:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def names() -> list[str]:
    """The incidents."""
    return sorted(path.parent.name for path in INCIDENTS.glob("*/what.json"))


def truth_of(name: str) -> Found:
    found = json.loads((INCIDENTS / name / "what.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def logs_of(name: str, side: str) -> list[Path]:
    """The log files of one side; ``both``: all of them."""
    paths = sorted(path for path in (INCIDENTS / name).iterdir() if path.name != "what.json")
    of_broker = [any(word in path.name for word in _BROKERS) for path in paths]
    return [
        path for path, broker in zip(paths, of_broker, strict=True) if side == "both" or broker == (side == "broker")
    ]


def report(paths: list[Path], zones: dict[str, tzinfo] | None = None) -> Found:
    """The document of the verb for some files."""
    sources = read(log_files([str(path) for path in paths]), zones or {})
    return document(analysed(sources.streams), sources)


def zones_of(truth: Found) -> dict[str, tzinfo]:
    """What somebody who gives one side only would have to say with `--zone`."""
    found: dict[str, tzinfo] = {}
    for file in truth["files"]:
        if name := file.get("time_zone"):
            try:
                offset = ZoneInfo(name).utcoffset(datetime(2026, 11, 22))
            except (ZoneInfoNotFoundError, ValueError):
                continue
            found[file["file"]] = timezone(offset or timedelta(0))
    return found


@cache
def score(name: str, side: str) -> Score:
    """The figures of one incident; of one side its zones are given, both together have to find them."""
    truth = truth_of(name)
    paths = logs_of(name, side)
    result = Score()
    if not paths:
        return result
    groups = report(paths, None if side == "both" else zones_of(truth))["groups"]
    group = next((each for each in groups if each["group"] == truth["group"]), {"rebalances": [], "events": []})
    _rebalances(truth, group["rebalances"], result)
    _events(truth, group["events"], result)
    return result


def _rebalances(truth: Found, reported: list[Found], result: Score) -> None:
    # A process that is killed or frozen drops its queues in the recorder's view alone: no log can tell.
    expected = [each for each in truth["rebalances"] if each.get("queues_gained") != 0]
    free = list(reported)
    for each in expected:
        result.expected += 1
        match = _nearest(each, free)
        if match is None:
            result.wrong.append(f"not found: {each['t']} {each['cause']} {each['member']}")
            continue
        free.remove(match)
        result.found += 1
        result.unknown += match["cause"] is None
        if match["cause"] == each["cause"] and _is_member(truth, each["member"], match["member"]):
            result.right += 1
        else:
            told = f"{match['cause']} {match['causes']} {match['member']}"
            result.wrong.append(f"{each['t']} {each['cause']} {each['member']}: told {told}")
        if each.get("waited_for") and _gave_up_in_time(each):
            result.waits_expected += 1
            result.waits += _is_member(truth, each["waited_for"].partition("#")[0], match["waited_for"])
    result.invented += len(free)
    result.wrong += [f"invented: {each['at']} {each['cause']} {each['member']}" for each in free]


def _gave_up_in_time(each: Found) -> bool:
    """Whether the one that the group is said to have waited for gave up before the coordinator had completed: callbacks
    of librdkafka that came later belong to the generation after."""
    gave_up = each["pauses"][each["waited_for"]]["given_up_t"]
    return _seconds(gave_up) <= _seconds(each["completed_t"]) + 0.1


def _nearest(each: Found, free: list[Found]) -> Found | None:
    start = _seconds(each["t"])
    ends = [_seconds(each[key]) for key in ("completed_t", "stable_t", "last_change_t") if each.get(key)]
    near = []
    for place, known in enumerate(free):
        at, end = _seconds(known["at"]), _seconds(known["stable_at"] or known["at"])
        off = min([abs(at - start), *(abs(end - when) for when in ends)])
        if off <= NEAR_S:
            same = known["generation"] == each.get("generation")
            near.append((not same, abs(at - start), place))
    return free[min(near)[2]] if near else None


def _events(truth: Found, reported: list[Found], result: Score) -> None:
    for window in truth["causes"]:
        silent = window["cause"] in {"nothing", "pause_shorter_than_session"}
        if window["rebalance_expected"] is True or window.get("rebalances_seen") or silent:
            continue
        result.events_expected += 1
        begin, end = _seconds(window["t_from"]) - NEAR_S, _seconds(window["t_to"]) + 2.5 * NEAR_S
        hit = any(
            each["cause"] == window["cause"]
            and begin <= _seconds(each["at"]) <= end
            and _is_member(truth, window["member"], each["member"])
            for each in reported
        )
        result.events += hit
        if not hit:
            result.wrong.append(f"event not told: {window['t_from']} {window['cause']} {window['member']}")


def _is_member(truth: Found, expected: str | None, told: str | list[str] | None) -> bool:
    """Whether all members that were told are of those expected; of nobody in particular anything may be told."""
    if expected is None:
        return True
    holders: dict[str, set[str]] = defaultdict(set)
    for member in truth["members"]:
        for name in (*member.get("member_ids", []), member["client_id"], member["process"]):
            if name:
                holders[name].add(member["member"])
    wanted = set(expected.split(","))
    given = [told] if isinstance(told, str) else told or []
    return bool(given) and all(holders.get(name, {name}) & wanted for name in given)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
