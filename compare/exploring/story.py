"""A story that the explorer has found, step by step, in words."""

from collections.abc import Sequence
from typing import NamedTuple

from protocols.engine.exploration import Action, Happened, State, World
from protocols.engine.exploration.states import SENDINGS
from protocols.scenario.events import Event
from protocols.timeline.fact_descriptions import describe_fact
from protocols.timeline.significant_facts import is_significant
from protocols.timeline.trace import describe_timer


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
        if each.kind == "fact" and (is_significant(each.what) or _is_worth_telling(each.what))
    ]
    said += _sendings(step.happened)
    return "; ".join(said)


def _is_worth_telling(fact: object) -> bool:
    return type(fact).__name__ in ("Committed", "Position", "Delivered")


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
