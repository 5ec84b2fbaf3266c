"""The steps of a run that led to something, message by message, for the player.

A step is what a node handled: a message, a timer, a connection that opens or closes, an event of the scenario. What it
told when it did so (who owns what, a state that changed, ...) are the step's effects. Steps without effects that led to
none are only counted. Texts and names are numbers in the tables beside the steps.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from compare.formatting import duration, visible
from protocols.engine.nodes import Time
from protocols.engine.simulation import CALL, CONNECTED, TIMER
from protocols.facts import Epoch, Owns, Transition
from protocols.timeline import Timeline
from protocols.timeline.causes import Effect
from protocols.timeline.trace import (
    HandledEvent,
    ObservedFact,
    Sent,
    Trace,
    describe_fact,
    describe_timer,
    is_significant,
)

MOST_STEPS = 1_200
"""Steps of a variant; of more, every event keeps its first ones."""

MOST_EFFECTS = 12
"""Effects that one step names."""

QUIET_TYPES = 4
"""Types of messages that the text about a quiet time names."""

EVENT, MESSAGE, TIME_UP, OPENS, CLOSES = range(5)

Step = Sent | HandledEvent


class _Table:
    """Texts to numbers, in the order in which they came."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.number.setdefault(text, len(self.number))

    @property
    def texts(self) -> list[str]:
        return [visible(text) for text in self.number]


def player(timeline: Timeline, system: str, starts: Sequence[Time]) -> dict[str, object]:
    """``steps``: [handled, sent, kind, from, to, text, step that caused it or -1, effects, what was passed over before
    or -1]. Effects are [node] whose process ended, [node, text], [group, machine, whose, name of an epoch, its number],
    or [node, machine, whose, before, event, after]. ``unseen``: step to the changes of states and epochs in steps
    before it that were left out. ``starts``: times of the events.
    """
    trace = timeline.trace or _events_only(timeline)
    facts = [told for told in timeline.facts if _is_effect(told)]
    shown = _shown(trace, facts, timeline)
    kept, dropped = _thinned(shown, starts)
    nodes, texts = _Table(), _Table()
    place = {step.number: at for at, step in enumerate(kept)}
    effects: dict[int, list[ObservedFact]] = {}
    for told in facts:
        effects.setdefault(told.cause, []).append(told)
    unseen: dict[int, list[list[int]]] = {}
    for step, at in _left_out(shown, place):
        changes = [told for told in effects.get(step.number, []) if isinstance(told.fact, _CHANGES)]
        if changes and at < len(kept):
            unseen.setdefault(at, []).extend(_effect(told, nodes, texts) for told in changes)
    quiet = _quiet(timeline, {step.number for step in shown}, kept)
    steps = []
    for at, step in enumerate(kept):
        sender, to, text, kind, sent = _said(step, timeline)
        steps.append(
            [
                _ms(_handled(step)),
                _ms(sent),
                kind,
                nodes(sender) if sender else -1,
                nodes(to) if to else -1,
                texts(text),
                _cause(step, trace, place),
                _effects(kind, _told(effects.get(step.number, [])), nodes, texts),
                texts(quiet[at]) if quiet[at] else -1,
            ]
        )
    return {
        "system": system.partition(":")[0],
        "nodes": nodes.texts,
        "texts": texts.texts,
        "steps": steps,
        "unseen": unseen,
        "dropped": dropped,
        "rebalances": [
            [
                _ms(rebalance.began),
                visible(rebalance.group),
                visible(rebalance.trigger),
                _ms(rebalance.cause.at),
                visible(rebalance.cause.text),
            ]
            for rebalance in timeline.rebalances
        ],
    }


def _is_effect(told: ObservedFact) -> bool:
    return isinstance(told.fact, _CHANGES) or is_significant(told.fact)


_CHANGES = (Transition, Epoch)
"""Facts from which follows how things stand after a step: none may be left out."""


def _events_only(timeline: Timeline) -> Trace:
    """A trace of the scenario's events alone, where no message was kept."""
    trace = Trace()
    for happening in timeline.causes.happenings:
        trace.add(HandledEvent(happening.at, CALL, "", happening.text, happening.root, 0))
    return trace


def _shown(trace: Trace, facts: Sequence[ObservedFact], timeline: Timeline) -> list[Step]:
    """The steps that had effects, all that led to them, the direct answers to those, and every event; in order."""
    steps: dict[int, Step] = {}
    for told in facts:
        for step in trace.back(told.cause if told.cause in trace else told.root):
            if step.number in steps:
                break
            steps[step.number] = step
    answers = [
        message for message in trace.messages if message.cause in steps and isinstance(steps[message.cause], Sent)
    ]
    steps.update((answer.number, answer) for answer in answers)
    for happening in timeline.causes.happenings:
        if happening.root in trace and happening.at <= timeline.end:
            steps[happening.root] = trace[happening.root]
    return sorted(steps.values(), key=lambda step: (_handled(step), step.number))


