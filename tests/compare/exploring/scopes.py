"""Scenarios that are small enough to be explored within a test."""

from compare.exploring.properties import Subject, subject_of
from compare.running.systems import read_text
from compare.running.variants import variants_of
from protocols.engine.exploration import Bounds
from protocols.scenario.model import Scenario

SMALL = Bounds(client_firings=1, server_firings=1)


def group(system: str, members: int, *events: str, more: str = "", settings: str = "", brokers: str = "b1") -> Scenario:
    """One broker or several (with commas), a topic with two queues, so many members, and these events."""
    named = "".join(f"    c{number}: {{subscribe: [A]}}\n" for number in range(1, members + 1))
    text = (
        f"name: a small group\nbrokers: [{brokers}]\ntopics: {{A: {{queues: 2}}}}\n"
        f"group:\n  name: g\n  members:\n{named}{more}"
        f"run: {{for: 60s, seed: 1}}\nsystems: [{{system: '{system}', settings: {{{settings}}}}}]\n"
    )
    if events:
        text += "events:\n" + "".join(f"  - {{at: {10 + at}s, {event}}}\n" for at, event in enumerate(events))
    return read_text(text)


def subject(scenario: Scenario, *properties: str, bounds: Bounds = SMALL) -> Subject:
    """Its first variant, watched by these properties."""
    return subject_of(variants_of(scenario)[0], properties, bounds)
