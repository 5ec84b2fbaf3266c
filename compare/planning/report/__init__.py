"""The plan as one HTML file: steps, costs, and who owned what during each step."""

from markupsafe import Markup

from compare.pictures import timeline
from compare.planning.document import PlanDocument
from compare.planning.render import COLUMNS, cells, costs_title, details, headline
from compare.planning.simulating import at_another_time, variant_of
from compare.planning.steps import Route, Step
from compare.planning.subject import Subject
from compare.planning.timetable import WARM_UP, Timing
from compare.report.one_file import asset, rendered, script_of
from compare.running.run_variant import run_variant

MOST_PICTURED = 200
"""Queues up to which ownership is drawn, a row for each."""

BEFORE_S = 15.0
"""Seconds before a step from which on its picture shows."""


def write_plan(found: PlanDocument, subject: Subject, route: Route, timing: Timing) -> str:
    """The page; it asks the network for nothing, and equal plans give equal text."""
    style = asset("compare.report", "style.css") + asset(__package__, "plan.css")
    return rendered(
        asset(__package__, "page.html"),
        style,
        script_of([]),
        {},
        headline=headline(found),
        title=costs_title(found),
        columns=COLUMNS,
        steps=[
            {
                "number": step["number"],
                "text": step["text"],
                "details": list(details(step)),
                "cells": None if step["cost"] is None else cells(step["cost"]),
                "picture": _picture(subject, route, number, timing) if step["cost"] is not None else None,
            }
            for number, step in enumerate(found["steps"])
        ],
        wrong=[{"text": each["text"], "story": each["story"].splitlines()} for each in found["wrong_orders"]],
        notes=found["notes"],
        assumptions=found["assumptions"],
    )


def _picture(subject: Subject, route: Route, number: int, timing: Timing) -> Markup | None:
    """Who owns what during a step, with the first seed; None where there are too many queues for a picture."""
    steps = route.steps[:number]
    step: Step = route.steps[number]
    counts = {topic: step.queues.get(topic, subject.queue_count(topic)) for topic in subject.topics}
    if sum(counts.values()) > MOST_PICTURED:
        return None
    result = run_variant(at_another_time(variant_of(subject, steps, [step], timing), 0))
    return Markup(timeline(result, since=WARM_UP / 1000 - BEFORE_S).svg)