def _thinned(steps: Sequence[Step], starts: Sequence[Time]) -> tuple[list[Step], int]:
    """At most `MOST_STEPS`, the first ones after each event, and how many were left out."""
    if len(steps) <= MOST_STEPS:
        return list(steps), 0
    room = [0] * len(starts)
    places = [max(0, bisect_right(starts, _handled(step)) - 1) for step in steps]
    wanted = Counter(places)
    left = MOST_STEPS
    # What one event does not need, the others may have.
    for at, place in enumerate(sorted(range(len(starts)), key=lambda place: wanted[place])):
        room[place] = min(wanted[place], left // (len(starts) - at))
        left -= room[place]
    kept = []
    for step, place in zip(steps, places, strict=True):
        if room[place] > 0 or (isinstance(step, HandledEvent) and step.kind == CALL):
            room[place] -= 1
            kept.append(step)
    return kept, len(steps) - len(kept)


def _handled(step: Step) -> Time:
    return step.arrives if isinstance(step, Sent) and step.arrives is not None else step.at


def _said(step: Step, timeline: Timeline) -> tuple[str, str, str, int, Time]:
    if isinstance(step, Sent):
        lost = " (lost)" if step.arrives is None else ""
        return step.sender, step.to, type(step.message).__name__ + lost, MESSAGE, step.at
    if step.kind == CALL:
        return "", "", timeline.causes.of(Effect(step.at, step.number)).text, EVENT, step.at
    if step.kind == TIMER:
        return step.node, step.node, describe_timer(step.what), TIME_UP, step.at
    kind = OPENS if step.kind == CONNECTED else CLOSES
    return str(step.what), step.node, "connection opens" if kind == OPENS else "connection closes", kind, step.at


def _cause(step: Step, trace: Trace, place: Mapping[int, int]) -> int:
    """The step that led here; where it was left out, the nearest before it that was not."""
    number = step.cause
    while number in trace:
        if number in place:
            return place[number]
        number = trace[number].cause
    return -1


def _told(told: Sequence[ObservedFact]) -> list[ObservedFact]:
    """Changes of states and epochs, all of them, and the first of the others."""
    others = [each for each in told if not isinstance(each.fact, _CHANGES)]
    named = others[:MOST_EFFECTS]
    return [each for each in told if isinstance(each.fact, _CHANGES) or each in named]


def _left_out(shown: Sequence[Step], place: Mapping[int, int]) -> Iterator[tuple[Step, int]]:
    """The steps that were left out, each with the number of the next one that was not."""
    following = 0
    for step in shown:
        if step.number in place:
            following = place[step.number] + 1
        else:
            yield step, following


def _effects(kind: int, told: Sequence[ObservedFact], nodes: _Table, texts: _Table) -> list[list[int]]:
    """What is told by an event itself, that a member believes nothing from now on, is that its process was ended."""
    ended = dict.fromkeys(
        nodes(each.node) for each in told if kind == EVENT and isinstance(each.fact, Owns) and not each.fact.queues
    )
    return [*([node] for node in ended), *(_effect(each, nodes, texts) for each in told)]


def _effect(told: ObservedFact, nodes: _Table, texts: _Table) -> list[int]:
    fact = told.fact
    if isinstance(fact, Transition):
        return [nodes(told.node), *(texts(each) for each in fact)]
    if isinstance(fact, Epoch):
        return [*(texts(each) for each in (fact.group, fact.machine, fact.of, fact.name)), fact.value]
    return [nodes(told.node), texts(describe_fact(fact))]


def _quiet(timeline: Timeline, shown: set[int], kept: Sequence[Step]) -> list[str]:
    """Per step, what was passed over since the one before, in words; empty where nothing was."""
    if timeline.trace is None:
        return [""] * len(kept)
    times = [_handled(step) for step in kept]
    counts: list[Counter[str]] = [Counter() for _ in kept]
    for message in timeline.trace.messages:
        if message.number not in shown:
            at = bisect_right(times, _handled(message))
            if at < len(kept):
                counts[at][type(message.message).__name__] += 1
    found = []
    for at, counted in enumerate(counts):
        passed = times[at] - (times[at - 1] if at else 0.0)
        most = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        named = ", ".join(f"{count:,} {name}" for name, count in most[:QUIET_TYPES])
        rest = sum(count for _, count in most[QUIET_TYPES:])
        found.append(
            f"{duration(passed / 1000)} with {sum(counted.values()):,} more messages: {named}"
            + (f", {rest:,} others" if rest else "")
            if counted
            else ""
        )
    return found


def _ms(time: Time) -> float:
    return round(time, 1)
