"""Random stories, for scopes that are too large to be searched whole: hypothesis draws walks through the world and
shrinks one that ends in a violation; then every step without which it does so, too, is left out.

Needs hypothesis (extra ``explore``). The same seed gives the same walks, whatever else is imported: every choice is
drawn bit by bit, because hypothesis takes numbers from modules that happen to be loaded.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from compare.exploring import properties
from compare.exploring.answers import Answers, wrong_with
from compare.exploring.properties import FAIR, Subject
from compare.exploring.settling import Fates
from protocols.engine.exploration import Action, State, World
from protocols.engine.exploration.states import FIRE
from protocols.engine.nodes import TimerName
from protocols.errors import UserError

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

Wrong: TypeAlias = Callable[[State], str | None]
"""What is wrong in a state, in words (empty: the state itself violates the property); None: nothing."""

STEPS = 60
"""Of a walk, where no depth is given."""


class _TimeIsUp(BaseException):
    """No more walks are drawn."""


class Chance(NamedTuple):
    """``examples``: how many walks are drawn for each property, at most. ``seed``: other seeds draw other walks.
    ``steps``: how long a walk is at most; ``seconds``: after so much wall time no more is drawn."""

    examples: int = 1000
    seed: int = 0
    steps: int = STEPS
    seconds: float | None = None


class Walk(NamedTuple):
    """Actions, with their choices, and what is wrong in the state that they lead to."""

    actions: tuple[Action, ...]
    why: str


def answered_by_chance(subject: Subject, asked: Sequence[str], chance: Chance) -> Answers:
    """Look for a violation of each property in random walks; nothing is proved (`Answers.complete` is False).

    The model's invariants are looked at in every state, whatever is asked. Raises `UserError` where hypothesis is
    missing.
    """
    began = monotonic()
    walking = _Walking(subject, chance)
    answers = Answers(tuple(asked), complete=False)
    for name in asked:
        walk = walking.find(name)
        if walk is None:
            continue
        broken = walking.breaks(walk)
        if broken and name != properties.NAME:
            answers.asked = tuple(dict.fromkeys((*answers.asked, properties.NAME)))
            answers.stories.setdefault(properties.NAME, (list(walk.actions), ""))
        else:
            answers.stories[name] = list(walk.actions), walk.why
    answers.states, answers.transitions = len(walking.states), walking.transitions
    answers.seconds = monotonic() - began
    return answers


class _Walking:
    """Walks through one world, and what they have come through."""

    def __init__(self, subject: Subject, chance: Chance) -> None:
        self.world, self._first = subject.settled.world, subject.settled.first
        self.states = {self._first}
        self.transitions = 0
        self._chance = chance
        self._names = subject.names
        self._fates = Fates(subject)
        self._until = None if chance.seconds is None else monotonic() + chance.seconds

    def find(self, name: str) -> Walk | None:
        """A short walk to a violation of the property, or of an invariant; None where no example comes to one."""
        try:
            import hypothesis
            from hypothesis import strategies as st
        except ImportError:
            raise UserError("--random needs hypothesis: pip install 'equipoise[explore]'") from None
        wrong = self._wrong(name)

        best: list[Walk] = []

        @st.composite
        def walks(draw: "DrawFn") -> Walk | None:
            if self._is_late():
                raise _TimeIsUp
            walk = self._walked(wrong, lambda count: _drawn(draw, st.booleans(), count))
            if walk is not None and (not best or len(walk.actions) <= len(best[0].actions)):
                best[:] = [walk]
            return walk

        settings = hypothesis.settings(
            max_examples=self._chance.examples,
            database=None,
            deadline=None,
            derandomize=False,
            phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
            suppress_health_check=list(hypothesis.HealthCheck),
            verbosity=hypothesis.Verbosity.quiet,
        )
        try:
            random = Random(self._chance.seed)
            found = hypothesis.find(walks(), lambda walk: walk is not None, settings=settings, random=random)
        except hypothesis.errors.NoSuchExample:
            return None
        except (_TimeIsUp, hypothesis.errors.Flaky):  # it wonders why nothing more is drawn
            if not self._is_late():
                raise
            found = best[0] if best else None
        return None if found is None else shortened(self.world, self._first, found, wrong)

    def _is_late(self) -> bool:
        return self._until is not None and monotonic() > self._until

    def breaks(self, walk: Walk) -> bool:
        """Whether a walk ends where an invariant of the model is broken."""
        state = self._first
        for action in walk.actions:
            state = self.world.step(state, action)
        return self._names.index(properties.NAME) in self.world.violated(state)

    def _wrong(self, name: str) -> Wrong:
        broken = self._names.index(properties.NAME)
        if name in FAIR:

            def wrong(state: State) -> str | None:
                if broken in self.world.violated(state):
                    return ""
                fate = self._fates.of(state)
                return None if fate is None else wrong_with(name, fate) or None

            return wrong
        places = {self._names.index(name), broken}
        return lambda state: None if places.isdisjoint(self.world.violated(state)) else ""

    def _walked(self, wrong: Wrong, choose: Callable[[int], int]) -> Walk | None:
        world, state = self.world, self._first
        taken: list[Action] = []
        why = wrong(state)
        while why is None:
            actions = world.actions(state)
            if not actions or len(taken) >= self._chance.steps:
                return None
            ways = list(world.successors(state, [actions[choose(len(actions))]]))
            action, state = ways[choose(len(ways))]
            taken.append(action)
            self.states.add(state)
            self.transitions += 1
            why = wrong(state)
        return Walk(tuple(taken), why)


def _drawn(draw: "DrawFn", bits: "SearchStrategy[bool]", count: int) -> int:
    """A number below ``count``, from as few bits as it has."""
    number = 0
    for _ in range((count - 1).bit_length()):
        number = 2 * number + draw(bits)
    return number % count


# Leaving steps out.


class _Named(NamedTuple):
    """An action, told so that it is the same after other steps: by the timer's name instead of its place."""

    action: Action
    timer: TimerName = None


