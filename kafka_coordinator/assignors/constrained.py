"""The sticky assignors where all subscriptions are equal: the client's "constrained" path (spec 5.6).

In Kafka `AbstractStickyAssignor.ConstrainedAssignmentBuilder`.
"""

from collections.abc import Sequence
from itertools import chain

from kafka_coordinator.assignors.claims import Claims
from kafka_coordinator.assignors.inputs import Assignment, Partition
from kafka_coordinator.assignors.placement import Placement
from kafka_coordinator.assignors.rack_round import give_beside_replicas
from kafka_coordinator.assignors.shares import Shares


def constrained(
    spans: dict[str, range], by_id: Sequence[int], claims: Claims, placement: Placement | None, cooperative: bool
) -> Assignment:
    """Everybody keeps what fits into an even share; what is left goes round to those below it.

    ``spans``: topics by name to their partition numbers; ``by_id``: positions of the members by id. Raises
    `AssignorError` with IllegalStateException where the released assignor fails, which kept partitions that do not
    exist may bring about.
    """
    least, seats = divmod(sum(map(len, spans.values())), len(by_id))
    shares = Shares(least, seats, [[] for _ in by_id])
    revoked = _keep(shares, spans, claims, placement)
    kept_sizes = list(map(len, shares.owned))
    left = _left_over(spans, shares.owned, claims.strays)
    rank_of = {member: rank for rank, member in enumerate(by_id)}
    shares.below.sort(key=rank_of.__getitem__)
    shares.even.sort(key=rank_of.__getitem__)
    if placement is not None:
        left = give_beside_replicas(shares, left, placement)
    shares.deal(left)
    answer = Assignment(shares.owned, strays=tuple(claims.strays))
    if cooperative and (revoked or claims.doubly_claimed):
        _withhold(answer, kept_sizes, revoked, claims.doubly_claimed)
    return answer


def _keep(shares: Shares, spans: dict[str, range], claims: Claims, placement: Placement | None) -> dict[int, int]:
    """Step A: what members keep of their own. Returns what they give up: partition to position."""
    revoked: dict[int, int] = {}
    by_number = _by_number(spans, claims.strays) if any(claims.owned) else []
    for member, own in enumerate(claims.owned):
        if placement is not None:
            far = {partition for partition in own if placement.mismatch(member, partition)}
            revoked.update(dict.fromkeys(far, member))
            own = [partition for partition in own if partition not in far]
        if claims.doubly_claimed:
            own = [partition for partition in own if partition not in claims.doubly_claimed]
        own = sorted(own, key=by_number.__getitem__)
        keep = shares.least
        if len(own) < shares.least:
            shares.below.append(member)
        elif len(own) >= shares.most and shares.taken < shares.seats:
            keep = shares.most
            shares.take_seat()
        elif shares.taken < shares.seats:
            shares.even.append(member)
        shares.owned[member] = own[:keep]
        revoked.update(dict.fromkeys(own[keep:], member))
    return revoked


def _by_number(spans: dict[str, range], strays: dict[Partition, int]) -> list[int]:
    """Partition to its place in the order of partition numbers, then topics."""
    places = [0] * max(*(span.stop for span in spans.values()), *(number + 1 for number in strays.values()), 0)
    topic_at = {topic: at for at, topic in enumerate(spans)} if strays else {}
    for (topic, partition), number in strays.items():
        places[number] = topic_at[topic] + partition * len(spans)
    for place, span in enumerate(spans.values()):
        places[span.start : span.stop] = range(place, place + len(span) * len(spans), len(spans))
    return places


def _left_over(spans: dict[str, range], owned: list[list[int]], strays: dict[Partition, int]) -> list[int]:
    """Partitions that nobody kept, by topic, then number.

    The released assignor walks the kept ones and all others side by side. At a kept one that does not exist it
    halts, so that the partitions of later topics are all left over, kept or not, and get a second owner.
    """
    kept = set(chain.from_iterable(owned))
    halts = [(topic, partition) for (topic, partition), number in strays.items() if number in kept]
    if halts:
        place_of = {topic: place for place, topic in enumerate(spans)}
        place, partition = min((place_of[topic], partition) for topic, partition in halts)
        # A number below 0 comes before all partitions of its topic, one that is too high after them.
        whole_from = place if partition < 0 else place + 1
        return [
            partition
            for place, span in enumerate(spans.values())
            for partition in span
            if place >= whole_from or partition not in kept
        ]
    every = chain.from_iterable(spans.values())
    return [partition for partition in every if partition not in kept] if kept else list(every)


def _withhold(answer: Assignment, kept_sizes: list[int], revoked: dict[int, int], doubly_claimed: set[int]) -> None:
    """Step E: hold back what was given to a member while another one still has it."""
    for member, kept in enumerate(kept_sizes):
        own = answer.owned[member]
        held = {
            partition: member
            for partition in own[kept:]
            if partition in doubly_claimed or revoked.get(partition, member) != member
        }
        if held:
            answer.withheld.update(held)
            answer.owned[member] = [partition for partition in own if partition not in held]
