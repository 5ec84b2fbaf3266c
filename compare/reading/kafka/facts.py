"""What the views of Kafka's tools tell, one record per table or line. `join` puts them together.

Sort facts by the group that they are about: what all sources together say about one group of one cluster.

Facts about one name belong together as `compare.reading.observed` has it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath
from typing import Literal, NamedTuple

from compare.reading.observed import ObservedMember, merge
from protocols import Queue

View = Literal["state", "list", "notice"]


class Client(NamedTuple):
    """Who stands behind a consumer id."""

    client_id: str | None
    host: str | None


@dataclass(frozen=True, slots=True)
class OffsetsTable:
    """Offsets view of one group: ``owned`` queues per CONSUMER-ID, and ``unowned`` ones that only have a commit.

    ``lag`` is None where there is no commit; ``complete`` is False if rows could not be read.
    """

    source: str
    group: str
    owned: Mapping[str, tuple[Queue, ...]]
    unowned: tuple[Queue, ...]
    lag: Mapping[Queue, int | None]
    clients: Mapping[str, Client]
    complete: bool


@dataclass(frozen=True, slots=True)
class MembersTable:
    """Members view of one group. ``assigned``: it is the verbose form, which tells what each member owns.

    ``targets`` are the queues of all target assignments; ``consumer_protocol`` is None where the table does not tell.
    ``moving``: ids of members that have not reached their target assignment, None where the table does not tell;
    ``classic``: ids of those that are told not to be upgraded to the consumer protocol, ``upgraded`` of those that are.
    """

    source: str
    group: str
    members: tuple[ObservedMember, ...]
    assigned: bool
    targets: tuple[Queue, ...]
    consumer_protocol: bool | None
    complete: bool
    moving: tuple[str, ...] | None = None
    classic: tuple[str, ...] = ()
    upgraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupState:
    """What the state view, a listing or a notice says of a group; None where it does not say.

    ``only_offsets``: no protocol is told of it, so that it only stores offsets for consumers that call assign().
    """

    source: str
    group: str
    view: View
    state: str | None = None
    strategy: str | None = None
    members: int | None = None
    consumer_protocol: bool | None = None
    only_offsets: bool | None = None


@dataclass(frozen=True, slots=True)
class OtherGroup:
    """A group whose id is none of a consumer group's: a share or streams group, or one of other software."""

    source: str
    group: str


@dataclass(frozen=True, slots=True)
class TopicQueues:
    """A topic with its partition numbers. ``compacted``: whether its settings say that it is."""

    source: str
    topic: str
    numbers: tuple[int, ...]
    compacted: bool = False


Fact = OffsetsTable | MembersTable | GroupState | OtherGroup | TopicQueues


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
