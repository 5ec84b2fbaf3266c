"""How well the verb `logs` keeps to what can be known: incidents whose `what.json` says what may be concluded from all
files, from the brokers' logs alone and from the clients' alone.

A statement is false where its cause did not happen to that member in that rebalance. A rebalance that is told without
any certain cause states nothing.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from tests.compare.logs.scoring import Found, report

INCIDENTS = Path(__file__).parents[2] / "captures" / "logs2"
SIDES = ("all_files", "brokers_only", "clients_only")
_NEAR_S = 3.0
_SAME_NUMBER_S = 15.0
_SAID_S = 10.0
"""So far from the rebalance may be what a client says of itself: with its next poll, or by its own count."""


@dataclass
class Judgement:
    """``false``: statements that are not true, for people; ``knowable`` and ``found`` of it; ``doubts`` that a careful
    reader has, ``kept``: with the truth among the candidates; ``missed``: for people."""

    false: list[str] = field(default_factory=list)
    stated: int = 0
    knowable: int = 0
    found: int = 0
    doubts: int = 0
    kept: int = 0
    missed: list[str] = field(default_factory=list)


def names() -> list[str]:
    """The incidents."""
    return sorted(path.parent.name for path in INCIDENTS.glob("*/what.json"))


@cache
def truth_of(name: str) -> Found:
    found = json.loads((INCIDENTS / name / "what.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def files_of(name: str, side: str) -> list[Path]:
    """The log files of one side."""
    paths = sorted(path for path in (INCIDENTS / name).iterdir() if path.suffix == ".gz")
    return [path for path in paths if side == "all_files" or path.name.startswith("broker") == (side == "brokers_only")]


def unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


@cache
def judged(name: str, side: str) -> Judgement:
    """One incident with the files of one side."""
    return judge(truth_of(name), report(files_of(name, side)), side) if files_of(name, side) else Judgement()


def judge(truth: Found, document: Found, side: str = "all_files") -> Judgement:
    """What a document states about the incident's group; ``side``: whose knowledge counts."""
    result = Judgement()
    group = next((each for each in document["groups"] if each["group"] == truth["group"]), {"rebalances": []})
    told = {id(each): place for each, place in _matched(truth["rebalances"], group["rebalances"])}
    for reported in group["rebalances"]:
        true = truth["rebalances"][told[id(reported)]]["causes"] if id(reported) in told else []
        for cause, member in statements(reported):
            result.stated += 1
            if not any(cause == each["cause"] and _is(truth, each["member"], member) for each in true):
                result.false.append(f"{reported['at']} {reported['generation']}: {cause} {member}; truth {true}")
    said = _said(truth, document)
    for cause, member, at in said:
        result.stated += 1
        near = (each for each in truth["rebalances"] if abs(_seconds(each["t"]) - at) < _SAID_S)
        if not any(
            cause == one["cause"] and _is(truth, one["member"], member) for each in near for one in each["causes"]
        ):
            result.false.append(f"{at}: {cause} {member}, whose group no line names")
    by_place = {told[id(each)]: each for each in group["rebalances"] if id(each) in told}
    for place, each in enumerate(truth["rebalances"]):
        near_by = [(cause, member) for cause, member, at in said if abs(_seconds(each["t"]) - at) < _SAID_S]
        _knowledge(truth, each["knowable"].get(side, []), by_place.get(place), near_by, result)
    return result


def _said(truth: Found, document: Found) -> list[tuple[str, str, float]]:
    """What the group's members say of themselves, though their lines do not name it."""
    events = [event for group in document["groups"] if group["group"] is None for event in group["events"]]
    return [
        (cause, member, _seconds(event["at"]))
        for event in events
        for cause, member in statements(event)
        if member is not None and _holders(truth, member)
    ]


def statements(reported: Found) -> Iterator[tuple[str, str | None]]:
    """Every certain cause with every member."""
    for stated in reported["stated"]:
        for member in stated["members"] or [None]:
            yield stated["cause"], member


def _matched(truth: Sequence[Found], told: Sequence[Found]) -> list[tuple[Found, int]]:
    """Rebalances of the document, each with the place of its truth: by generation, else by time."""
    near = []
    for place, true in enumerate(truth):
        times = [_seconds(true[key]) for key in ("t", "completed_t", "stable_t") if true.get(key)]
        for number, each in enumerate(told):
            own = [_seconds(each[key]) for key in ("at", "stable_at") if each[key]]
            off = min(abs(one - other) for one in times for other in own)
            same = each["generation"] is not None and each["generation"] == true.get("generation")
            if off <= (_SAME_NUMBER_S if same else _NEAR_S):
                near.append((not same, off, place, number))
    found: list[tuple[Found, int]] = []
    taken: set[tuple[str, int]] = set()
    for _, _, place, number in sorted(near):
        if ("truth", place) not in taken and ("told", number) not in taken:
            taken |= {("truth", place), ("told", number)}
            found.append((told[number], place))
    return found


def _knowledge(
    truth: Found,
    knowable: Sequence[Found],
    told: Found | None,
    said: Sequence[tuple[str, str | None]],
    result: Judgement,
) -> None:
    certain = [*said, *(statements(told) if told else ())]
    candidates = set(told["unknown"]["candidates"]) if told and told["unknown"] else set()
    for each in knowable:
        if each["cause"] is not None:
            hit = any(cause == each["cause"] and _is(truth, each["member"], member) for cause, member in certain)
            result.knowable += 1
            result.found += hit
            if not hit:
                result.missed.append(f"{each['cause']} {each['member']}: told {certain} {candidates}")
        elif told is not None and each.get("rebalance_visible", True):
            result.doubts += 1
            known = any(cause == each["of"] for cause, _ in certain)
            result.kept += known or each["of"] in candidates


def _is(truth: Found, expected: str | None, told: str | None) -> bool:
    """Whether a name is that of the process; of nobody in particular anything may be told."""
    if expected is None or told is None:
        return True
    return any(expected in {member["process"], member["member"]} for member in _holders(truth, told))


def _holders(truth: Found, name: str) -> list[dict[str, Any]]:
    members: list[dict[str, Any]] = truth["members"]
    return [
        each
        for each in members
        if name in {each["process"], each["client_id"], each["group_instance_id"], *(each["member_ids"] or [])}
    ]


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
