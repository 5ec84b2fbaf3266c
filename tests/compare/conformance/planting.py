"""Recorded traces with one change: whatever is planted anywhere must be noticed by who plays them."""

import copy
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from compare.conformance.cases import MalformedCase

Place = tuple[str | int, ...]

INPUTS = {"req", "op", "config", "topics", "ids", "log"}
"""What is fed in: changed, it is another case, not a wrong one."""

IDENTITY = {"trace_id", "protocol", "component", "scenario"}

SORTED = {"members", "pending_sync"}
"""Lists that the recording sorts by symbol: their order tells nothing."""


def traces(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) as lines:
        yield from map(json.loads, lines)


def noticed(play: Callable[[dict[str, Any]], object], trace: dict[str, Any]) -> bool:
    """Whether its player sees that a trace is not what was recorded."""
    try:
        return bool(play(trace))
    except MalformedCase:
        return True


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every place of a recorded result in a trace, containers as well."""
    if place and place[-1] in INPUTS | IDENTITY:
        return
    if len(place) > 2:
        yield place
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inside:
        yield from leaves(each, (*place, name))


def kind_of(place: Place, value: Any, trace: dict[str, Any]) -> tuple[str, ...]:
    """Places of one kind differ in numbers and names of members only."""
    op = trace["steps"][place[1]]["op"]
    names = ["#" if isinstance(each, int) or each in trace.get("ids", ()) else each for each in place[2:]]
    return op, *names, type(value).__name__


def at(trace: dict[str, Any], place: Place) -> Any:
    value: Any = trace
    for name in place:
        value = value[name]
    return value


def along(value: Any, place: Place) -> Any:
    """A copy of the value in which everything along the place is a copy, too."""
    copied = copy.copy(value)
    if place:
        copied[place[0]] = along(copied[place[0]], place[1:])
    return copied


def with_value(trace: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    changed: dict[str, Any] = along(trace, place[:-1])
    at(changed, place[:-1])[place[-1]] = value
    return changed


def without(trace: dict[str, Any], place: Place) -> dict[str, Any]:
    changed: dict[str, Any] = along(trace, place[:-1])
    del at(changed, place[:-1])[place[-1]]
    return changed


def others(value: Any, name: str | int) -> Iterator[Any]:
    """What stands in the place of a value."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        yield value - 1
    elif isinstance(value, str):
        yield value + "x"
        yield None
    elif isinstance(value, list):
        yield [*value, copy.deepcopy(value[-1]) if value else "x"]
        if value:
            yield value[:-1]
        if len(value) > 1 and value[::-1] != value and name not in SORTED:
            yield value[::-1]
    elif isinstance(value, dict):
        yield {**value, "x": None}
    else:
        yield "x"


def plants(recorded: Iterable[dict[str, Any]], every_change: bool) -> Iterator[tuple[tuple[str, ...], Place, Any, Any]]:
    """Kind and place of each kind of recorded field in the shortest trace that has it, with one of the values that may
    stand there or without it, or with all of these in turn: kind, place, what it is now, the changed trace."""
    seen: set[tuple[str, ...]] = set()
    for trace in sorted(recorded, key=lambda trace: len(trace["steps"])):
        for place in leaves({"steps": trace["steps"]}):
            value = at(trace, place)
            kind = kind_of(place, value, trace)
            if kind in seen:
                continue
            seen.add(kind)
            changed = [(other, with_value(trace, place, other)) for other in others(value, place[-1])]
            changed.append(("removed", without(trace, place)))
            for what, plant in changed if every_change else [changed[len(seen) % len(changed)]]:
                yield kind, place, what, plant
