"""From an observed group to the shared group model, so that strategies and the optimum can be asked about it.

RocketMQ's tools tell subscriptions. Kafka's do not; what is assumed there:

1. A topic of which nobody owns a queue is not read any more (its committed offsets outlive the subscription).
2. All members subscribe to all other topics, if that is plausible: the strategy that the tool names gives exactly
   today's ownership then; or, for strategies that look at the past (sticky ones, uniform) and unknown ones, the
   members' totals differ by at most one, as such a strategy would have made them.
   While a group rebalances nobody can expect that; all members are taken to subscribe to all topics.
3. Otherwise members subscribe to what they own, and to nothing else. That is the least that must be true: what
   follows from it (the optimum, what other strategies would do) is never better than what is really possible.

What of a group is told well enough to be counted: members with what they own, or single topics only.

A topic is told where every queue of it is accounted for: it belongs to a member of whom everything is told, or it is
known to be nobody's. Whoever is not told to own a queue of it owns none of it then, even if nothing else is known of
him. A group is told if all its topics are; where its sources leave topics out (`Partial.topics`), figures are those
over the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from compare.catalogues import CLASSIC, KEEPING, ROCKETMQ, SERVER
from compare.reading.observed import ObservedGroup, ObservedMember
from compare.reading.rocketmq.lines import is_retry
from kafka_coordinator import assign
from protocols import Allocation, Group, Member, Queue, UserError, sort_queues
from rocketmq_selfbalance import allocate

Basis = Literal["told", "recomputed", "assumed", "owned"]

KAFKA = (*CLASSIC, *SERVER)

REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Reconciling", "Assigning", "rebalancing")
"""Kafka's states of a group whose ownership is about to change; `is_on_the_move` knows what else shows that."""

STATELESS: Mapping[str, Callable[[Group], Allocation]] = {
    **{name: partial(assign, name) for name in KAFKA if name not in KEEPING},
    **{name: partial(allocate, name) for name in ROCKETMQ},
}
"""Strategies whose answer follows from members, subscriptions and queues alone."""


@dataclass(frozen=True, slots=True)
class Modelled:
    """A group with today's ownership, retry topics left out.

    ``basis`` says where the subscriptions come from: ``told`` by the tool; ``recomputed``, all alike and confirmed by
    the strategy; ``assumed`` to be all alike; or what each member has ``owned``.
    """

    group: Group
    today: Allocation
    strategy: str | None
    basis: Basis

    @property
    def alike(self) -> bool:
        """Whether all members subscribe to the same topics."""
        return len({frozenset(member.subscription) for member in self.group.members}) <= 1


ASSUMPTIONS: Mapping[Basis, str | None] = {
    "told": None,
    "recomputed": None,
    "assumed": "No source shows subscriptions, so optimum and what-if assume that all members read all topics.",
    "owned": "No source shows subscriptions, which must differ, so optimum and what-if assume that members read only"
    " the topics of their own queues.",
}
"""What must be said beside figures that rest on a `Basis`; None where nothing is assumed."""


def is_on_the_move(observed: ObservedGroup) -> bool:
    """Whether ownership is about to change: the state says so, or members have not reached their target assignment.

    What members own shows it without the state view, and against one that was taken at another time.
    """
    return observed.state in REBALANCING or bool(observed.moving)


def model_of(observed: ObservedGroup) -> Modelled | None:
    """The group as a model; None where queues are not shared, or not every member and what it owns is told.

    None as well for a group without members. Topics that the sources leave out (`ObservedGroup.partial`) are left out
    here, too; and where members are told to subscribe to different topics, but not of each one to which, there is no
    model, for whoever seems idle may be busy with others. Two RocketMQ processes under one client id are two members:
    the second one's id gets ``#2`` behind it, and both keep the client id.
    """
    members = observed.members
    if observed.mode != "shared" or not members or any(member.owned is None for member in members):
        return None
    if observed.subscriptions_differ and any(member.subscription is None for member in members):
        return None
    untold = frozenset(observed.partial.topics) if observed.partial is not None else frozenset[str]()
    owned = {id: [queue for queue in each if queue.topic not in untold] for id, each in _owned_by_id(members).items()}
    told = (queue for queue in _counted(observed.queues or ()) if queue.topic not in untold)
    queues = {*(queue for each in owned.values() for queue in each), *told}
    if untold and not queues:
        return None
    if observed.system == "rocketmq":
        return _of_rocketmq(observed, members, owned, queues)
    return _of_kafka(observed, members, owned, queues)


def _owned_by_id(members: Sequence[ObservedMember]) -> dict[str, list[Queue]]:
    """Ids made unique, in the order of the members, to what they own."""
    found: dict[str, list[Queue]] = {}
    for member in members:
        id, number = member.id, 1
        while id in found:
            number += 1
            id = f"{member.id}#{number}"
        found[id] = _counted(member.owned or ())
    return found


def _counted(queues: Sequence[Queue]) -> list[Queue]:
    return [queue for queue in queues if not is_retry(queue.topic)]


def _topics(queues: set[Queue]) -> dict[str, tuple[Queue, ...]]:
    topics: dict[str, list[Queue]] = {}
    for queue in sort_queues(queues):
        topics.setdefault(queue.topic, []).append(queue)
    return {topic: tuple(of_topic) for topic, of_topic in topics.items()}


def _of_rocketmq(
    observed: ObservedGroup, members: Sequence[ObservedMember], owned: Mapping[str, list[Queue]], queues: set[Queue]
) -> Modelled:
    topics = _topics(queues)
    told = all(member.subscription is not None for member in members)
    group = Group(
        tuple(
            Member(
                id,
                tuple(topics if member.subscription is None else filter(topics.__contains__, member.subscription)),
                client_id=member.id if id != member.id else None,
            )
            for id, member in zip(owned, members, strict=True)
        ),
        topics,
        name=observed.name,
    )
    return Modelled(group, Allocation(group, owned), observed.strategy, "told" if told else "assumed")


