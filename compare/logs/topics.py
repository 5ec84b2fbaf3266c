"""Why a member that is in the group joins again where topics or subscriptions changed: new partitions, a topic that
matches a pattern, or the application.
"""

import re
from collections.abc import Sequence

from compare.logs.broker_events import PartitionCreated
from compare.logs.client_events import DeniedTopic, Given, MetadataChanged, Subscribed
from compare.logs.events import Event
from compare.logs.identity import client_of
from compare.logs.model import Cause, Doubt, Ordered, Rebalance

DELETED = "topic_deleted"
_SEEN = "seen"
"""A topic of which the client saw no partitions has some now."""
_RIGHTS = "topic_rights_changed"
_AFTER_TOPIC_S = 330.0
"""Clients see a new topic or partition at the latest with the next refresh of metadata (metadata.max.age.ms)."""

_TOPIC = re.compile(r"([^\s={},]{1,249})=(\[[^\]]*\]|\d{1,9})[,}]")


class Topics:
    """The topics that a group's clients name; ``created``: partitions that brokers created."""

    def __init__(self, events: Sequence[Event], created: Ordered[PartitionCreated]) -> None:
        self._created = created
        self._denied = Ordered(event for event in events if isinstance(event, DeniedTopic))
        self._named: dict[str, float] = {}
        """When a client first names a topic."""
        for event in events:
            names = _topics_in(event.partitions) if isinstance(event, Given) else ()
            for name in event.topics if isinstance(event, Subscribed) else names:
                self._named.setdefault(name, event.at)

    def changed(self, each: Rebalance, before: Rebalance | None, line: MetadataChanged | None) -> Cause | Doubt:
        """The topics changed: new partitions, or a topic that matches a pattern."""
        if line is not None and (name := _change(line.change)):
            lines = (*each.events[:1], line)
            if name not in {DELETED, _SEEN}:
                return Cause(name, (), lines)
            # A client that cannot reach its brokers, or has no right to the topic, sees no partitions, either.
            topics = ("partitions_added", "topic_matched_pattern") if name == _SEEN else (DELETED,)
            others = (_RIGHTS, "coordinator_restart", "coordinator_moved")
            return Doubt((*topics, *others), (), lines, "the brokers' logs, and who changed rights")
        grown = self.created(each, before)
        lines = (*each.events[:1], *([line] if line else []), *grown[:3])
        if denied := self._denied.between(each.at - _AFTER_TOPIC_S, each.over):
            may = ("partitions_added", "topic_matched_pattern", DELETED, _RIGHTS)
            return Doubt(may, (), (*lines, denied[-1]), "the brokers' logs, and who changed rights")
        if line is not None and line.change in {event.topic for event in grown if event.number > 0}:
            return Cause("partitions_added", (), lines)
        if line is not None and any(event.number == 0 for event in grown):
            return Cause("topic_matched_pattern", (), lines)
        new = {event.topic for event in grown if event.number == 0}
        is_known = any(self._named.get(event.topic, event.at) < event.at for event in grown if event.topic not in new)
        if is_known or (line is not None and line.change in self._named):
            return Cause("partitions_added", (), lines)
        would = "the log of the member that led the group"
        return Doubt(("partitions_added", "topic_matched_pattern", DELETED), (), lines, would)

    def resubscribed(
        self, each: Rebalance, before: Rebalance | None, members: tuple[str, ...], own: Sequence[Event]
    ) -> Cause | Doubt:
        lines = (*each.events[:1], *own[:2])
        if any(isinstance(event, Subscribed) for event in own):
            return Cause("subscription_changed", members, lines)
        grown = self.created(each, before)
        if any(event.number == 0 for event in grown):
            return Cause("topic_matched_pattern", (), (*lines, *grown[:3]))
        who = f"the log of {client_of(members[0])}" if members else "the clients' logs"
        return Doubt(("subscription_changed", "topic_matched_pattern"), members, lines, who)

    def created(self, each: Rebalance, before: Rebalance | None) -> list[PartitionCreated]:
        since = max(before.over if before else float("-inf"), each.at - _AFTER_TOPIC_S)
        created = self._created.between(since, each.at + 0.5)
        return [event for event in created if not event.name.startswith("__")]


def _topics_in(partitions: str) -> set[str]:
    found = {name for name, _ in _TOPIC_PARTITION.findall(partitions)}
    return found | set(_PYTHON_PARTITION.findall(partitions))


_TOPIC_PARTITION = re.compile(r"([A-Za-z0-9._-]{1,249})-(\d{1,9})(?=[,\s\]]|$)")
_PYTHON_PARTITION = re.compile(r"topic='([^']{1,249})'")


def _change(text: str) -> str:
    """What two lists of topics with their partitions differ in, "" where that is not told."""
    before, _, after = text.partition(_TO if _TO in text else ") to (")
    old, new = ({name: _number(each) for name, each in _TOPIC.findall(part)} for part in (before, after))
    if not old or not new:
        return ""
    if any(new.get(name, 0) < number for name, number in old.items()):
        return DELETED
    if any(number == 0 and new.get(name, 0) for name, number in old.items()):
        return _SEEN
    return "topic_matched_pattern" if new.keys() - old.keys() else "partitions_added"


def _number(partitions: str) -> int:
    """How many partitions a topic has, of which older clients print the number, later ones a list."""
    return int(partitions) if partitions.isdecimal() else partitions.count(",") + (partitions != "[]")


_TO = "at the beginning of the rebalance to"