def shortened(world: World, first: State, walk: Walk, wrong: Wrong) -> Walk:
    """The walk without any step that it does not need: what was only possible because of it goes with it."""
    named = _named(world, first, walk.actions)
    at = len(named) - 1
    while at >= 0:
        shorter = _again(world, first, [*named[:at], *named[at + 1 :]], wrong)
        if shorter is not None and len(shorter.actions) < len(named):
            walk, named = shorter, _named(world, first, shorter.actions)
            at = len(named)
        at -= 1
    return walk


def _named(world: World, first: State, actions: Iterable[Action]) -> list[_Named]:
    found, state = [], first
    for action in actions:
        timer = world.timers(state, action.of)[int(action.what)] if action.kind == FIRE else None
        found.append(_Named(action, timer))
        state = world.step(state, action)
    return found


def _again(world: World, first: State, named: Sequence[_Named], wrong: Wrong) -> Walk | None:
    """Walk through those of the steps that can be taken; None where nothing is wrong in any state on the way."""
    state, taken = first, []
    for each in named:
        step = _taken(world, state, each)
        if step is not None:
            state = step[1]
            taken.append(step[0])
            why = wrong(state)
            if why is not None:
                return Walk(tuple(taken), why)
    return None


def _taken(world: World, state: State, named: _Named) -> tuple[Action, State] | None:
    """The step in this state, and where it leads; None where it cannot be taken."""
    wanted, timer = named
    for action in world.actions(state):
        if action[:2] != wanted[:2]:
            continue
        what = action.what
        if action.kind == FIRE and world.timers(state, action.of)[int(what)] != timer:
            continue
        if action.kind != FIRE and what != wanted.what:
            continue
        ways = list(world.successors(state, [action]))
        return next((way for way in ways if way[0].choices == wanted.choices), None)
    return None
