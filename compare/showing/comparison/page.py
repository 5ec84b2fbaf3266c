"""State machines as small pictures, from the tables that the code runs from: states in one column, edges beside it.

Edges that lead down run on the right, edges that lead up on the left, each in a lane of its own where they overlap.
Labels are left out: the player tells the event of the edge that it lights up.

The page: story, verdict and table read without a script; timelines and player are drawn by one from data.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any

from markupsafe import Markup

from compare.documents.audit import OptimumRecord
from compare.documents.comparison import Fairness, Record, ScenarioDocument, SeedsRecord, VerdictRecord
from compare.explaining.document import Measured
from compare.explaining.standing import decisions, known, named, rows, untold_sentences
from compare.figures.metrics import COLUMNS, COMPARED, GROUPS, Metric
from compare.formatting import many, number, variant_name, visible
from compare.running.runs import MeasuredRun, variation
from compare.running.spread import figure
from compare.running.systems import MACHINES, Machine, machine
from compare.showing.comparison.advice import sentences
from compare.showing.comparison.tables import MOST_SENTENCES
from compare.showing.html import page
from compare.showing.pictures.glance import strip
from compare.showing.pictures.tradeoffs import tradeoffs
from protocols.engine.nodes import Time
from protocols.scenario.events import Event
from protocols.scenario.events.base import described
from protocols.scenario.fields import duration_text
from protocols.scenario.jitter import shifted
from protocols.scenario.model import LoadPart, Scenario
from protocols.state_machine import BEGINNING

OUTSIDE = (BEGINNING, "ABSENT")
"""States that say that there is no such thing: nobody is shown in them."""

WIDTH, HEIGHT = 190, 44
"""Of a state, in pixels; there is room in it for who is in the state."""
GAP, LANE, PORT = 20, 9, 7


def graphs(system: str) -> list[dict[str, object]]:
    """The machines of a system: name, its states and edges with their places; none for a system without.

    ``machine`` is what the facts of `protocols.facts.Transition` call it; ``members``: the machine of the members,
    where it is that of a group; ``over``: states in which there is no such thing any more, or not yet.
    """
    return [_graph(machine(system, name)) for name in MACHINES.get(system, {})]


def graphs_of_runs(system: str, texts: Collection[str]) -> list[dict[str, object]]:
    """The machines that the report's player shows: those of the consumer protocol only where a run has taken a step of
    theirs, whose name is then among the player's ``texts``."""
    return [graph for graph in graphs(system) if graph["machine"] not in _WHERE_TAKEN or graph["machine"] in texts]


_WHERE_TAKEN = ("consumer protocol", "consumer group", "consumer group member")


def _graph(drawn: Machine) -> dict[str, object]:
    place = {state: at for at, state in enumerate(drawn.states)}
    pairs = sorted(
        {(place[before], place[after]) for before, after in drawn.between() if before != after},
        key=lambda pair: (abs(pair[1] - pair[0]), pair),
    )
    leading_on = {before for before, _ in pairs}
    lanes: dict[bool, list[list[tuple[int, int]]]] = {True: [], False: []}
    lane_of = {}
    for before, after in pairs:
        low, high = sorted((before, after))
        of_side = lanes[after > before]
        free = (n for n, lane in enumerate(of_side) if all(high <= a or b <= low for a, b in lane))
        number = next(free, len(of_side))
        if number == len(of_side):
            of_side.append([])
        of_side[number].append((low, high))
        lane_of[before, after] = number
    left = LANE * (len(lanes[False]) + 1)
    ports: dict[tuple[int, bool], int] = {}
    edges = []
    for before, after in pairs:
        down = after > before
        edge = left + WIDTH if down else left
        lane = edge + (1 if down else -1) * LANE * (lane_of[before, after] + 1)
        leaves = _height(before, _port(ports, before, down))
        arrives = _height(after, _port(ports, after, down))
        edges.append(
            {
                "from": drawn.states[before],
                "to": drawn.states[after],
                "path": f"M{edge} {leaves}H{lane}V{arrives}H{edge + (5 if down else -5)}",
                "tip": f"M{edge} {arrives}l{7 if down else -7} -4v8z",
            }
        )
    return {
        "name": drawn.name,
        "machine": _MACHINE.get((drawn.system, drawn.name), drawn.name),
        "members": _MEMBERS.get((drawn.system, drawn.name)),
        "outside": next((state for state in OUTSIDE if state in place), None),
        "over": [state for state in place if state in OUTSIDE or place[state] not in leading_on],
        "states": [
            {"name": state, "shown": drawn.shown(state), "x": left, "y": at * (HEIGHT + GAP) + 4}
            for state, at in place.items()
        ],
        "edges": edges,
        "width": left + WIDTH + LANE * (len(lanes[True]) + 1),
        "height": len(place) * (HEIGHT + GAP) - GAP + 8,
        "box": [WIDTH, HEIGHT],
    }


