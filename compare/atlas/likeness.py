"""Which groups of the atlas are like a given one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product, starmap
from typing import Final

from compare.atlas.tables import Allocations, Size
from protocols import Group

NEAR: Final = 1.5
"""Groups are alike whose numbers of members, and of queues per topic, differ by this factor at most."""
NEAR_TOPICS: Final = 2.0
"""The same of the number of topics."""


@dataclass(frozen=True, slots=True)
class Alike:
    """The groups of the atlas that are like one: their places among `Allocations.sizes`, and between which sizes they
    lie."""

    shape: str
    places: tuple[int, ...]
    least: Size
    most: Size


def alike(group: Group, atlas: Allocations) -> Alike | None:
    """The groups of the atlas with a subscription shape as the group's and about as many members, topics and queues per
    topic (on average). None where the atlas has none."""
    read = {topic for member in group.members for topic in member.subscription if topic in group.topics}
    shape = shape_of(group)
    if not read or shape is None or shape not in atlas.shapes:
        return None
    queues = sum(len(group.topics[topic]) for topic in read) / len(read)
    members = near(len(group.members), atlas.members, NEAR)
    topics = near(len(read), atlas.topics, NEAR_TOPICS)
    per_topic = near(queues, atlas.queues, NEAR)
    if not (members and topics and per_topic):
        return None
    places = tuple(map(atlas.place_of, starmap(Size, product(members, topics, per_topic))))
    return Alike(shape, places, atlas.size_of(places[0]), atlas.size_of(places[-1]))


def everything(shape: str, atlas: Allocations) -> Alike:
    """All groups of the atlas with this subscription shape."""
    places = tuple(range(len(atlas.sizes)))
    return Alike(shape, places, atlas.size_of(places[0]), atlas.size_of(places[-1]))


def near(value: float, axis: Sequence[int], factor: float) -> list[int]:
    """The values of an ascending axis that differ from this one by the factor at most."""
    return [each for each in axis if value / factor <= each <= value * factor]


def shape_of(group: Group) -> str | None:
    """The subscription shape, in the words of a sweep: ``equal``, all members read the same topics; ``disjoint``, the
    group falls into parts that have no topic in common; ``nested``, of any two members one reads all that the other one
    does; ``skewed``, the same with only two different subscriptions. None for any other."""
    read = {each: frozenset(topic for topic in each.subscription if topic in group.topics) for each in group.members}
    different = {topics for topics in read.values() if topics}
    if len(different) <= 1:
        return "equal" if len(set(read.values())) == 1 and different else None
    if len(set(read.values())) > len(different):
        return None  # somebody reads nothing
    if _parts(different) > 1:
        return "disjoint"
    by_size = sorted(different, key=len)
    if all(small <= large for small, large in pairwise(by_size)):
        return "skewed" if len(different) == 2 else "nested"
    return None


def _parts(subscriptions: Iterable[frozenset[str]]) -> int:
    """Parts that have no topic in common."""
    parts: list[frozenset[str]] = []
    for each in subscriptions:
        met = [part for part in parts if part & each]
        parts = [*(part for part in parts if not part & each), each.union(*met)]
    return len(parts)


SHAPES_IN_WORDS: Final[Mapping[str, str]] = {
    "equal": "all members read every topic",
    "skewed": "all members read the first topic, every second one the others, too",
    "disjoint": "parts of the group have no topic in common",
    "nested": "each member reads the topics of the one before it, and maybe more",
}
