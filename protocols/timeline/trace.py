"""Facts, queues and times as text for people, and every message with what caused it, kept only while a simulation
traces.

A reader wants to see who owns what, a rebalance, a callback, a refused commit, a remark; what only repeats what was
known is not significant. Of steps of a state machine between the same two states the first two are shown, the others
counted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from protocols import facts
from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import CALL, CONNECTED, TIMER
from protocols.java import Queue, sort_queues


class ObservedFact(NamedTuple):
    """``node`` observed ``fact`` (one of `protocols.facts`) at ``now``, in milliseconds. ``root``: the call that began
    the chain of causes; ``cause``: what was being handled (see `protocols.engine.simulation.Observer`)."""

    now: Time
    node: str
    fact: Any
    root: int
    cause: int


MOST_QUEUES = 12
"""Queues that one sentence names; beyond, it counts them per topic."""


def queue_name(queue: Queue) -> str:
    """``TopicX-0``, ``TopicX-broker-a-0``."""
    return f"{queue.topic}-{queue.broker}-{queue.number}" if queue.broker else f"{queue.topic}-{queue.number}"


def queue_names(queues: Iterable[Queue], unit: str = "queue") -> str:
    """The names, or how many of each topic; "nothing" for none. ``unit`` is the system's word for a queue."""
    listed = sort_queues(queues)
    if len(listed) <= MOST_QUEUES:
        return ", ".join(map(queue_name, listed)) or "nothing"
    counts: dict[str, int] = {}
    for queue in listed:
        counts[queue.topic] = counts.get(queue.topic, 0) + 1
    return ", ".join(f"{count} {unit}s of {topic}" for topic, count in counts.items())


def seconds(time: Time) -> str:
    """``12.345s``; without trailing zeros."""
    return f"{time / 1000:.3f}".rstrip("0").rstrip(".") + "s"


def describe_fact(fact: object) -> str:
    """One fact as a sentence without its time; `KeyError` for what is no fact."""
    return _WORDS[type(fact)](fact)


def generation_suffix(generation: int | None) -> str:
    """ " (generation 3)"; empty where there is none."""
    return "" if generation is None else f" (generation {generation})"


def _commit(fact: facts.Committed) -> str:
    who = fact.member or ("a client outside the group" if fact.error else "an administrator")
    text = f"{who} commits {queue_name(fact.queue)} at {fact.offset}{generation_suffix(fact.generation)}"
    return f"{text}, refused: {fact.error}" if fact.error else text


def _ended(fact: facts.RebalanceEnded) -> str:
    if fact.member is not None:
        return f"{fact.member} has rebalanced: {'its queues change' if fact.changed else 'no change'}"
    changed = "" if fact.changed else ", no member's queues change"
    return f"{fact.group}: rebalance complete{generation_suffix(fact.generation)}{changed}"


def _began(fact: facts.RebalanceBegan) -> str:
    who = fact.group if fact.member is None else fact.member
    return f"{who}: rebalance begins: {fact.trigger}"


def _records(fact: facts.Acquired | facts.Renewed | facts.Available | facts.Ended) -> str:
    last = fact.end - 1
    which = f"record {last}" if fact.first == last else f"records {fact.first} to {last}"
    return f"{which} of {queue_name(fact.queue)}"


def _acquired(fact: facts.Acquired) -> str:
    again = f" (attempt {fact.attempt})" if fact.attempt > 1 else ""
    return f"{fact.member} is given {_records(fact)}{again}, hidden until {seconds(fact.until)}"


def _ended_records(fact: facts.Ended) -> str:
    if fact.how == "acknowledged":
        return f"{fact.member} acknowledges {_records(fact)}"
    one = fact.end == fact.first + 1
    had = f", which {fact.member} had," if fact.member is not None and fact.how != "skipped" else ""
    fate = {"dead letter": "sent to the dead letters"}.get(
        fact.how, f"{fact.how}: nobody gets {'it' if one else 'them'}"
    )
    return f"{_records(fact)}{had} {'is' if one else 'are'} {fate}"


_WORDS: Mapping[type, Callable[[Any], str]] = {
    facts.Owns: lambda fact: f"{fact.member} owns {queue_names(fact.queues)}{generation_suffix(fact.generation)}",
    facts.Granted: lambda fact: (
        f"{fact.member} is assigned {queue_names(fact.queues)}{generation_suffix(fact.generation)}"
    ),
    facts.RebalanceBegan: _began,
    facts.RebalanceEnded: _ended,
    facts.Callback: lambda fact: f"{fact.member} callback: {fact.kind} {queue_names(fact.queues)}",
    facts.Committed: _commit,
    facts.Delivered: lambda fact: (
        f"{fact.member} has handled {queue_name(fact.queue)} {fact.first} to {fact.end - 1} since {seconds(fact.since)}"
    ),
    facts.Acquired: _acquired,
    facts.Renewed: lambda fact: f"{fact.member} keeps {_records(fact)} hidden until {seconds(fact.until)}",
    facts.Available: lambda fact: f"{_records(fact)}, given to {fact.member}, can be given out again: {fact.why}",
    facts.Ended: _ended_records,
    facts.PassedOver: lambda fact: (
        f"{fact.member} goes on behind record {fact.offset} of {queue_name(fact.queue)}: {fact.why}"
    ),
    facts.Position: lambda fact: f"{fact.member} reads {queue_name(fact.queue)} from {fact.offset} on ({fact.why})",
    facts.Transition: lambda fact: f"{fact.machine} {fact.of}: {fact.before} -> {fact.after} ({fact.event})",
    facts.Epoch: lambda fact: f"{fact.of}: {fact.name} {fact.value}",
    facts.StandsStill: lambda fact: (
        f"{fact.member} stands still on record {fact.offset} of {queue_name(fact.queue)}, which it cannot handle"
    ),
    facts.TimedOut: lambda fact: (
        f"{fact.member} {fact.then}, because {fact.why} than {fact.setting} ({seconds(fact.limit)})"
    ),
    facts.Noted: lambda fact: fact.text,
    facts.Stage: lambda fact: fact.what,
}


