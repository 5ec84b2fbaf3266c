"""Every message and what caused it, kept only while a simulation traces."""

from collections.abc import Iterator
from typing import NamedTuple

from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import CALL, CONNECTED, TIMER
from protocols.java import Queue
from protocols.timeline.fact_descriptions import queue_name


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

    __slots__ = ("_handled",)

    def __init__(self) -> None:
        self._handled: dict[int, Sent | HandledEvent] = {}

    def add(self, one: Sent | HandledEvent) -> None:
        """One more; numbers rise."""
        self._handled[one.number] = one

    def __getitem__(self, number: int) -> Sent | HandledEvent:
        return self._handled[number]

    def __contains__(self, number: int) -> bool:
        return number in self._handled

    @property
    def messages(self) -> list[Sent]:
        """All messages, in the order of their sending."""
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
