"""Who owns what after the members' claims, which may contradict each other (spec 5.5).

In Kafka `AbstractStickyAssignor.allSubscriptionsEqual` and `prepopulateCurrentAssignments`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count

from kafka_coordinator.assignors.inputs import NO_GENERATION, GroupMetadata, Partition, Subscription


@dataclass(frozen=True, slots=True)
class Claims:
    """Per member, by position: ``claimed``, the partitions it claims, and ``owned``, those it is held to own.

    ``doubly_claimed``: partitions that two members claimed in one generation. ``former``: partition to the
    position of the member who owned it in an earlier generation than the highest seen (spec 5.7, step 1).
    Partitions are numbers; claims on topics that nobody subscribes to, or that have no partitions, are left out.
    ``strays``: claimed partitions that a topic does not have (any more), numbered on from the group's last partition.
    """

    claimed: list[list[int]]
    owned: list[list[int]]
    doubly_claimed: set[int]
    former: dict[int, int]
    strays: dict[Partition, int]

    @classmethod
    def of(cls, group: GroupMetadata, spans: Mapping[str, range], max_generation: int) -> "Claims":
        """Read the claims. ``max_generation`` is the highest generation seen, this group's included."""
        members = group.members
        if not any(member.claims for member in members):
            nothing: list[list[int]] = [[] for _ in members]
            return cls(nothing, nothing, set(), {}, {})
        strays: dict[Partition, int] = {}
        try:
            # A range counts negative numbers from its end: they are left out, and then noticed by the length.
            claimed = [[spans[topic][number] for topic, number in member.claims if number >= 0] for member in members]
            whole = sum(map(len, claimed)) == sum(len(member.claims) for member in members)
        except (KeyError, IndexError):
            whole = False
        if not whole:
            strays = _strays(group, spans)
            claimed = [_numbers(member.claims, spans, strays) for member in members]
        owned, doubly_claimed = _settled(members, claimed)
        return cls(claimed, owned, doubly_claimed, _former_owners(members, claimed, max_generation), strays)


def highest_generation(group: GroupMetadata, before: int = NO_GENERATION) -> int:
    """The highest generation of any claims, ``before`` included: what an assignor object remembers (spec 5.8)."""
    return max([before, *[each.claim_generation for each in group.members if each.claim_generation is not None]])


def _generation(member: Subscription) -> int:
    return NO_GENERATION if member.claim_generation is None else member.claim_generation


def _strays(group: GroupMetadata, spans: Mapping[str, range]) -> dict[Partition, int]:
    sizes = {topic: len(span) for topic, span in spans.items()}
    found = dict.fromkeys(
        claim
        for member in group.members
        for claim in member.claims
        if claim[0] in sizes and not 0 <= claim[1] < sizes[claim[0]]
    )
    return dict(zip(found, count(sum(group.topics.values())), strict=False))


def _numbers(claims: tuple[Partition, ...], spans: Mapping[str, range], strays: Mapping[Partition, int]) -> list[int]:
    return [strays[claim] if claim in strays else spans[claim[0]][claim[1]] for claim in claims if claim[0] in spans]


def _settled(members: tuple[Subscription, ...], claimed: list[list[int]]) -> tuple[list[list[int]], set[int]]:
    """Owned partitions per member, and the doubly claimed ones."""
    if len(set(chain.from_iterable(claimed))) == sum(map(len, claimed)):
        return claimed, set()
    # Dictionaries without values are ordered sets: a partition taken back and claimed again goes to the end.
    owned: list[dict[int, None]] = [{} for _ in members]
    claimant: dict[int, int] = {}
    doubly_claimed: set[int] = set()
    for position, member in enumerate(members):
        generation = _generation(member)
        for partition in claimed[position]:
            other = claimant.get(partition)
            if other is not None:
                # The other one counts with its subscription's generation, also where its claims carry another.
                theirs = members[other].generation_field
                if generation < (NO_GENERATION if theirs is None else theirs):
                    continue
                had_it = partition in owned[other]
                owned[other].pop(partition, None)
                claimant[partition] = position
                if generation == (NO_GENERATION if theirs is None else theirs):
                    doubly_claimed.add(partition)
                    continue
                if other == position and not had_it:
                    # Claimed twice by one member: the released assignor adds it and takes one away from the same list.
                    continue
            claimant[partition] = position
            owned[position][partition] = None
    return [list(each) for each in owned], doubly_claimed


def _former_owners(members: tuple[Subscription, ...], claimed: list[list[int]], max_generation: int) -> dict[int, int]:
    """Partition to its claimant with the highest generation below ``max_generation``, the first one on ties."""
    late = [position for position, member in enumerate(members) if _generation(member) < max_generation]
    late.sort(key=lambda position: -_generation(members[position]))
    former_owners: dict[int, int] = {}
    for position in late:
        for partition in claimed[position]:
            former_owners.setdefault(partition, position)
    return former_owners
