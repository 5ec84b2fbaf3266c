"""The client-side sticky and cooperative-sticky assignors (spec 5.5 to 5.8), and their way where subscriptions differ.

Both keep what members own as far as an even share allows. They differ in how claims reach them, which is settled
before (`inputs.Subscription`), and in that the cooperative one holds back what another member must give up first.

Where subscriptions differ (the "general" path, spec 5.7), a topic's subscribers decide who may own its partitions, so
the work goes topic by topic; from step 3 on members are numbers in the order of their ids.

In Kafka `StickyAssignor`, `CooperativeStickyAssignor` and `AbstractStickyAssignor.GeneralAssignmentBuilder`.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heapreplace
from itertools import chain, groupby
from operator import itemgetter

from kafka_coordinator.assignors.balancing import (
    Balancing,
    Loads,
    Run,
    Subscriptions,
    Topic,
    dealing_order,
    order_by_id,
)
from kafka_coordinator.assignors.claims import Claims, highest_generation
from kafka_coordinator.assignors.constrained import Placement, constrained
from kafka_coordinator.assignors.doubly_owned import DoublyOwnedBalancing, free_runs, kept_strays, taking_part
from kafka_coordinator.assignors.inputs import NO_GENERATION, Assignment, GroupMetadata


def deal(
    runs: Iterable[Run],
    loads: Loads,
    owned: list[list[int]],
    owner: list[int],
    beside: tuple[Sequence[str | None], Mapping[int, tuple[str, ...]]] | None = None,
) -> list[Run]:
    """Give every partition to the subscriber that is first in C-order; returns those that nobody may have.

    With ``beside`` (the rack per member; replica racks per partition) only members without a rack, or on one of
    the partition's, may have it. Updates ``loads``, ``owned`` and ``owner``.
    """
    key, mask, one = loads.key, loads.mask, loads.one
    left: list[Run] = []
    heaps: dict[tuple[str, ...] | None, list[int]] = {}
    subscribers: list[int] = []
    for topic, partitions in runs:
        if topic.subscribers is not subscribers:
            heaps.clear()
            subscribers = topic.subscribers
        parts: Iterable[tuple[tuple[str, ...] | None, Iterable[int]]] = [(None, partitions)]
        if beside is not None:
            parts = groupby(partitions, key=beside[1].__getitem__)
        for racks, part in parts:
            heap = heaps.get(racks)
            if heap is None:
                able = subscribers
                if racks is not None and beside is not None:
                    able = [member for member in able if beside[0][member] is None or beside[0][member] in racks]
                heap = heaps[racks] = list(map(key.__getitem__, able))
                heapify(heap)
            if not heap:
                left.append((topic, list(part)))
                continue
            for partition in part:
                entry = heap[0]
                member = entry & mask
                while key[member] != entry:
                    # Another topic's or rack's heap has loaded this member since.
                    heapreplace(heap, key[member])
                    entry = heap[0]
                    member = entry & mask
                entry += one
                heapreplace(heap, entry)
                key[member] = entry
                owned[member].append(partition)
                owner[partition] = member
    return left


_NOBODY = -1


def general(
    group: GroupMetadata,
    subscriptions: Subscriptions,
    by_id: Sequence[int],
    claims: Claims,
    placement: Placement | None,
    cooperative: bool,
) -> Assignment:
    """Keep what members own, give what nobody owns to the least loaded subscribers, then move until it is even.

    ``by_id``: positions of the members by id. Raises `AssignorError` with NullPointerException where the released
    assignor asks for the load of a former owner that takes no part in the balancing.
    """
    rank_of = [0] * len(by_id)
    for rank, position in enumerate(by_id):
        rank_of[position] = rank
    topics = dealing_order(subscriptions, rank_of)
    kept, revoking = _keep(group, subscriptions, claims, placement)
    owned = [kept[position] for position in by_id]
    owner = _owners(owned, sum(group.topics.values()) + len(claims.strays))
    strays = kept_strays(claims.strays, owned) if claims.strays else []
    loads = Loads(list(map(len, owned)))
    free = (
        free_runs(topics, strays, lambda topic: _unowned(topic, owner))
        if strays
        else [run for topic in topics if (run := _unowned(topic, owner))[1]]
    )
    initializing = not any(owned)
    racks = None
    if placement is not None:
        racks = [placement.rack_of[position] for position in by_id], placement.racks
    deal(free if racks is None else deal(free, loads, owned, owner, racks), loads, owned, owner)

    shared = [topic for topic in topics if len(topic.subscribers) > 1]
    most = _possible_loads(subscriptions, rank_of)
    balanced = taking_part(shared, strays, owned, most) if strays else _taking_part(shared, owner, loads, most)
    if loads.spread_of(balanced) > 1:
        before = loads.imbalance(balanced)
        former = {partition: rank_of[position] for partition, position in claims.former.items()}
        changing: Sequence[Iterable[int]]
        balancing: Balancing | DoublyOwnedBalancing
        if strays:
            changing = lists = list(map(list, owned))
            balancing = DoublyOwnedBalancing(shared, lists, owner, loads, most, former, balanced, by_id, racks)
        else:
            changing = sets = [dict.fromkeys(own) for own in owned]
            balancing = Balancing(shared, sets, owner, loads, most, former, balanced)
        if not revoking:
            balancing.balance([run for run in free if len(run[0].subscribers) > 1])
        moved = balancing.balance([(topic, topic.span) for topic in shared])
        # Step 7. No group without strays is known whose balance does not gain, but the released client asks.
        if initializing or not moved or loads.imbalance(balanced) < before:
            owned = list(map(list, changing))

    answer = Assignment([owned[rank] for rank in rank_of], strays=tuple(claims.strays))
    if cooperative:
        withhold(answer, claims.claimed)
    return answer


def _keep(
    group: GroupMetadata, subscriptions: Subscriptions, claims: Claims, placement: Placement | None
) -> tuple[list[list[int]], bool]:
    """Step 2: what each member, by position, keeps of its own, and whether anybody gives something up."""
    kept = list(map(list, claims.owned))
    for topics, positions in subscriptions.kinds.items():
        names = set(topics)
        for position in positions:
            # Most members claim nothing but what they subscribe to: seen by the names, without a look at numbers.
            if names.issuperset(map(itemgetter(0), group.members[position].claims)):
                continue
            allowed = set(chain.from_iterable(subscriptions.spans.get(topic, ()) for topic in topics))
            allowed.update(number for (topic, _), number in claims.strays.items() if topic in names)
            kept[position] = [partition for partition in kept[position] if partition in allowed]
    if placement is not None:
        for position, own in enumerate(kept):
            kept[position] = [partition for partition in own if not placement.mismatch(position, partition)]
    return kept, sum(map(len, kept)) < sum(map(len, claims.owned))


def _possible_loads(subscriptions: Subscriptions, rank_of: list[int]) -> list[int]:
    """How many partitions each member subscribes to, by rank."""
    most = [0] * len(rank_of)
    for names, positions in subscriptions.kinds.items():
        possible = sum(len(subscriptions.spans.get(topic, ())) for topic in names)
        for position in positions:
            most[rank_of[position]] = possible
    return most


def _owners(owned: list[list[int]], partitions: int) -> list[int]:
    owner = [_NOBODY] * partitions
    for member, own in enumerate(owned):
        for partition in own:
            owner[partition] = member
    return owner


def _unowned(topic: Topic, owner: list[int]) -> Run:
    nobody = owner[topic.span.start : topic.span.stop].count(_NOBODY)
    if nobody == len(topic.span):
        return topic, topic.span
    return topic, [partition for partition in topic.span if owner[partition] == _NOBODY] if nobody else ()


def _taking_part(shared: list[Topic], owner: list[int], loads: Loads, most: list[int]) -> list[int]:
    """Step 5: all members but those who own whatever they can, and nothing that another one could own."""
    full = {member for member, possible in enumerate(most) if loads.of(member) >= possible}
    if full:
        for topic in shared:
            full.difference_update(owner[topic.span.start : topic.span.stop])
    return [member for member in range(len(most)) if member not in full]


def withhold(answer: Assignment, claimed: list[list[int]]) -> None:
    """Hold back what a member gains while another one, who loses it, still has it.

    Of several who gain a partition only the last one waits for it, and if that one's list holds it twice, only once.
    """
    before, after = list(map(set, claimed)), list(map(set, answer.owned))
    lost = set().union(*(old - new for old, new in zip(before, after, strict=True)))
    if not lost:
        return
    for member, own in enumerate(answer.owned):
        gained = (after[member] - before[member]) & lost
        if gained:
            answer.withheld.update((partition, member) for partition in own if partition in gained)
    waiting: dict[int, set[int]] = {}
    for partition, member in answer.withheld.items():
        waiting.setdefault(member, set()).add(partition)
    for member, partitions in waiting.items():
        own = answer.owned[member]
        if len(own) == len(after[member]):
            answer.owned[member] = [partition for partition in own if partition not in partitions]
        else:
            for partition in partitions:
                own.remove(partition)


def sticky(group: GroupMetadata, max_generation: int = NO_GENERATION) -> Assignment:
    """The eager sticky assignor. ``max_generation``: the highest generation that this assignor object has seen.

    Raises `AssignorError` with NullPointerException where the released assignor fails (spec 5.7), and with
    IllegalStateException where claims on partitions that do not exist make it fail.
    """
    return _assigned(group, max_generation, cooperative=False)


def cooperative_sticky(group: GroupMetadata, max_generation: int = NO_GENERATION) -> Assignment:
    """The cooperative sticky assignor: as `sticky`, with `Assignment.withheld`."""
    return _assigned(group, max_generation, cooperative=True)


def _assigned(group: GroupMetadata, max_generation: int, *, cooperative: bool) -> Assignment:
    subscriptions = Subscriptions.of(group)
    spans = subscriptions.spans
    if not spans:
        return Assignment([[] for _ in group.members])
    claims = Claims.of(group, spans, highest_generation(group, max_generation))
    placement = Placement.of(group, spans)
    by_id = order_by_id(group.members)
    if subscriptions.are_equal:
        return constrained(spans, by_id, claims, placement, cooperative)
    return general(group, subscriptions, by_id, claims, placement, cooperative)
