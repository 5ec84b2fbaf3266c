"""Timelines made by hand: facts at times, as nodes would tell them."""

from collections.abc import Mapping, Sequence
from typing import Any

from protocols import Queue
from protocols.engine.nodes import Time
from protocols.engine.simulation import CALL, CLOCK
from protocols.facts import Owns
from protocols.scenario.events import Event
from protocols.timeline import Lifetimes, Recorder, Timeline

A, B, C = Queue("T", "", 0), Queue("T", "", 1), Queue("T", "", 2)


def owns(member: str, *queues: Queue, generation: int | None = None) -> Owns:
    return Owns("g", member, tuple(sorted(queues)), generation)


def recorded(
    facts: Sequence[tuple[Time, Any]],
    end: Time,
    events: Sequence[tuple[Time, Event]] = (),
    lives: Lifetimes | None = None,
    uncounted: tuple[str, ...] = (),
    roots: Mapping[int, int] | None = None,
) -> Timeline:
    """A timeline of these facts, each at its time in milliseconds.

    The n-th event (from 0) is call number ``n + 2``, the beginning is 1. ``roots``: position of a fact to the number of
    the call that began it; the clock, where it is left out.
    """
    recorder = Recorder(lives=lives, uncounted=uncounted)
    calls: dict[int, Event | None] = {1: None}
    recorder.created(1, 0.0, CALL, "", "the scenario begins", 0)
    for number, (at, event) in enumerate(events, 2):
        recorder.created(number, at, CALL, "", "", 0)
        calls[number] = event
    for position, (now, fact) in enumerate(facts):
        recorder.fact(now, getattr(fact, "member", None) or "broker", fact, (roots or {}).get(position, CLOCK), 0)
    return recorder.timeline(end, calls)
