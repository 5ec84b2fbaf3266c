"""From a subject and the properties asked for to answers: proofs by a reduced search, stories by one in full, each also
as one word to be told again anywhere (the variant, the property, the bounds and all actions).
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from types import MappingProxyType
from typing import Final, NamedTuple, TypedDict
from zlib import compress, crc32, decompressobj
from zlib import error as ZlibError  # noqa: N812 - a class

from compare.exploring import properties as invariants
from compare.exploring.given_out import EVERY_RECORD
from compare.exploring.properties import EVERY_QUEUE, FAIR, NAMES, SETTLES, Subject
from compare.exploring.search import Limits, Search
from compare.exploring.settling import Fate, fates
from compare.exploring.story import Step, steps_of, told
from protocols.engine.exploration import Action, Bounds
from protocols.engine.exploration.states import DELIVER, FIRE, HAPPEN
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.model import Scenario
from protocols.timeline.trace import queue_name

VERSION: Final = 1

MOST_FIRINGS: Final = 9
"""Of the timers of one client or server, in one story."""

_KINDS: Final = {DELIVER: "d", FIRE: "t", HAPPEN: "e"}
_OF_LETTER: Final = {letter: kind for kind, letter in _KINDS.items()}
_MOST_BYTES: Final = 1 << 24


class Token(NamedTuple):
    """``system``: the variant's label. ``fingerprint`` of the scenario, so that another one is noticed."""

    system: str
    property: str
    bounds: Bounds
    actions: tuple[Action, ...]
    fingerprint: int


def fingerprint(scenario: Scenario) -> int:
    """Equal for scenarios in which the same can happen."""
    told = scenario.model_dump(mode="json", exclude={"name", "about", "systems", "expect"}, fallback=str)
    return crc32(json.dumps(told, sort_keys=True).encode())


def written(token: Token) -> str:
    """The token as a word of letters, digits, hyphens and underscores."""
    actions = [[_KINDS[action.kind], action.of, action.what, *action.choices] for action in token.actions]
    fields = [VERSION, token.fingerprint, token.system, token.property, list(token.bounds), actions]
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return urlsafe_b64encode(compress(text.encode(), 9)).decode().rstrip("=")


def read_token(text: str) -> Token:
    """The token that was written so. Raises `UserError` for any other text."""
    try:
        return _token(json.loads(_unpacked(text.strip())))
    except UserError:
        raise  # of another version
    except (ZlibError, ValueError, RecursionError):  # what nests so deeply that reading it fails is none of ours
        raise UserError("--replay: expected a token that `equipoise explore` printed") from None


def _unpacked(text: str) -> bytes:
    """What is packed in a token. Raises `ValueError` where it is cut, or more than a story may take."""
    unpacking = decompressobj()
    content = unpacking.decompress(urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)), _MOST_BYTES)
    if not unpacking.eof:
        raise ValueError("cut, or longer than any story")
    return content


def _token(fields: object) -> Token:
    match fields:
        case [int(version), *_] if version != VERSION:
            raise UserError(f"--replay: a token of version {version}, expected one of version {VERSION}")
        case [_, int(mark), str(system), str(name), [int(client), int(server), bool(every)], [*actions]] if (
            name in (*NAMES, invariants.NAME) and 0 <= min(client, server) <= max(client, server) <= MOST_FIRINGS
        ):
            return Token(system, name, Bounds(client, server, every), tuple(map(_action, actions)), mark)
    raise ValueError("other fields than those of a token")


def _action(fields: object) -> Action:
    match fields:
        case [str(letter), str(of), str(what) | int(what), *choices] if letter in _OF_LETTER:
            kind = _OF_LETTER[letter]
            chosen = tuple([each for each in choices if isinstance(each, int) and each >= 0])
            is_one = isinstance(what, str) if kind == DELIVER else isinstance(what, int) and what >= 0
            if is_one and len(chosen) == len(choices):
                return Action(kind, of, what, chosen)
    raise ValueError("other fields than those of an action")


class LikelihoodDocument(TypedDict):
    """How many of so many simulated runs violate a property, with seeds from ``first_seed`` on; between which shares
    the true one lies with 95 % confidence."""

    random_runs: int
    violated: int
    share: float
    interval_95: list[float]
    first_seed: int


class CommitDocument(TypedDict):
    """The commit that ``member`` sends next of a ``queue`` that another believes in, too: ``server`` refuses it with
    ``error``, or takes it (null)."""

    member: str
    queue: str
    server: str
    error: str | None


class AnswerDocument(TypedDict):
    """``held``: no state that was seen violates it. ``steps`` of the story, and the token that tells it again."""

    name: str
    held: bool
    steps: int | None
    story: list[str]
    token: str | None


class PropertyDocument(AnswerDocument):
    """``likelihood``: null where no runs were asked for. ``fencing``: what becomes of the next commits of members that
    share a queue at the story's end, as far as they send any soon."""

    likelihood: LikelihoodDocument | None
    fencing: list[CommitDocument]


class ExploreDocument(TypedDict):
    """What `equipoise explore --format json` prints. ``complete``: no limit was hit; ``seconds`` of wall time."""

    states: int
    transitions: int
    complete: bool
    seconds: float
    properties: list[PropertyDocument]


@dataclass(slots=True)
class Answers:
    """``stories``: property to the actions that lead to its violation, and what is wrong then, in words."""

    asked: tuple[str, ...]
    states: int = 0
    transitions: int = 0
    complete: bool = True
    seconds: float = 0.0
    stories: dict[str, tuple[list[Action], str]] = field(default_factory=dict)


