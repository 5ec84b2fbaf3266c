"""Even shares being filled: the state of the equal-subscription path of the sticky assignors (spec 5.6).

Where members and replicas sit, for the sticky assignors (spec 5.5, last paragraph).

The sticky assignors' round among members beside the replicas, equal subscriptions (spec 5.6, step C).

The sticky assignors where all subscriptions are equal: the client's "constrained" path (spec 5.6).

In Kafka `AbstractStickyAssignor.ConstrainedAssignmentBuilder`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from kafka_coordinator.assignors.claims import Claims
from kafka_coordinator.assignors.inputs import Assignment, AssignorError, GroupMetadata, Partition, fits, rack_aware


@dataclass(slots=True)
class Shares:
    """Who owns what so far; members are positions. ``seats`` members may own ``least + 1``, the others ``least``.

    ``below``: members with less than ``least``, by id; ``even``: members with exactly ``least`` who may get a
    seat, in the order in which they get it; ``taken``: number of seats that are taken.
    """

    least: int
    seats: int
    owned: list[list[int]]
    below: list[int] = field(default_factory=list)
    even: list[int] = field(default_factory=list)
    taken: int = 0

    @property
    def most(self) -> int:
        return self.least + (self.seats > 0)

    def take_seat(self) -> None:
        """One more member owns ``most``; with the last seat nobody else may."""
        self.taken += 1
        if self.taken == self.seats:
            self.even.clear()

    def deal(self, left: Sequence[int]) -> None:
        """Step D: give the partitions in turn to the members below their share, then one each to the even ones.

        While nobody reaches the share the turns are regular, so that every member gets a slice at once. Raises
        `AssignorError` where some are left in the end.
        """
        start = 0
        below = self.below
        while below and start < len(left):
            rounds = self.least - max(len(self.owned[member]) for member in below)
            width = len(below)
            end = start + rounds * width
            for turn, member in enumerate(below, start):
                self.owned[member] += left[turn:end:width]
            start = end
            self.even += [member for member in below if len(self.owned[member]) == self.least]
            below = [member for member in below if len(self.owned[member]) < self.least]
        if len(left) - start > len(self.even):
            raise AssignorError("IllegalStateException", "partitions are left, and nobody may own more")
        for member, partition in zip(self.even, left[start:], strict=False):
            self.owned[member].append(partition)


@dataclass(frozen=True, slots=True)
class Placement:
    """``rack_of``: per member, by position, its rack or None; ``racks``: partition to its replicas' racks."""

    rack_of: list[str | None]
    racks: dict[int, tuple[str, ...]]

    @classmethod
    def of(cls, group: GroupMetadata, spans: Mapping[str, range]) -> "Placement | None":
        """The placement, or None where racks decide nothing in this group."""
        if not group.replica_racks:
            return None
        rack_of = [member.rack or None for member in group.members]
        racks: dict[int, tuple[str, ...]] = {}
        for topic, span in spans.items():
            racks.update(zip(span, group.replica_racks.get(topic, ((),) * len(span)), strict=True))
        return cls(rack_of, racks) if rack_aware(rack_of, list(racks.values())) else None

    def mismatch(self, member: int, partition: int) -> bool:
        """Whether the member has a rack that holds no replica of the partition."""
        return not fits(self.rack_of[member], self.racks.get(partition, ()))

    def beside(self, members: Sequence[int], partition: int) -> list[int]:
        """Those of the members whose rack holds a replica of the partition."""
        racks = self.racks[partition]
        return [member for member in members if self.rack_of[member] in racks]


def give_beside_replicas(shares: Shares, left: Sequence[int], placement: Placement) -> list[int]:
    """Give partitions, those with the fewest members beside them first, to members beside a replica.

    Returns the partitions that nobody could take.
    """
    rack_of, racks_of = placement.rack_of, placement.racks
    members_on = Counter(rack_of)
    neighbours = {racks: sum(members_on[rack] for rack in set(racks)) for racks in set(racks_of.values())}
    below_on = Counter(rack_of[member] for member in shares.below)
    below, turn = shares.below, 0
    remaining: list[int] = []
    for partition in sorted(left, key=lambda partition: neighbours[racks_of[partition]]):
        racks = racks_of[partition]
        if any(below_on[rack] for rack in racks):
            while rack_of[below[turn]] not in racks:
                turn = (turn + 1) % len(below)
            member = below[turn]
            shares.owned[member].append(partition)
            if len(shares.owned[member]) >= shares.least:
                del below[turn]
                below_on[rack_of[member]] -= 1
                if len(shares.owned[member]) < shares.most and shares.taken < shares.seats:
                    shares.even.append(member)
            else:
                turn += 1
            turn = turn % len(below) if below else 0
            continue
        even = next((member for member in shares.even if rack_of[member] in racks), None)
        if even is None:
            remaining.append(partition)
            continue
        shares.owned[even].append(partition)
        shares.even.remove(even)
        shares.take_seat()
    return remaining


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
    if shares.least and not any(claims.owned):
        shares.below = list(range(len(claims.owned)))
        return revoked
    by_number = _by_number(spans, claims.strays)
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


def _left_over(spans: dict[str, range], owned: list[list[int]], strays: dict[Partition, int]) -> Sequence[int]:
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
    ranges = list(spans.values())
    if not kept and all(before.stop == after.start for before, after in pairwise(ranges)):
        return range(ranges[0].start, ranges[-1].stop)
    return [partition for partition in chain.from_iterable(ranges) if partition not in kept]


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
