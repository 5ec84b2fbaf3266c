"""The plan for people: numbered steps with what to check, how to go back, and what each costs; as text, and as one
HTML file with who owned what during each step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from markupsafe import Markup

from compare.formatting import duration, many, number, ratio, unit_of
from compare.planning.by_load import Move
from compare.planning.document import (
    CostRecord,
    GainRecord,
    OtherWayRecord,
    PlanDocument,
    ProofRecord,
    StateRecord,
    StepRecord,
)
from compare.planning.load_routes import moves_text
from compare.planning.simulating import WARM_UP
from compare.running.run_variant import RunResult
from compare.showing.console import print_line, print_table
from compare.showing.html import page
from compare.showing.pictures import timeline
from protocols import Queue
from protocols.scenario.fields import listed

COLUMNS = (
    ("step", "right"),
    ("pause p50", "right"),
    ("pause p95", "right"),
    ("moves", "right"),
    ("handled again", "right"),
    ("two owners", "right"),
    ("settled after", "right"),
)

MOST_NAMED = 6
"""Members or waves that a line names."""


def print_plan(found: PlanDocument, format: str) -> None:
    """On standard output, as text (``table``) or Markdown."""
    print_line(headline(found), format, heading=True)
    if found["other_libraries"]:
        _line(_FOR_JAVA, format)
    for step in found["steps"]:
        _line(f"{step['number']}. {step['text']}", format)
        for line in details(step):
            _line(f"   {line}", format)
    rows = [[str(step["number"]), *cells(step["cost"])] for step in found["steps"] if step["cost"] is not None]
    if rows:
        print_table(COLUMNS, rows, format, costs_title(found))
    for title, lines in _endings(found):
        print_line(title, format, heading=True)
        for line in lines:
            _line(f"- {line}", format)


_FOR_JAVA = (
    "Nothing shows which client library every member uses. These steps are right if all are Java's clients; what others"
    " need stands below (--library names the one)."
)


def _explored(proof: ProofRecord) -> Iterator[str]:
    """What the explorer says of a step, within which limits."""
    orders = {1: "a restart"}.get(proof["members"], f"{proof['members']} restarts")
    scope = (
        f"step {proof['step']} with {many(proof['members'], 'member')} and {many(proof['partitions'], 'partition')};"
        f" {listed(proof['properties'])}; {many(proof['states'], 'state')}; in one order the timers of a client fire"
        f" {many(proof['client_firings'], 'time')} at most, those of the broker (sessions, rebalance timeouts)"
        f" {many(proof['broker_firings'], 'time')}"
    )
    if proof["unsafe"]:
        yield f"Not every order of {orders} is safe ({scope})."
    elif proof["complete"]:
        yield f"All orders of {orders} explored: safe ({scope})."
    else:
        yield f"No order of {orders} that was explored is unsafe, but there are more ({scope})."
    for each in sorted(proof["unsafe"], key=lambda unsafe: len(unsafe["story"]))[:1]:
        steps = [f"{number}. {step}" for number, step in enumerate(each["story"][:-1], 1)]
        yield f"The shortest one violates {each['property']}: {' '.join(steps)} Then: {each['story'][-1]}."
        yield f"Check: {each['check']}."


def _line(text: str, format: str) -> None:
    print_line(text.strip() if format == "markdown" else text, format)


def headline(found: PlanDocument) -> str:
    """What the plan is for."""
    return f"Group {found['group']} ({found['system']}): from {found['from']} to {found['to']}"


def costs_title(found: PlanDocument) -> str:
    """What the table of costs rests on."""
    queue = unit_of(found["system"])
    return (
        f"Cost of each step ({many(found['seeds'], 'seed')}, {duration(found['gap_s'])} between restarts, each"
        f" {duration(found['downtime_s'])}); pause: time without an owner, of every {queue}"
    )


def details(step: StepRecord) -> Iterator[str]:
    """The lines below a step."""
    for members, settings in grouped(step["settings"]):
        yield f"Settings of {some(members)}: {_settings(settings)}"
    yield from (f"Command: {command}" for command in step["commands"])
    if step["gain"] is not None:
        yield from _gain(step["gain"])
    if step["restart"]:
        yield f"Restart: {waves(step['restart'])}"
    if step["start"]:
        yield f"Start: {some(step['start'])}"
    yield from (f"Code must expect: {sentence}" for sentence in step["code_must_expect"])
    yield f"Check: {step['check']}"
    yield f"Check by: {step['check_command']}"
    yield f"Back: {step['back']}"


def _gain(gain: GainRecord) -> Iterator[str]:
    moves = [
        Move(Queue(str(topic), str(broker), int(number)), str(old), str(new))
        for topic, broker, number, old, new in gain["moves"]
    ]
    if moves:
        yield f"Moves: {moves_text(moves)}"
    before, after = gain["before"], gain["after"]
    drained = (
        f"; what waits is gone after {_drain(after)} (before: {_drain(before)})"
        if (before["drain_s"], after["drain_s"]) != (None, None)
        else ""
    )
    told = (
        f"the largest utilisation goes from {before['highest']:.0%} to {after['highest']:.0%}"
        if gain["of_capacity"]
        else f"the largest load goes from {ratio(before['highest'])} to {ratio(after['highest'])} times the mean"
    )
    yield f"Gain: {told}{drained}"


def _drain(state: StateRecord) -> str:
    return "never" if state["drain_s"] is None else duration(state["drain_s"])


def _settings(settings: Iterable[tuple[str, object]]) -> str:
    return "; ".join(f"{name}={value}" if value is not None else f"{name} removed" for name, value in settings)


def grouped(settings: Mapping[str, Mapping[str, object]]) -> list[tuple[list[str], list[tuple[str, object]]]]:
    """Members that change alike, with their changes."""
    found: dict[str, tuple[list[str], list[tuple[str, object]]]] = {}
    for member, changes in settings.items():
        found.setdefault(repr(changes), ([], list(changes.items())))[0].append(member)
    return list(found.values())


def some(members: Sequence[str]) -> str:
    """Names, the first ones of many."""
    if len(members) <= MOST_NAMED:
        return ", ".join(members)
    return f"{', '.join(members[: MOST_NAMED - 1])} and {len(members) - MOST_NAMED + 1} more"


def waves(restart: Sequence[Sequence[str]]) -> str:
    """Who restarts with whom."""
    if len(restart) == 1:
        return some(restart[0]) + (": all stop, then all start" if len(restart[0]) > 1 else "")
    return f"{some([' with '.join(wave) for wave in restart])}, one after the other"


def cells(cost: CostRecord) -> list[str]:
    """A row of the table of costs."""
    pause = cost["pause_s"]
    settle = "not in every run" if cost["unsettled_runs"] else duration(cost["settle_p95_s"])
    return [
        duration(pause["p50"]) if pause["p50"] else "none",
        duration(pause["p95"]) if pause["p95"] else "none",
        number(cost["moves"], 1),
        number(cost["redelivered"], 1),
        duration(cost["double_owned_queue_s"]) if cost["double_owned_queue_s"] else "none",
        settle,
    ]


def _endings(found: PlanDocument) -> Iterator[tuple[str, list[str]]]:
    if found["other_libraries"]:
        yield "If the members are not Java's clients", [other_way(found, each) for each in found["other_libraries"]]
    if found["wrong_orders"]:
        told = [f"{order['text']} {' '.join(order['story'].splitlines())}" for order in found["wrong_orders"]]
        yield "What goes wrong in another order", told
    if found["proof"] is not None:
        yield "Orders explored", list(_explored(found["proof"]))
    if found["notes"]:
        yield "Also", found["notes"]
    if found["assumptions"]:
        yield "Assumed", found["assumptions"]


def other_way(found: PlanDocument, way: OtherWayRecord) -> str:
    """The way of another library, or that there is none."""
    expects = f" Code must expect: {' '.join(way['code_must_expect'])}" if way["code_must_expect"] else ""
    if way["steps"]:
        return f"{way['library']}: {' '.join(way['steps'])}{expects}"
    if not way["same_steps"]:
        return f"{way['library']}: no way. {way['why']}"
    told = []
    for step in found["steps"]:
        if not step["settings"]:
            continue
        own = step["settings_by_library"][way["library"]]
        if own is None:
            return f"{way['library']}: no way. {step['why_not'][way['library']]}"
        told.append(f"in step {step['number']} {_settings(own.items())}")
    return f"{way['library']}: the same steps, with {'; '.join(told)}.{expects}"


MOST_PICTURED = 200
"""Queues up to which ownership is drawn, a row for each."""

BEFORE_S = 15.0
"""Seconds before a step from which on its picture shows."""


def write_plan(found: PlanDocument, runs: Mapping[int, RunResult]) -> str:
    """The page; it asks the network for nothing, and equal plans give equal text. ``runs``: number of the step to the
    run that its picture shows."""
    return page(
        "plan",
        {},
        headline=headline(found),
        title=costs_title(found),
        columns=COLUMNS,
        told=_FOR_JAVA if found["other_libraries"] else "",
        others=[other_way(found, way) for way in found["other_libraries"]],
        steps=[
            {
                "number": step["number"],
                "text": step["text"],
                "details": list(details(step)),
                "cells": None if step["cost"] is None else cells(step["cost"]),
                "picture": _picture(runs[step["number"]]) if step["number"] in runs else None,
            }
            for step in found["steps"]
        ],
        wrong=[{"text": order["text"], "story": order["story"].splitlines()} for order in found["wrong_orders"]],
        notes=found["notes"],
        assumptions=found["assumptions"],
    )


def _picture(run: RunResult) -> Markup:
    return Markup(timeline(run, since=WARM_UP / 1000 - BEFORE_S).svg)
