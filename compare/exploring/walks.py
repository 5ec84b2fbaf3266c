"""Random stories, for scopes that are too large to be searched whole: hypothesis draws walks through the world and
shrinks one that ends in a violation; then every step without which it does so, too, is left out.

Needs hypothesis (extra ``explore``). The same seed gives the same walks, whatever else is imported: every choice is
drawn bit by bit, because hypothesis takes numbers from modules that happen to be loaded.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, NamedTuple, TypeAlias

from protocols.engine.exploration import Action, State, World
from protocols.engine.exploration.states import FIRE
from protocols.errors import UserError

Violates: TypeAlias = Callable[[State], bool]
"""Whether a state violates what is looked at."""

IsOver: TypeAlias = Callable[[], bool]


class Walk(NamedTuple):
    """Actions, with their choices, and the state that they lead to."""

    actions: tuple[Action, ...]
    state: State


class Seen:
    """What walks have come through: distinct states, and steps."""

    __slots__ = ("states", "transitions")

    def __init__(self) -> None:
        self.states: set[State] = set()
        self.transitions = 0


def find_walk(
    world: World,
    start: State,
    violates: Violates,
    *,
    steps: int,
    examples: int,
    seed: int,
    seen: Seen,
    is_over: IsOver = lambda: False,
) -> Walk | None:
    """A short walk of at most so many steps to a state that violates; None where none of so many examples comes to
    one, or `is_over` says that the time is up. Raises `UserError` where hypothesis is missing."""
    try:
        import hypothesis
        from hypothesis import strategies as st
    except ImportError:
        raise UserError("random stories need hypothesis: pip install 'equipoise[explore]'") from None

    @st.composite
    def walks(draw: Any) -> Walk | None:
        if is_over():
            return None
        return _walked(world, start, violates, steps, lambda count: _drawn(draw, st.booleans(), count), seen)

    settings = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    try:
        found = hypothesis.find(walks(), lambda walk: walk is not None, settings=settings, random=Random(seed))
    except hypothesis.errors.NoSuchExample:
        return None
    return None if found is None else shortened(world, start, found, violates)


def _drawn(draw: Any, bits: Any, count: int) -> int:
    """A number below ``count``, from as few bits as it has."""
    number = 0
    for _ in range((count - 1).bit_length()):
        number = 2 * number + draw(bits)
    return number % count


def _walked(
    world: World, start: State, violates: Violates, steps: int, choose: Callable[[int], int], seen: Seen
) -> Walk | None:
    state, taken = start, []
    while len(taken) < steps:
        actions = world.actions(state)
        if not actions:
            return None
        action = actions[choose(len(actions))]
        ways = list(world.successors(state, [action]))
        action, state = ways[choose(len(ways))]
        taken.append(action)
        seen.states.add(state)
        seen.transitions += 1
        if violates(state):
            return Walk(tuple(taken), state)
    return None


# Leaving steps out.


class _Named(NamedTuple):
    """An action, told so that it is the same after other steps: by the timer's name instead of its place."""

    action: Action
    timer: Any = None


def shortened(world: World, start: State, walk: Walk, violates: Violates) -> Walk:
    """The walk without any step that it does not need: what was only possible because of it goes with it."""
    named = _named(world, start, walk.actions)
    at = len(named) - 1
    while at >= 0:
        shorter = _again(world, start, [*named[:at], *named[at + 1 :]], violates)
        if shorter is not None and len(shorter.actions) < len(named):
            walk, named = shorter, _named(world, start, shorter.actions)
            at = len(named)
        at -= 1
    return walk


def _named(world: World, start: State, actions: Iterable[Action]) -> list[_Named]:
    found, state = [], start
    for action in actions:
        timer = world.timers(state, action.of)[int(action.what)] if action.kind == FIRE else None
        found.append(_Named(action, timer))
        state = world.step(state, action)
    return found


def _again(world: World, start: State, named: Sequence[_Named], violates: Violates) -> Walk | None:
    """Walk through those of the steps that can be taken; None where no state on the way violates."""
    state, taken = start, []
    for action, timer in named:
        for possible in world.actions(state):
            if (possible.kind, possible.of) != (action.kind, action.of):
                continue
            if action.kind == FIRE:
                if world.timers(state, action.of)[int(possible.what)] != timer:
                    continue
            elif possible.what != action.what:
                continue
            found = next((each for each in world.successors(state, [possible]) if each[0][3] == action.choices), None)
            if found is not None:
                taken.append(found[0])
                state = found[1]
                if violates(state):
                    return Walk(tuple(taken), state)
            break
    return None
