"""What can never be, whatever a system does: a broken invariant is a mistake of the model, and raises at once.

A member's generation never goes back while it runs; a group's completed generations never do while the group lives; a
member only believes to own queues of topics that it has subscribed to.
"""

import re
from collections.abc import Callable, Mapping

from protocols.engine.nodes import Time
from protocols.facts import Owns, RebalanceEnded, Transition
from protocols.scenario.fields import MemberPart
from protocols.scenario.model import Scenario

MayOwn = Callable[[Time, str, str, str], bool]
"""Whether, at a time, a group's member may believe that it owns queues of a topic: it subscribes, or did. Who may at
one time may at all later ones."""


class InvariantError(AssertionError):
    """The model did what it never may."""


class Invariants:
    """Checked with each fact."""

    def __init__(self, may_own: MayOwn | None = None) -> None:
        self.may_own = may_own
        self._generations: dict[tuple[str, str], int] = {}
        self._completed: dict[str, int] = {}
        self._known: set[tuple[str, str, str]] = set()
        """Group, member and topic of which that was asked: who may own does so for ever."""

    def owns(self, now: Time, fact: Owns) -> None:
        """A member believes; `InvariantError` if it cannot."""
        key = fact.group, fact.member
        if fact.generation is None:
            if not fact.queues:
                # It has ended; when it starts again it begins anew.
                self._generations.pop(key, None)
        else:
            before = self._generations.get(key)
            if before is not None and fact.generation < before:
                raise InvariantError(
                    f"{now} ms: {fact.member} of {fact.group} goes back from generation {before} to {fact.generation}"
                )
            self._generations[key] = fact.generation
        if self.may_own is not None:
            for topic in {queue[0]: None for queue in fact.queues}:
                asked = fact.group, fact.member, topic
                if asked not in self._known:
                    if not self.may_own(now, *asked):
                        raise InvariantError(
                            f"{now} ms: {fact.member} of {fact.group} owns queues of {topic} and never subscribed to it"
                        )
                    self._known.add(asked)

    def ended(self, now: Time, fact: RebalanceEnded) -> None:
        """A generation is complete; `InvariantError` if a later one was already."""
        if fact.generation is None or fact.member is not None:
            return
        before = self._completed.get(fact.group, fact.generation)
        if fact.generation < before:
            raise InvariantError(f"{now} ms: {fact.group} goes back from generation {before} to {fact.generation}")
        self._completed[fact.group] = fact.generation

    def transition(self, now: Time, fact: Transition) -> None:
        """A group that is dead, of either of Kafka's protocols, begins anew if it ever comes back."""
        if fact.machine in ("group", "consumer group") and fact.after == "Dead":
            self._completed.pop(fact.of, None)


def may_own_in(scenario: Scenario) -> MayOwn:
    """Who may own what in a scenario. Topics with a ``%`` in front are the system's own: everybody may."""
    return _matcher(_subscriptions(scenario))


def reads_in(scenario: Scenario) -> Callable[[str, str], bool]:
    """Whether a group has anything to do with a topic: a member that subscribes to it at some time of the scenario."""
    subscribed: dict[str, list[tuple[str | None, tuple[str, ...]]]] = {}
    for (group, _), subscription in _subscriptions(scenario).items():
        subscribed.setdefault(group, []).extend((pattern, topics) for _, pattern, topics in subscription)

    def reads(group: str, topic: str) -> bool:
        return any(
            topic in topics or (pattern is not None and re.fullmatch(pattern, topic) is not None)
            for pattern, topics in subscribed.get(group, ())
        )

    return reads


def _subscriptions(scenario: Scenario) -> dict[tuple[str, str], list[tuple[Time, str | None, tuple[str, ...]]]]:
    """(Group, member) to what it subscribes to, from when on: a pattern or topics."""
    since: dict[tuple[str, str], list[tuple[Time, str | None, tuple[str, ...]]]] = {}
    parts: dict[tuple[str, str], MemberPart | None] = {}
    for group, part in scenario.groups.items():
        for name, member in part.members.items():
            since[group, name] = [(0.0, member.pattern, member.subscribe)]
            parts[group, name] = member
    groups = list(scenario.groups)

    def of(group: str | None, name: str) -> str:
        return group or next((each for each in groups if (each, name) in since), groups[0])

    for event in scenario.events:
        for name in event.members():
            key = (of(event.group, name), name)
            before = parts.get(key)
            after = parts[key] = event.part_after(name, before)
            if after is not None and after is not before:
                since.setdefault(key, []).append((event.at, after.pattern, after.subscribe))
    return since


def _matcher(since: Mapping[tuple[str, str], list[tuple[Time, str | None, tuple[str, ...]]]]) -> MayOwn:
    def may_own(now: Time, group: str, member: str, topic: str) -> bool:
        return topic.startswith("%") or any(
            topic in topics or (pattern is not None and re.fullmatch(pattern, topic) is not None)
            for at, pattern, topics in since.get((group, member), ())
            if at <= now
        )

    return may_own
