"""A story that the explorer has found: step by step in words, and as a run, a timeline in which each step takes a tenth
of a second, for diagrams and the report's player.

The steps of a story have an order, but no times. A message is sent in one step and arrives in another, which caused
what follows from it there.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from compare.catalogues import UNCOUNTED
from compare.exploring.properties import Subject
from compare.running.run_variant import RunResult, ending
from compare.running.systems import system_of
from protocols.engine.exploration import Action, Happened, State, World
from protocols.engine.exploration.states import SENDINGS
from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import CALL, CLOCK, TIMER
from protocols.facts import Committed, Delivered, Granted, Owns, Position
from protocols.scenario.events import Event
from protocols.scenario.running import BEGINNING
from protocols.scenario.topology import ProcessPeers, Topology
from protocols.timeline import Recorder, may_own_in, reads_in
from protocols.timeline.trace import describe_fact, describe_timer, is_significant


class Step(NamedTuple):
    """An action, what happened, and the state that it led to."""

    action: Action
    happened: tuple[Happened, ...]
    state: State


def steps_of(world: World, first: State, actions: Sequence[Action]) -> list[Step]:
    """What happens when these actions are taken one after the other. Raises `ValueError` where one cannot happen."""
    steps: list[Step] = []
    state = first
    for action in actions:
        happened: list[Happened] = []
        state = world.step(state, action, happened)
        steps.append(Step(action, tuple(happened), state))
    return steps


def told(world: World, first: State, steps: Sequence[Step]) -> list[str]:
    """Each step as a sentence or two: what arrives, fires or happens, what follows, what is sent."""
    before = [first, *(step.state for step in steps)]
    return [_sentence(world, state, step) for state, step in zip(before, steps, strict=False)]


def _sentence(world: World, before: State, step: Step) -> str:
    said = [what_happens(world, before, step.action)]
    said += [
        f"{each.process} chooses {each.what[0]}: {each.what[1]}" for each in step.happened if each.kind == "choice"
    ]
    said += [
        describe_fact(each.what)
        for each in step.happened
        if each.kind == "fact"
        and (is_significant(each.what) or isinstance(each.what, Committed | Position | Delivered))
    ]
    said += _sendings(step.happened)
    return "; ".join(said)


def _sendings(happened: Sequence[Happened]) -> list[str]:
    by_sender: dict[str, list[str]] = {}
    for each in happened:
        if each.kind in SENDINGS:
            lost = " (lost)" if each.kind == "lost" else ""
            by_sender.setdefault(each.process, []).append(f"{type(each.what).__name__} to {each.peer}{lost}")
    return [f"{sender} sends {', '.join(sent)}" for sender, sent in by_sender.items()]


def what_happens(world: World, before: State, action: Action) -> str:
    """The action itself, in the state in which it is taken."""
    if action.kind == "deliver":
        what = world.in_flight(before, action.of, str(action.what))[0]
        if isinstance(what, str):
            return f"{action.what} notices that its connection with {action.of} {what}"
        return f"{action.what} receives {type(what).__name__} from {action.of}"
    if action.kind == "timer":
        return f"{action.of}: timer {describe_timer(world.timers(before, action.of)[int(action.what)])}"
    progress = world.progress.values[before[0]]
    if action.what == 0:
        event: Event = world.script.events[progress.events]
        return event.describe()
    return progress.later[int(action.what) - 1][2]


STEP: Final[Time] = 100.0
"""Milliseconds from one step to the next."""


class _Player:
    """Tells a recorder of the steps, as a simulation would."""

    def __init__(self, subject: Subject, steps: Sequence[Step], recorder: Recorder) -> None:
        self._world, self._first = subject.settled.world, subject.settled.first
        self._steps, self._recorder = steps, recorder
        self._number = 0
        self._on_the_way: dict[tuple[str, str], list[tuple[int, int]]] = {}
        """(sender, receiver) to number and root of each message on its way."""
        self._sent: list[list[object]] = []
        self._tellings: list[tuple[str, tuple[Any, ...]]] = []
        self.calls: dict[int, Event | None] = {}
        self.messages: dict[type[Message], int] = {}
        self._begin(subject)

    def _begin(self, subject: Subject) -> None:
        number = self._next()
        self.calls[number] = None
        self._tellings.append(("created", (number, 0.0, CALL, "", BEGINNING, 0)))
        last: dict[tuple[type, str, str], tuple[str, tuple[object, ...]]] = {}
        for node, fact in subject.settled.facts:
            if isinstance(fact, Owns | Granted):
                last[type(fact), fact.group, fact.member] = node, fact
        for node, fact in last.values():
            self._tellings.append(("fact", (0.0, node, fact, number, number)))

    def _next(self) -> int:
        self._number += 1
        return self._number

    def play(self) -> None:
        """All steps."""
        before = self._first
        for at, step in enumerate(self._steps, 1):
            now = at * STEP
            number, root = self._cause(now, before, step)
            for each in step.happened:
                if each.kind == "fact":
                    self._tellings.append(("fact", (now, each.process, each.what, root, number)))
                elif each.kind in SENDINGS:
                    self._send(now, each, number, root)
            self._drop_lost(step)
            before = step.state
        for what, given in self._tellings:
            getattr(self._recorder, what)(*(given if what != "sent" else tuple(self._sent[given[0]])))

    def _cause(self, now: Time, before: tuple[int, ...], step: Step) -> tuple[int, int]:
        """The number of what is handled in this step, and of what began it all."""
        action = step.action
        if action.kind == "deliver":
            arriving = self._world.in_flight(before, action.of, str(action.what))[0]
            waiting = self._on_the_way.get((action.of, str(action.what)))
            if waiting and not isinstance(arriving, str):
                number, root = waiting.pop(0)
                self._sent[self._place(number)][1] = now
                return number, root
            return self._next(), CLOCK
        number = self._next()
        if action.kind == "timer":
            timer = self._world.timers(before, action.of)[int(action.what)]
            self._tellings.append(("created", (number, now, TIMER, action.of, timer, 0)))
            return number, CLOCK
        progress = self._world.progress.values[before[0]]
        self.calls[number] = self._world.script.events[progress.events] if action.what == 0 else None
        if action.what == 0:
            self.calls[number] = self.calls[number].model_copy(update={"at": now})  # type: ignore[union-attr]
        label = what_happens(self._world, before, action)
        self._tellings.append(("created", (number, now, CALL, "", label, 0)))
        return number, number

    def _place(self, number: int) -> int:
        return next(at for at, each in enumerate(self._sent) if each[5] == number)

    def _send(self, now: Time, sending: Happened, cause: int, root: int) -> None:
        number = self._next()
        message = sending.what
        self.messages[type(message)] = self.messages.get(type(message), 0) + 1
        self._tellings.append(("sent", (len(self._sent),)))
        # What has not arrived at the end of the story is on its way: it arrives later than all.
        arrives = None if sending.kind == "lost" else (len(self._steps) + 1) * STEP
        self._sent.append([now, arrives, sending.process, sending.peer, message, number, cause])
        if sending.kind == "send":
            self._on_the_way.setdefault((sending.process, sending.peer), []).append((number, root))

    def _drop_lost(self, step: Step) -> None:
        """Messages that were lost with their connection do not arrive."""
        for pair, waiting in self._on_the_way.items():
            there = sum(not isinstance(each, str) for each in self._world.in_flight(step.state, *pair))
            while len(waiting) > there:
                number, _ = waiting.pop(0)
                self._sent[self._place(number)][1] = None


def as_run(subject: Subject, steps: Sequence[Step]) -> RunResult:
    """The story as a run of the variant, with its messages."""
    variant, lived = subject.variant, subject.lived
    numbering = system_of(variant.part.system).numbering
    recorder = Recorder(
        may_own=may_own_in(lived.model_copy(update={"events": tuple(_at_once(event) for event in lived.events)})),
        uncounted=UNCOUNTED,
        peers=ProcessPeers.of(Topology.of(lived)),
        reads=reads_in(lived),
    )
    player = _Player(subject, steps, recorder)
    player.play()
    end = (len(steps) + 1) * STEP
    happened = tuple(call for call in player.calls.values() if call is not None)
    told = lived.model_copy(
        update={"events": happened, "run": lived.run.model_copy(update={"for_": end}), "expect": None}
    )
    part = variant.part
    shown = type(variant)(told, part, variant.seed)
    timeline = recorder.timeline(end, player.calls, player.messages)
    return RunResult(shown, timeline, ending(told, numbering))


def _at_once(event: Event) -> Event:
    return event.model_copy(update={"at": 0.0})