def is_significant(fact: object) -> bool:
    """Whether the fact (one of `protocols.facts`) is significant. A step of a state machine is not."""
    rule = _RULES.get(type(fact))
    return rule is not None and rule(fact)


_RULES: Mapping[type, Callable[[Any], bool]] = {
    facts.Owns: lambda fact: True,
    facts.Granted: lambda fact: True,
    facts.RebalanceBegan: lambda fact: True,
    facts.RebalanceEnded: lambda fact: fact.member is None or fact.changed,
    facts.Callback: lambda fact: True,
    facts.Committed: lambda fact: bool(fact.error),
    facts.Acquired: lambda fact: fact.attempt > 1,
    facts.Available: lambda fact: True,
    facts.Ended: lambda fact: fact.how != "acknowledged",
    facts.TimedOut: lambda fact: True,
    facts.PassedOver: lambda fact: True,
    facts.StandsStill: lambda fact: True,
    facts.Noted: lambda fact: True,
}


class RepeatedTransitions:
    """What a state machine did last, for each; to be asked of its steps in their order."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[facts.Transition | None, facts.Transition]] = {}
        self._counted: dict[tuple[str, str], tuple[int, Time]] = {}
        """Machine to how many of its steps were not shown since the last that was, and when it took the last one."""

    def is_repeat(self, now: Time, step: facts.Transition) -> bool:
        """Whether this is the step before the last one again, and so is counted only."""
        machine = step.machine, step.of
        before, last = self._last.get(machine, (None, None))
        self._last[machine] = last, step
        if step != before:
            return False
        self._counted[machine] = self._counted.get(machine, (0, now))[0] + 1, now
        return True

    def counted(self, step: facts.Transition) -> str | None:
        """The sentence about steps that were only counted, before another one is shown; None where none was."""
        count = self._counted.pop((step.machine, step.of), None)
        return None if count is None else _sentence(step.machine, step.of, *count)

    def rest(self) -> Iterator[str]:
        for machine, count in self._counted.items():
            yield _sentence(*machine, *count)


def _sentence(machine: str, of: str, count: int, last: Time) -> str:
    steps = "1 more step" if count == 1 else f"{count:,} more steps"
    return f"{machine} {of}: the same transitions again, {steps}, the last at {seconds(last)}"


class Sent(NamedTuple):
    """A message; ``arrives`` is None where it was lost. ``number`` is its delivery, ``cause`` what was being handled
    when it was sent (0: nothing), ``after_facts`` how many facts the nodes had told before."""

    at: Time
    arrives: Time | None
    sender: str
    to: str
    message: Message
    number: int
    cause: int
    after_facts: int


class HandledEvent(NamedTuple):
    """A handled event that is no message: ``kind`` is `TIMER` (``what`` is its name), `CONNECTED`, `CLOSED` (the peer)
    or `CALL` (its label)."""

    at: Time
    kind: int
    node: str
    what: object
    number: int
    cause: int


class Trace:
    """What was handled, by number."""

    def __init__(self) -> None:
        self._handled: dict[int, Sent | HandledEvent] = {}

    def add(self, one: Sent | HandledEvent) -> None:
        self._handled[one.number] = one

    def __getitem__(self, number: int) -> Sent | HandledEvent:
        return self._handled[number]

    def __contains__(self, number: int) -> bool:
        return number in self._handled

    @property
    def messages(self) -> list[Sent]:
        return [each for each in self._handled.values() if isinstance(each, Sent)]

    def back(self, number: int) -> Iterator[Sent | HandledEvent]:
        """What was handled under this number, what caused it, and so on, back to a call of the scenario.

        Stops before a timer of a kind that it has passed already: from there on it is the same again, and the clock is
        the cause.
        """
        passed: set[tuple[str, object]] = set()
        while number in self._handled:
            one = self._handled[number]
            if isinstance(one, HandledEvent) and one.kind == TIMER:
                if (one.node, one.what) in passed:
                    return
                passed.add((one.node, one.what))
            yield one
            number = one.cause


def describe_step(one: Sent | HandledEvent) -> str:
    """What happened at a step, without the time."""
    if isinstance(one, Sent):
        name = type(one.message).__name__
        return f"{one.sender} sends {name} to {one.to}" + (", which is lost" if one.arrives is None else "")
    if one.kind == TIMER:
        return f"{one.node}: timer {describe_timer(one.what)}"
    if one.kind == CALL:
        return str(one.what)
    return f"{one.node}: connection with {one.what} {'opens' if one.kind == CONNECTED else 'closes'}"


def describe_timer(name: object) -> str:
    """A timer's name as people read it."""
    if isinstance(name, Queue):
        return queue_name(name)
    return " ".join(map(describe_timer, name)) if isinstance(name, tuple) else str(name)