def _of_kafka(
    observed: ObservedGroup, members: Sequence[ObservedMember], owned: Mapping[str, list[Queue]], queues: set[Queue]
) -> Modelled:
    if all(member.subscription is not None for member in members):
        topics = _topics(queues)
        told = {id: member.subscription or () for id, member in zip(owned, members, strict=True)}
        return _kafka_model(observed, members, owned, topics, told, "told")
    read = {queue.topic for each in owned.values() for queue in each}
    topics = _topics({queue for queue in queues if queue.topic in read})
    alike = _kafka_model(observed, members, owned, topics, dict.fromkeys(owned, tuple(topics)), "assumed")
    if explained_by(alike, observed.strategy):
        return Modelled(alike.group, alike.today, alike.strategy, "recomputed")
    if is_on_the_move(observed):
        return alike
    loads = [len(each) for each in owned.values()]
    looks_at_the_past = observed.strategy not in STATELESS
    if looks_at_the_past and max(loads) - min(loads) <= 1 and not alike.today.unowned:
        return alike
    own = {id: tuple(dict.fromkeys(queue.topic for queue in sort_queues(each))) for id, each in owned.items()}
    return _kafka_model(observed, members, owned, topics, own, "owned")


def _kafka_model(
    observed: ObservedGroup,
    members: Sequence[ObservedMember],
    owned: Mapping[str, list[Queue]],
    topics: Mapping[str, tuple[Queue, ...]],
    subscriptions: Mapping[str, tuple[str, ...]],
    basis: Basis,
) -> Modelled:
    group = Group(
        tuple(
            Member(id, subscriptions[id], instance_id=member.instance_id)
            for id, member in zip(owned, members, strict=True)
        ),
        topics,
        name=observed.name,
    )
    return Modelled(group, Allocation(group, owned), observed.strategy, basis)


def explained_by(modelled: Modelled, strategy: str | None) -> bool:
    """Whether the strategy (one of `STATELESS`; for any other name False) gives exactly today's ownership."""
    recomputed = recompute(modelled.group, strategy)
    return recomputed is not None and recomputed == modelled.today


def recompute(group: Group, strategy: str | None) -> Allocation | None:
    """What one of the `STATELESS` strategies gives; None for others, and where the real one fails."""
    if strategy is None or strategy not in STATELESS:
        return None
    try:
        return STATELESS[strategy](group)
    except UserError:
        return None


@dataclass(frozen=True, slots=True)
class KnownOwnership:
    """``members``: how many there are, None where that is not told; the first ones are those of `owners`.

    ``owners``: to each queue of a topic that is told the positions of its owners among the members. ``whole``: these
    are all topics but those that `Partial.topics` names. ``every_queue``: all queues of these topics are known, so
    that those without owner are told.
    """

    members: int | None
    owners: Mapping[Queue, tuple[int, ...]]
    whole: bool
    every_queue: bool


def known_ownership(group: ObservedGroup) -> KnownOwnership | None:
    """None for a group whose queues are not shared, or of which no topic is told."""
    if group.mode != "shared":
        return None
    listed = group.members
    members = group.seen if listed is None else listed
    count = group.member_count if listed is None else len(listed)
    if not members and count != 0:
        return None
    untold = set() if group.partial is None else set(group.partial.topics)
    owners: dict[Queue, list[int]] = {queue: [] for queue in group.queues or () if queue.topic not in untold}
    for position, member in enumerate(members):
        for queue in member.owned or ():
            if queue.topic not in untold:
                owners.setdefault(queue, []).append(position)
    found = {queue: tuple(at) for queue, at in owners.items()}
    if untold and not any(not is_retry(queue.topic) for queue in owners):
        return None
    if listed is not None and all(member.owned is not None for member in listed):
        return KnownOwnership(count, found, True, group.queues is not None)
    open_topics = _open(group, members, found)
    told = {queue: at for queue, at in found.items() if queue.topic not in open_topics}
    if group.queues is None or group.members_disagree or not told:
        return None
    return KnownOwnership(count, told, not open_topics, True)


def unowned_queues(observed: ObservedGroup) -> tuple[Queue, ...]:
    """Queues that are known to have no owner; () where it is not told what every member owns, or nothing is shared.

    A young group leaves its retry topic to nobody for a moment: such queues are there only where a source says so.
    """
    if observed.unowned is not None:
        return observed.unowned
    members = observed.members
    if observed.mode != "shared" or members is None or any(member.owned is None for member in members):
        return ()
    owned = {queue for member in members for queue in member.owned or ()}
    return tuple(queue for queue in observed.queues or () if queue not in owned and not is_retry(queue.topic))


def missing_share(observed: ObservedGroup) -> float:
    """The part of the topics that members subscribe to which does not exist, 0 to 1."""
    missing = set(observed.missing_topics)
    topics = missing.union(queue.topic for queue in observed.queues or () if not is_retry(queue.topic))
    return len(missing) / len(topics) if missing else 0.0


def _open(group: ObservedGroup, members: Sequence[ObservedMember], owners: Mapping[Queue, tuple[int, ...]]) -> set[str]:
    """Topics of which a queue may have an owner, or another one, that is not told."""
    silent = set() if group.partial is None else set(group.partial.members)
    nobodys = set(group.unowned or ())
    if group.owners_seen:
        return set()
    return {
        queue.topic
        for queue, at in owners.items()
        if (not at and queue not in nobodys) or any(members[each].id in silent for each in at)
    }