Progress = Callable[[int, int], None]
"""Hears of depth and states after each level."""


def answered(subject: Subject, asked: Sequence[str], limits: Limits, progress: Progress) -> Answers:
    """Search until each property is answered or a limit is hit."""
    began = monotonic()
    world, first = subject.settled.world, subject.settled.first
    answers = Answers(tuple(asked))
    wanted = [subject.names.index(name) for name in dict.fromkeys(asked) if name in subject.names]
    besides = [] if invariants.NAME in asked else [subject.names.index(invariants.NAME)]
    is_fair = any(name in FAIR for name in asked)
    # A reduced search comes to some states by longer ways only, which a limit on the depth would leave out.
    reduced = not is_fair and limits.depth is None
    search = Search(world, first, wanted, limits, besides=besides, reduced=reduced, on_level=progress)
    search.run(to_the_end=is_fair)
    answers.states, answers.transitions, answers.complete = search.visited.count, search.transitions, search.complete
    violations = search.violations
    if violations and reduced:
        shortest = Search(world, first, list(violations), limits, on_level=progress).run()
        violations = {**violations, **shortest.violations}
        answers.states = max(answers.states, shortest.visited.count)
        answers.transitions = max(answers.transitions, shortest.transitions)
    for at, actions in violations.items():
        answers.stories[subject.names[at]] = actions, ""
    if invariants.NAME in answers.stories and invariants.NAME not in answers.asked:
        answers.asked = (*answers.asked, invariants.NAME)
    if is_fair:
        _answer_fair(subject, asked, search, answers, None if limits.seconds is None else began + limits.seconds)
    answers.seconds = monotonic() - began
    return answers


def _answer_fair(subject: Subject, asked: Sequence[str], search: Search, found: Answers, until: float | None) -> None:
    left = [name for name in asked if name in FAIR]
    for fate in fates(subject, search.visited.rows[: search.visited.count]):
        for name in list(left):
            why = wrong_with(name, fate)
            if why:
                found.stories[name] = search.story(fate.place), why
                left.remove(name)
        if not left:
            return
        if until is not None and monotonic() > until:
            found.complete = False
            return


def wrong_with(name: str, fate: Fate) -> str:
    """How the fair run violates this property; empty: it does not."""
    if name == SETTLES:
        if not fate.settled:
            return "from here on the group never settles, though nothing is late and nothing happens"
        shared = [queue for _, queue in fate.shared]
        return f"from here on several members own {_listed(shared)} for good" if shared else ""
    if name == EVERY_QUEUE:
        return f"from here on nobody ever owns {_listed(queue for _, queue in fate.unowned)}" if fate.unowned else ""
    if name == EVERY_RECORD:
        listed = ", ".join(f"record {offset} of {queue_name(queue)}" for _, queue, offset in fate.open)
        return f"from here on {listed} never ends, neither acknowledged nor given up" if fate.open else ""
    if not fate.unfair:
        return ""
    return "from here on " + ", ".join(
        f"{each.member} owns {_listed(each.owned)} "
        + ("and is not in the group" if each.share is None else f"where the strategy gives it {_listed(each.share)}")
        for each in fate.unfair
    )


def _listed(queues: Iterable[Queue]) -> str:
    return ", ".join(map(queue_name, queues)) or "nothing"


def retold(subject: Subject, token: Token) -> Answers:
    """The story of a token again. Raises `UserError` where it cannot happen here."""
    began = monotonic()
    world, first = subject.settled.world, subject.settled.first
    try:
        steps = steps_of(world, first, token.actions)
    except (ValueError, KeyError, IndexError, TypeError):
        raise UserError(
            "--replay: the story cannot happen here, expected the scenario and the version of equipoise it was found in"
        ) from None
    answers = Answers((token.property,), states=len({first, *(step.state for step in steps)}), transitions=len(steps))
    last = steps[-1].state if steps else first
    if token.property in FAIR:
        import numpy as np

        for fate in fates(subject, np.array([last], np.int32)):
            why = wrong_with(token.property, fate)
            if why:
                answers.stories[token.property] = list(token.actions), why
    elif world.violated(last):
        answers.stories[token.property] = list(token.actions), ""
    answers.seconds = monotonic() - began
    return answers


def steps_in(subject: Subject, found: Answers, name: str) -> list[Step]:
    """The steps of a property's story."""
    return steps_of(subject.settled.world, subject.settled.first, found.stories[name][0])


def document(
    subject: Subject,
    found: Answers,
    likely: Mapping[str, LikelihoodDocument] = MappingProxyType({}),
    fencing: Mapping[str, list[CommitDocument]] = MappingProxyType({}),
) -> ExploreDocument:
    """The answers as a document, with what else is known of each property."""
    return {
        "states": found.states,
        "transitions": found.transitions,
        "complete": found.complete,
        "seconds": found.seconds,
        "properties": [
            {**_property(subject, found, name), "likelihood": likely.get(name), "fencing": fencing.get(name, [])}
            for name in found.asked
        ],
    }


def _property(subject: Subject, found: Answers, name: str) -> AnswerDocument:
    if name not in found.stories:
        return {"name": name, "held": True, "steps": None, "story": [], "token": None}
    actions, why = found.stories[name]
    world, first = subject.settled.world, subject.settled.first
    story = told(world, first, steps_of(world, first, actions))
    if why:
        story.append(why)
    variant = subject.variant
    token = Token(variant.label, name, world.bounds, tuple(actions), fingerprint(variant.scenario))
    return {"name": name, "held": False, "steps": len(actions), "story": story, "token": written(token)}
