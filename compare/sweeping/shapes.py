"""Subscription shapes: which topics the members of a group read, as a rule of their numbers.

Members are numbered 0 to M - 1, topics 0 to T - 1. Whoever joins later subscribes as the last member does.
`compare.measure.spark.closed_form` states the same rules as columns; a test compares the two.
"""

from collections.abc import Callable, Mapping

Reads = Callable[[int, int, int, int], bool]
"""(member, topic, members, topics): whether the member reads the topic."""


def _equal(member: int, topic: int, members: int, topics: int) -> bool:
    return True


def _skewed(member: int, topic: int, members: int, topics: int) -> bool:
    return topic == 0 or member % 2 == 0


def _disjoint(member: int, topic: int, members: int, topics: int) -> bool:
    return member % topics == topic if members >= topics else topic % members == member


def _nested(member: int, topic: int, members: int, topics: int) -> bool:
    return member >= topic * members // topics


SHAPES: Mapping[str, Reads] = {"equal": _equal, "skewed": _skewed, "disjoint": _disjoint, "nested": _nested}
"""Shape to its rule. ``equal``: all read every topic. ``skewed``: all read the first topic, every second member the
others as well. ``disjoint``: the group falls into parts that have no topic in common. ``nested``: each member reads the
topics of the one before it, and maybe more; the last one reads all."""


def subscription(shape: str, member: int, members: int, topics: int) -> tuple[int, ...]:
    """The topics that a member reads, ascending; a ``member`` beyond the last one reads what the last one reads."""
    reads, like = SHAPES[shape], min(member, members - 1)
    return tuple(topic for topic in range(topics) if reads(like, topic, members, topics))
