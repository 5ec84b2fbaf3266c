"""What a sequence diagram of a run shows: the messages that led to something, quiet stretches collapsed.

Drawn are messages that led to a significant fact (who owns what, a rebalance, a callback, a refused commit), and direct
answers to them; and the first message of each type with its answer. All others (heartbeats, pulls, commits of a quiet
group) are drawn only where significant facts follow each other closely; elsewhere they are counted, and a note says how
many there were in how long a time.

`protocols.timeline.sequence` and `compare.showing.pictures.messages` draw it.

The messages of a run as a Mermaid sequence diagram (`protocols.timeline.sequence`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.timeline.timeline import Timeline
from protocols.timeline.trace import ObservedFact, Sent, Trace, describe_fact, is_significant, seconds

MOST_MESSAGES = 400
"""Arrows of a diagram; what comes after is left out, and that is said."""

QUIET: Time = 200.0
"""Milliseconds between two significant facts from which on the messages between them are only counted."""

MOST_BETWEEN = 20
"""Other messages that are drawn between two significant facts, however close these are."""


class Arrow(NamedTuple):
    """A message, in words, from one participant to another; ``lost``: it never arrives."""

    sender: str
    to: str
    text: str
    lost: bool


class Note(NamedTuple):
    """Something said over a participant; over all of them where that is None."""

    over: str | None
    text: str


class SequenceDiagram(NamedTuple):
    """``participants`` from left to right, ``steps`` from top to bottom."""

    participants: tuple[str, ...]
    steps: tuple[Arrow | Note, ...]


def sequence_diagram(timeline: Timeline, since: Time = 0.0, until: Time | None = None) -> SequenceDiagram:
    """The diagram from ``since`` to ``until`` (milliseconds; default: all of the run).

    Raises `ValueError` where the simulation did not trace.
    """
    if timeline.trace is None:
        raise ValueError("a sequence diagram needs a simulation that traces")
    end = timeline.end if until is None else until
    facts = [observed for observed in timeline.facts if since <= observed.now <= end and is_significant(observed.fact)]
    sent = [message for message in timeline.trace.messages if since <= message.at <= end]
    shown = _shown(timeline.trace, facts, sent)
    nodes = dict.fromkeys(name for each in sent for name in (each.sender, each.to))
    nodes.update(dict.fromkeys(observed.node for observed in facts))
    return SequenceDiagram(tuple(nodes), tuple(_steps(timeline, shown, since, end)))


def _shown(trace: Trace, facts: Sequence[ObservedFact], sent: Sequence[Sent]) -> set[int]:
    """Numbers of the messages to draw."""
    led: set[int] = set()
    for observed in facts:
        for step in trace.back(observed.cause):
            if step.number in led:
                break
            led.add(step.number)
    first: dict[type, int] = {}
    for each in sent:
        first.setdefault(type(each.message), each.number)
    led.update(first.values())
    answers = {
        message.number for message in trace.messages if message.cause in led and isinstance(trace[message.cause], Sent)
    }
    return led | answers


def _steps(timeline: Timeline, shown: set[int], since: Time, end: Time) -> Iterator[Arrow | Note]:
    between: list[Sent] = []
    latest, drawn, left_out = since, 0, 0
    for at, one in _in_order(timeline, since, end):
        if isinstance(one, Sent) and one.number not in shown:
            between.append(one)
            continue
        if drawn >= MOST_MESSAGES:
            left_out += len(between) + isinstance(one, Sent)
            between.clear()
            continue
        if at - latest < QUIET and len(between) <= MOST_BETWEEN:
            yield from map(_arrow, between)
            drawn += len(between)
        elif between:
            yield Note(None, _quiet(between, latest, at))
        between.clear()
        latest = at
        if isinstance(one, Sent):
            drawn += 1
            yield _arrow(one)
        elif isinstance(one, ObservedFact):
            yield Note(one.node, f"{describe_fact(one.fact)} ({seconds(at)})")
        else:
            yield Note(None, f"{one} ({seconds(at)})")
    if left_out:
        yield Note(None, f"{left_out + len(between)} more messages are not drawn")
    elif between:
        yield Note(None, _quiet(between, latest, end))


def _arrow(one: Sent) -> Arrow:
    return Arrow(one.sender, one.to, f"{type(one.message).__name__} ({seconds(one.at)})", one.arrives is None)


def _in_order(timeline: Timeline, since: Time, end: Time) -> list[tuple[Time, Sent | ObservedFact | str]]:
    """Events before what happens at the same time; messages and facts as the nodes sent and told them."""
    happenings = [happening for happening in timeline.causes.happenings if since <= happening.at <= end]
    found: list[tuple[Time, Sent | ObservedFact | str]] = [(happening.at, happening.text) for happening in happenings]
    for each in timeline.sent_and_told:
        if isinstance(each, Sent):
            if since <= each.at <= end:
                found.append((each.at, each))
        elif since <= each.now <= end and is_significant(each.fact):
            found.append((each.now, each))
    return sorted(found, key=lambda each: each[0])


def _quiet(between: list[Sent], since: Time, until: Time) -> str:
    counts = sorted(Counter(type(sent.message).__name__ for sent in between).items())
    return f"{seconds(until - since)} without changes: {', '.join(f'{count} {name}' for name, count in counts)}"


def sequence(timeline: Timeline, since: Time = 0.0, until: Time | None = None) -> str:
    """The diagram from ``since`` to ``until`` (milliseconds; default: all of the run). Ends with a newline.

    Raises `ValueError` where the simulation did not trace.
    """
    participants, steps = sequence_diagram(timeline, since, until)
    numbers = {name: f"n{number}" for number, name in enumerate(participants, 1)}
    everybody = ",".join(dict.fromkeys([*numbers.values()][:1] + [*numbers.values()][-1:]))
    lines = ["sequenceDiagram"]
    lines += (f"    participant {number} as {_text(name)}" for name, number in numbers.items())
    for step in steps if numbers else ():
        if isinstance(step, Arrow):
            arrow = "-x" if step.lost else "->>"
            lines.append(f"    {numbers[step.sender]}{arrow}{numbers[step.to]}: {_text(step.text)}")
        else:
            over = everybody if step.over is None else numbers[step.over]
            lines.append(f"    Note over {over}: {_text(step.text)}")
    return "".join(f"{line}\n" for line in lines)


def _text(text: str) -> str:
    """Text that Mermaid takes as it is: what it would read as its own language is written as an entity code."""
    codes = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "\n": " ", "\r": " ", "%": "#37;"}
    return "".join(codes.get(character, character) for character in text)
