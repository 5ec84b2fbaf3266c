"""Sort facts by the group that they are about: what all sources together say about one group of one cluster.

Facts about one name belong together as `compare.reading.merging` has it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath

from compare.reading.kafka.facts import Fact, MembersTable, OffsetsTable, TopicQueues
from compare.reading.merging import merge


@dataclass(slots=True)
class FactGroup:
    """The facts about one group in the order of their sources, and the partition numbers of the cluster's topics.

    ``compacted``: topics of the cluster that are told to be compacted.
    """

    group: str
    facts: list[Fact]
    places: list[str]
    ids: set[str]
    topics: dict[str, tuple[int, ...]] = field(default_factory=dict)
    compacted: frozenset[str] = frozenset()


def fact_groups(facts: Iterable[Fact]) -> list[FactGroup]:
    """The groups of facts, by first mention."""
    by_name: dict[str, dict[str, list[Fact]]] = {}
    topics: dict[str, dict[str, TopicQueues]] = {}
    for fact in facts:
        place = _place(fact.source)
        if isinstance(fact, TopicQueues):
            topics.setdefault(place, {})[fact.topic] = fact
        else:
            by_name.setdefault(fact.group, {}).setdefault(place, []).append(fact)
    anywhere = {topic: fact for of_place in topics.values() for topic, fact in of_place.items()}
    found: list[FactGroup] = []
    for group, by_place in by_name.items():
        of_group: list[FactGroup] = []
        for place, of_place in by_place.items():
            merge(of_group, FactGroup(group, of_place, [place], set(_ids(of_place))))
        for fact_group in of_group:
            near = [topics[place] for place in fact_group.places if place in topics]
            # The topics of the group's own cluster, if told; another folder's may be of another cluster.
            told = {topic: fact for each in near for topic, fact in each.items()} if near else anywhere
            fact_group.topics = {topic: fact.numbers for topic, fact in told.items()}
            fact_group.compacted = frozenset(topic for topic, fact in told.items() if fact.compacted)
        found += of_group
    return found


def _ids(facts: Iterable[Fact]) -> Iterator[str]:
    for fact in facts:
        if isinstance(fact, MembersTable):
            yield from (member.id for member in fact.members)
        elif isinstance(fact, OffsetsTable):
            yield from fact.owned


@lru_cache(maxsize=1024)
def _place(source: str) -> str:
    return str(PurePath(source).parent)
