"""From what the views tell to groups."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from compare.catalogues import SERVER_NAMES
from compare.reading.kafka.facts import (
    BrokerSettings,
    Fact,
    GroupState,
    MembersTable,
    OffsetsTable,
    OtherGroup,
    ShareGroup,
    TopicQueues,
    View,
)
from compare.reading.kafka.ownership import are_owners_seen, best, find_ownership, find_queues, what_is_missing
from compare.reading.kafka.rows import speaks_consumer_protocol
from compare.reading.kafka.share import observed_share
from compare.reading.observed import FactGroup, ObservedGroup, ObservedMember, fact_groups, folder_of

_SERVER_STRATEGIES = {told: name for name, told in SERVER_NAMES.items()}
_GONE = ("Empty", "Dead")
_VIEWS: tuple[View, ...] = ("state", "list", "notice")

_OfGroup = OffsetsTable | MembersTable | GroupState | ShareGroup | OtherGroup

Kind = TypeVar("Kind")


def join(facts: Iterable[Fact]) -> list[ObservedGroup]:
    """The groups that the facts of all sources tell of, by first mention; streams groups are left out."""
    topics: dict[str, dict[str, TopicQueues]] = {}
    brokers: dict[str, dict[str, Mapping[str, str]]] = {}
    about: list[tuple[str, str, _OfGroup]] = []
    for fact in facts:
        if isinstance(fact, TopicQueues):
            topics.setdefault(folder_of(fact.source), {})[fact.topic] = fact
        elif isinstance(fact, BrokerSettings):
            brokers.setdefault(folder_of(fact.source), {})[fact.broker] = fact.settings
        else:
            about.append((fact.group, fact.source, fact))
    groups = (
        _observed(fact_group, _near(fact_group, topics), _near(fact_group, brokers))
        for fact_group in fact_groups(about, _ids)
    )
    return [group for group in groups if group is not None]


def _ids(fact: _OfGroup) -> Iterator[str]:
    if isinstance(fact, MembersTable | ShareGroup):
        yield from (member.id for member in fact.members or ())
    elif isinstance(fact, OffsetsTable):
        yield from fact.owned


def _near(fact_group: FactGroup[_OfGroup], by_place: Mapping[str, Mapping[str, Kind]]) -> dict[str, Kind]:
    """Topics or brokers of the group's own cluster, if told; those of another folder may be of another cluster."""
    near = [by_place[place] for place in fact_group.places if place in by_place]
    return {name: fact for of_place in near or by_place.values() for name, fact in of_place.items()}


def _observed(
    fact_group: FactGroup[_OfGroup], topics: Mapping[str, TopicQueues], brokers: Mapping[str, Mapping[str, str]]
) -> ObservedGroup | None:
    offsets = _of(fact_group, OffsetsTable)
    members = _of(fact_group, MembersTable)
    if share := _of(fact_group, ShareGroup):
        return observed_share(fact_group.group, share, topics)
    states = _of(fact_group, GroupState)
    if _of(fact_group, OtherGroup) and not offsets and not members:
        return None
    state = _state(states)
    counted = [group_state for group_state in states if group_state.members is not None]
    count = counted[-1].members if counted else None
    only_offsets = _only_offsets(states)
    ownership = find_ownership(members, offsets, count, empty=state in _GONE or count == 0 or only_offsets)
    shown = best(offsets)
    consumer_protocol = _consumer_protocol(states, members, ownership.members)
    verbose = best([member for member in members if member.assigned])
    targets = verbose.targets if verbose is not None and verbose.complete and verbose.consumer_protocol else None
    queues = find_queues(ownership.members, targets, shown, state, topics)
    read = {queue.topic for queue in queues.queues or ()}
    return ObservedGroup(
        system="kafka",
        name=fact_group.group,
        mode="shared",
        state=state,
        strategy=_strategy(states, consumer_protocol),
        members=ownership.members if ownership.complete else None,
        queues=queues.queues,
        lag=queues.lag,
        sources=tuple(dict.fromkeys(fact.source for fact in fact_group.facts)),
        notes=tuple(dict.fromkeys((*ownership.notes, *queues.notes, *_of_racks(states)))),
        seen=() if ownership.complete else ownership.members,
        member_count=None if ownership.complete else count,
        idle_count=None if ownership.complete else ownership.idle_count,
        owners_seen=not ownership.complete and are_owners_seen(ownership, shown),
        partial=what_is_missing(ownership, members, shown),
        consumer_protocol=consumer_protocol,
        compacted=tuple(sorted(topic for topic in read if topic in topics and topics[topic].compacted)),
        only_offsets=only_offsets and not ownership.members,
        moving=None if verbose is None or verbose.moving is None else tuple(sorted(verbose.moving)),
        instances_told=bool(members),
        classic_members=_classic_members(ownership.members, verbose) if consumer_protocol else (),
        ends=queues.ends,
        endless=() if shown is None else tuple(queue for queue in shown.endless if queue in queues.lag),
        coordinator=_last(told.coordinator for told in states),
        epoch=_last(told.epoch for told in states),
        generation=_last(told.generation for told in states),
        broker_settings=brokers,
    )