_MEMBERS = {("kafka", "group"): "client", ("kafka", "consumer group"): "consumer group member"}
"""System and machine of a group to that of its members, as the nodes call it."""

_MACHINE = {("kafka", "consumer"): "client"}
"""What the nodes call a machine, where the drawings call it otherwise."""


def _port(ports: dict[tuple[int, bool], int], state: int, right: bool) -> int:
    """The next free place at this side of a state: beside the middle, then further and further from it."""
    number = ports[state, right] = ports.get((state, right), -1) + 1
    return (number + 1) // 2 * (PORT if number % 2 else -PORT) if number else 0


def _height(state: int, port: int) -> int:
    middle = state * (HEIGHT + GAP) + 4 + HEIGHT // 2
    return middle + max(-HEIGHT // 2 + 3, min(HEIGHT // 2 - 3, port))


SCRIPTS = (
    "data.js",
    "axis.js",
    "ownership.js",
    "strips.js",
    "variants.js",
    "graph.js",
    "epochs.js",
    "sequence.js",
    "player.js",
)

MOST_TYPES = 40
"""Types of messages in the table of a variant."""

MOST_RATES = 5
"""Topics and queues whose rates are told."""


def write_comparison(found: Sequence[Measured]) -> str:
    """One page for all scenarios, each with its runs and its document; what is drawn is that of the runs that have it.

    Equal runs give equal text, which holds no lone surrogates: it can be written as UTF-8.
    """
    drawn = [[run for run in runs if run.chart_data is not None] for _, runs, _ in found]
    documents = [document for _, _, document in found]
    columns = sorted({at for document in documents for at in known(rows(_first(document), document.get("seeds", {})))})
    payload = {
        "scenarios": [drawn_of(scenario, runs) for (scenario, _, _), runs in zip(found, drawn, strict=True)],
        "graphs": {
            system: graphs_of_runs(system, _texts(drawn))
            for system in dict.fromkeys(run.variant.part.system.partition(":")[0] for runs in drawn for run in runs)
        },
    }
    return page(
        "comparison",
        payload,
        SCRIPTS,
        title=", ".join(scenario.name for scenario, _, _ in found),
        scenarios=[
            _static(*each, runs, columns) for each, runs in zip(((of[0], of[2]) for of in found), drawn, strict=True)
        ],
        columns=[COMPARED[at] for at in columns],
        tables=_tables([COMPARED[at] for at in columns]),
        event_headings=[metric.heading for metric in COLUMNS["report events"]],
        topic_headings=[metric.heading for metric in COLUMNS["report topics"]],
    )


def _texts(drawn: Sequence[Sequence[MeasuredRun]]) -> set[str]:
    """All texts that the runs' players show."""
    players: list[Any] = [(run.chart_data or {}).get("player") for runs in drawn for run in runs]
    return {text for player in players if player for text in player["texts"]}


def _tables(columns: Sequence[Metric]) -> list[tuple[str, int, int]]:
    """Group of metrics, and from which to which of these columns they are."""
    sizes = [sum(metric in COLUMNS[group] for metric in columns) for group in GROUPS]
    ends = accumulate(sizes)
    return [(group, end - size, end) for group, size, end in zip(GROUPS, sizes, ends, strict=True) if size]


def _first(document: ScenarioDocument) -> list[Record]:
    """The first record of each variant."""
    first: dict[str, Record] = {}
    for record in document["variants"]:
        first.setdefault(record["label"], record)
    return list(first.values())


def _static(
    scenario: Scenario, document: ScenarioDocument, runs: Sequence[MeasuredRun], columns: Sequence[int]
) -> dict[str, object]:
    """What the template shows of a scenario; ``columns``: which of `COMPARED`."""
    records = _first(document)
    varying = [record["seed"] for record in records if record["jitter"]]
    seeds = document.get("seeds", {})
    beside = any(seed["beside"] for seed in seeds.values())
    table = rows(records, seeds)
    return {
        "name": scenario.name,
        "about": " ".join(scenario.about.split()),
        "facts": [
            *_facts(scenario, len(records), max((seed["runs"] for seed in seeds.values()), default=1)),
            *([variation(scenario)] if varying or beside else []),
        ],
        "events": [(_clock(at), text) for at, text in _events(shifted(scenario, varying[0]) if varying else scenario)],
        "headline": document["headline"] or next((told["sentence"] for told in document["verdict"]), ""),
        "end": _clock(scenario.run.for_),
        "glance": _glance(scenario, records, runs),
        "three": _three(records, seeds),
        "verdict": [told["sentence"] for told in document["verdict"][:MOST_SENTENCES]],
        "advice": sentences(document["advice"]) if "advice" in document else [],
        "tradeoffs": Markup(tradeoffs(document["advice"], scenario.name).svg) if "advice" in document else "",
        "assumptions": [assumption["text"] for assumption in document["assumptions"]],
        "rows": [
            {"parts": _PARTS.findall(record["label"]), "cells": [cells[at] for at in columns]}
            for record, cells in zip(records, table, strict=True)
        ],
        "untold": untold_sentences(records, table),
        "runs": max((seed["runs"] for seed in seeds.values()), default=1),
        "variants": [_variant(record, document["verdict"]) for record in records],
    }


def _glance(scenario: Scenario, records: Sequence[Record], runs: Sequence[MeasuredRun]) -> list[dict[str, object]]:
    """Per variant that is drawn its place, its label and its strip; ``without_owners`` says why there is none."""
    charts = {run.variant.label: run.chart_data for run in runs if run.chart_data is not None}
    return [
        {
            "at": at,
            "parts": _PARTS.findall(record["label"]),
            "without_owners": shared["why_no_owners"] if (shared := record["shared_delivery"]) else "",
            **strip(charts[record["label"]], scenario.run.for_),
        }
        for at, record in enumerate(records)
        if record["label"] in charts
    ]


def _three(records: Sequence[Record], seeds: Mapping[str, SeedsRecord]) -> list[dict[str, object]]:
    """The figures that decide, those in which the variants differ first."""
    made = sorted(decisions(records, seeds), key=lambda decision: not decision.differs)[:3]
    return [
        {
            "group": decision.group,
            "heading": decision.metric.heading,
            "words": decision.metric.words,
            "ends": [(value, named(records, labels)) for value, labels in decision.ends],
            "differs": decision.differs,
        }
        for decision in made
    ]


_PARTS = re.compile(r"[^:_+-]*[:_+-]|[^:_+-]+")
"""Where a narrow screen may break a label."""


def _variant(record: Record, verdict: Sequence[VerdictRecord]) -> dict[str, object]:
    name = variant_name(record)
    sent = sorted(record["messages"].items(), key=lambda item: (-item[1], item[0]))
    return {
        "label": record["label"],
        # The card has the name on top already.
        "verdict": [
            (told["sentence"].removeprefix(f"{name} "), list(told["figures"].items()))
            for told in verdict
            if told["label"] == record["label"]
        ],
        "failed": [check for check in record["checks"] if not check["held"]],
        "caused": record["caused"],
        "messages": sent[:MOST_TYPES],
        "others": sum(count for _, count in sent[MOST_TYPES:]),
        "lost": sorted(record["lost_messages"].items()),
        "after": [
            {
                "when": _clock(each["at_s"] * 1000),
                "events": each["events"] or ["the scenario begins"],
                "load": _range(each["fairness"]),
                "best": _range(each["optimum"]),
                "cells": [number(figure(each, metric.path), 3) for metric in COLUMNS["report events"]],
            }
            for each in record["after"]
        ],
        "topics": _topics(record),
    }


def _topics(record: Record) -> list[tuple[str, list[str]]]:
    topics = record["fairness"]["topics"]
    metrics = COLUMNS["report topics"]
    return [(topic, [number(figures[metric.path]) for metric in metrics]) for topic, figures in topics.items()][
        :MOST_TYPES
    ]


def _range(figures: Fairness | OptimumRecord) -> str:
    low, high = figures["min"], figures["max"]
    return number(high) if low == high else f"{number(low)}–{number(high)}"


def _facts(scenario: Scenario, variants: int, runs: int) -> list[str]:
    members = {(name, member) for name, group in scenario.groups.items() for member in group.members}
    only = next(iter(scenario.groups)) if len(scenario.groups) == 1 else ""
    members |= {(event.group or only, name) for event in scenario.events for name in event.members()}
    queues = sum(sum(part.queues.values()) for part in scenario.topics.values())
    low, high = scenario.run.latency
    latency = duration_text(low) if low == high else f"{duration_text(low)} to {duration_text(high)}"
    return [
        many(len(members), "member"),
        f"{many(len(scenario.topics), 'topic')}, {many(queues, 'queue')}",
        *_load(scenario.load),
        duration_text(scenario.run.for_),
        f"{latency} per message",
        many(variants, "variant"),
        f"{runs} seeds per variant" if runs > 1 else f"seed {scenario.run.seed}",
    ]


def _load(load: LoadPart) -> list[str]:
    if not load.writes:
        return []
    rates = [f"{rate:g} to {visible(name)}" for name, rate in load.rates.items()][:MOST_RATES]
    more = [f"{len(load.rates) - MOST_RATES} more rates"] if len(load.rates) > MOST_RATES else []
    return [
        ", ".join(
            [f"{load.produce:.4g} records per second and queue{' on average' if load.keys else ''}", *rates, *more]
        )
    ]


def _events(scenario: Scenario) -> list[tuple[Time, str]]:
    """When something happens (milliseconds), and what."""
    at_each = groupby(sorted(scenario.events, key=_at), _at)
    return [(at, text) for at, events in at_each if at <= scenario.run.for_ for text in described(events)]


def _at(event: Event) -> Time:
    return event.at


def _clock(at: float) -> str:
    """``1:05`` or ``1:05.250``, of milliseconds."""
    minutes, rest = divmod(at, 60_000)
    seconds, part = divmod(round(rest), 1000)
    return f"{int(minutes)}:{seconds:02d}" + (f".{part:03d}" if part else "")


def drawn_of(scenario: Scenario, runs: Sequence[MeasuredRun]) -> dict[str, object]:
    """What the report's scripts draw of a scenario: its end, its events, and the chart data of its runs."""
    varying = [run.variant.seed for run in runs if run.record is not None and run.record["jitter"]]
    lived = shifted(scenario, varying[0]) if varying else scenario
    return {
        "end": scenario.run.for_,
        "events": [[at, visible(text)] for at, text in _events(lived)],
        "variants": [
            {
                "label": visible(run.variant.label),
                "best": [
                    [round(each["at_s"] * 1000), each["optimum"]["min"], each["optimum"]["max"]]
                    for each in ([] if run.record is None else run.record["after"])
                ],
                **(run.chart_data or {}),
            }
            for run in runs
        ],
    }
