"""What never may be, whatever the system does: an invariant that is broken in a state that the explorer comes to is a
mistake of the model (`protocols.timeline.invariants`)."""

from collections.abc import Hashable, Sequence
from typing import Final

from protocols.engine.exploration import BrokenInvariant
from protocols.facts import Owns, RebalanceEnded, Transition

NAME: Final = "model-invariants"

Generations = tuple[tuple[tuple[str, str], int], ...]
Remembered = tuple[str, Generations]
"""What is broken, or nothing; and of each member (group, member) and each group (group, "") its last generation."""


class NothingRaises:
    """Nodes raise in no step: watched in every search. A `protocols.engine.exploration.Watch`."""

    name: Final = NAME
    nothing: Hashable = ""

    def remember(self, before: str, fact: tuple[object, ...]) -> str:
        """See `Watch`."""
        return before or fact.why if isinstance(fact, BrokenInvariant) else before

    def is_violated(self, remembered: Sequence[str]) -> bool:
        """See `Watch`."""
        return any(remembered)


class ModelInvariants:
    """Nodes raise in no step, a member's generation never goes back while it runs, a group's completed generations
    never do while the group lives. A `protocols.engine.exploration.Watch`."""

    name: Final = NAME
    nothing: Hashable = ("", ())

    def remember(self, before: Remembered, fact: tuple[object, ...]) -> Remembered:
        """See `Watch`."""
        why, generations = before
        if isinstance(fact, BrokenInvariant):
            return why or fact.why, generations
        if isinstance(fact, Owns):
            if fact.generation is None:
                return (why, _without(generations, (fact.group, fact.member))) if not fact.queues else before
            return _gone_on(before, (fact.group, fact.member), fact.generation)
        if isinstance(fact, RebalanceEnded) and fact.generation is not None and fact.member is None:
            return _gone_on(before, (fact.group, ""), fact.generation)
        if isinstance(fact, Transition) and fact.machine in ("group", "consumer group") and fact.after == "Dead":
            return why, _without(generations, (fact.of, ""))
        return before

    def is_violated(self, remembered: Sequence[Remembered]) -> bool:
        """See `Watch`."""
        return any(why for why, _ in remembered)


def _without(generations: Generations, whose: tuple[str, str]) -> Generations:
    return tuple([each for each in generations if each[0] != whose])


def _gone_on(before: Remembered, whose: tuple[str, str], generation: int) -> Remembered:
    why, generations = before
    was = dict(generations).get(whose, generation)
    if generation < was:
        why = why or f"{' '.join(filter(None, whose))} goes back from generation {was} to {generation}"
    return why, tuple(sorted((*_without(generations, whose), (whose, generation))))