def _of(fact_group: FactGroup[_OfGroup], kind: type[Kind]) -> list[Kind]:
    return [fact for fact in fact_group.facts if isinstance(fact, kind)]


def _last(told: Iterable[Kind | None]) -> Kind | None:
    """The last that is told."""
    return next((each for each in reversed([*told]) if each is not None), None)


def _state(states: Sequence[GroupState]) -> str | None:
    """The last state told, by the view that knows best."""
    for view in _VIEWS:
        told = [state.state for state in states if state.view == view and state.state is not None]
        if told:
            return told[-1]
    return None


def _of_racks(states: Sequence[GroupState]) -> Iterator[str]:
    """Where members have racks, that nothing here rests on them: which rack a broker is in is not read."""
    for racks in filter(None, (told.racks for told in states)):
        listed = ", ".join(racks)
        yield f"members tell racks (client.rack: {listed}); brokers' racks are not read, so what-if leaves racks out"


def _strategy(states: Sequence[GroupState], consumer_protocol: bool | None) -> str | None:
    shown = [state.strategy for state in states if state.view == "state"]
    if not shown or shown[-1] is None:
        return None
    # Both protocols have a strategy of this name; they give different answers.
    return _SERVER_STRATEGIES.get(shown[-1], shown[-1]) if consumer_protocol else shown[-1]


def _consumer_protocol(
    states: Sequence[GroupState], tables: Sequence[MembersTable], members: Sequence[ObservedMember]
) -> bool | None:
    """Whether the group is one of the consumer protocol (KIP-848), None where nothing tells."""
    answers = [*(state.consumer_protocol for state in states), *(table.consumer_protocol for table in tables)]
    told = [answer for answer in answers if answer is not None]
    if not told:
        told = [each for member in members if (each := speaks_consumer_protocol(member.id)) is not None]
    return any(told) if told else None


def _only_offsets(states: Sequence[GroupState]) -> bool:
    """What the last source that tells it says."""
    told = [state.only_offsets for state in states if state.only_offsets is not None]
    return bool(told) and told[-1]


def _classic_members(members: Sequence[ObservedMember], verbose: MembersTable | None) -> tuple[str, ...]:
    """Members of a consumer-protocol group that speak the classic protocol: the verbose members view tells them while
    there are some of both, else the form of their ids does."""
    told = {} if verbose is None else {**dict.fromkeys(verbose.classic, True), **dict.fromkeys(verbose.upgraded, False)}
    ids = (member.id for member in members)
    return tuple(sorted(id for id in ids if told.get(id, speaks_consumer_protocol(id) is False)))
