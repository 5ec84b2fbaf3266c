"""Topics and their subscribers in the order in which the general sticky path deals them (spec 5.7, "P-order")."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kafka_coordinator.assignors.subscription_kinds import Subscriptions


@dataclass(frozen=True, slots=True)
class Topic:
    """``span``: its partition numbers; ``subscribers``: members in the order of their ids.

    Topics with the same subscribers share one list.
    """

    name: str
    span: range
    subscribers: list[int]


Run: TypeAlias = tuple[Topic, Sequence[int]]
"""A topic and some of its partitions, ascending."""


def dealing_order(subscriptions: Subscriptions, rank_of: Sequence[int]) -> list[Topic]:
    """Topics with the fewest subscribers first, then by name; ``rank_of``: a member's position to its number."""
    kinds_of: dict[str, list[int]] = {topic: [] for topic in subscriptions.spans}
    ranks: list[list[int]] = []
    for number, (topics, positions) in enumerate(subscriptions.kinds.items()):
        ranks.append([rank_of[position] for position in positions])
        for topic in topics:
            if topic in kinds_of:
                kinds_of[topic].append(number)
    found: dict[tuple[int, ...], list[int]] = {}
    topics_found: list[Topic] = []
    for name, span in subscriptions.spans.items():
        kinds = tuple(kinds_of[name])
        if kinds not in found:
            found[kinds] = sorted(rank for kind in kinds for rank in ranks[kind])
        topics_found.append(Topic(name, span, found[kinds]))
    return sorted(topics_found, key=lambda topic: len(topic.subscribers))
