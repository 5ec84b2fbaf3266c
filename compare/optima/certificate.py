"""Why no allocation is fairer, and why none as fair moves less: claims that anybody can check without a search.

**Fairest.** The certificate cuts the group into blocks of falling level. Three things are claimed:
1. a topic is handed out in one block, and all its subscribers are in this block or in those above;
2. nobody in a block owns a queue of a topic that another block hands out;
3. members of a block of level l own l or l + 1 queues each.
By the first, the members of the first k blocks get at least the queues of their topics, whatever the allocation; by the
second, here they get no more. Take any convex measure f, and let g be the growth f(l + 1) - f(l) at a block's level. By
the third, changing the loads x of the block to y adds at least g times (sum y - sum x). Over the blocks g falls, and
the first k blocks together never lose queues, so these amounts add up to at least 0: no allocation is better by f.

**Fewest moves.** Each member has a price (a whole number, possibly negative). Let an allocation with loads as above
pay, per queue, 1 if it moves, less the price of the member who gets it, and per member its price for each queue that
it has. The prices cancel, so it pays its moves. Per queue it pays at least what the cheapest member of the block would
cost, and per member at least what the cheaper of l and l + 1 queues would: the sum bounds the moves of every fairest
allocation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from protocols import Allocation, Group, Queue, sort_queues


class CertificateError(ValueError):
    """A claim of a certificate does not hold; the text says which."""


@dataclass(frozen=True, slots=True)
class CertifiedBlock:
    """Members who own ``level`` or ``level + 1`` queues each, and the topics that are handed out among them.

    ``members`` maps ids to prices.
    """

    level: int
    members: Mapping[str, int]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Certificate:
    """Blocks of strictly falling level: every member in one, every topic with queues and subscribers in one."""

    blocks: tuple[CertifiedBlock, ...]


def verify(certificate: Certificate, allocation: Allocation) -> None:
    """Check that no allocation of the group is fairer; raises `CertificateError` that names the claim which fails."""
    group = allocation.group
    allocation.check()
    _check_levels(certificate)
    place = _places(certificate, group)
    home = _homes(certificate, group)
    for member in group.members:
        for topic in member.subscription:
            if topic in home and place[member.id] > home[topic]:
                raise CertificateError(f"{member.id!r} subscribes to {topic!r}, which is handed out further up")
        for queue in allocation[member.id]:
            if home[queue.topic] != place[member.id]:
                raise CertificateError(f"{member.id!r} owns {queue}, which is handed out in another block")
        level = certificate.blocks[place[member.id]].level
        if not level <= len(allocation[member.id]) <= level + 1:
            raise CertificateError(
                f"{member.id!r} owns {len(allocation[member.id])} queues, expected {level} or {level + 1}"
            )


def least_moves(certificate: Certificate, group: Group, today: Allocation) -> int:
    """The number of moves below which no fairest allocation of the group can stay, from the certificate's prices.

    ``today`` may be of an earlier group. A move is a queue that has an owner today and gets another.
    """
    owners = owners_of(today)
    subscribers = group.subscribers()
    moves = 0
    for block in certificate.blocks:
        for topic in block.topics:
            takers = {group.members[n].id for n in subscribers[topic]} & block.members.keys()
            highest = max(block.members[member] for member in takers)
            for queue in group.topics[topic]:
                keepers = [block.members[owner] for owner in owners.get(queue, ()) if owner in takers]
                moves += min([(queue in owners) - highest, *(-price for price in keepers)])
        moves += sum(min(price * block.level, price * (block.level + 1)) for price in block.members.values())
    return moves


def owners_of(today: Mapping[str, Iterable[Queue]]) -> dict[Queue, list[str]]:
    """Queue to the members that own it."""
    owners: dict[Queue, list[str]] = {}
    for member, queues in today.items():
        for queue in queues:
            owners.setdefault(queue, []).append(member)
    return owners


def _check_levels(certificate: Certificate) -> None:
    levels = [block.level for block in certificate.blocks]
    if any(upper <= lower for upper, lower in pairwise(levels)):
        raise CertificateError(f"levels are {levels}, expected to fall from block to block")


def _places(certificate: Certificate, group: Group) -> dict[str, int]:
    place = {member: n for n, block in enumerate(certificate.blocks) for member in block.members}
    listed = sum(len(block.members) for block in certificate.blocks)
    missing = [member.id for member in group.members if member.id not in place]
    if missing:
        raise CertificateError(f"member {missing[0]!r} is in no block")
    if listed != len(group.members):
        raise CertificateError("a member is in two blocks, or not of this group")
    return place


def _homes(certificate: Certificate, group: Group) -> dict[str, int]:
    home: dict[str, int] = {}
    for n, block in enumerate(certificate.blocks):
        for topic in block.topics:
            if topic in home:
                raise CertificateError(f"topic {topic!r} is in two blocks")
            home[topic] = n
    for topic, subscribers in group.subscribers().items():
        if subscribers and group.topics[topic] and topic not in home:
            raise CertificateError(f"topic {topic!r} is in no block")
    return home


@dataclass(frozen=True, slots=True)
class Bound:
    """Why some member must carry at least ``value``, whoever gets what.

    Only ``members`` subscribe to the ``topics``. If ``together`` is 0, value is their equal share of these topics'
    weight (whole weights: rounded up to what sums of weights can be). Else, of the (together - 1) * members + 1
    heaviest queues of these topics some member gets ``together``, and value is the sum of the lightest so many of them.
    """

    value: float
    members: tuple[str, ...]
    topics: tuple[str, ...]
    together: int


@dataclass(frozen=True, slots=True)
class Optimum:
    """The fairest allocation that the subscriptions allow, with as few moves from today's as any fairest one needs.

    Loads are numbers of queues or, in a weighted problem, sums of weights. All figures are None in a group without
    members. ``idle_members`` own no queue. ``jain`` as in the fairness figures.

    ``moves``: queues that have an owner today and get another; ``moved`` names them with their new owners. That a queue
    without owner today gets its first is no move: ``newly_owned`` names these. Both sorted by queue; without an
    allocation of today ``moves`` is None and all is newly owned.

    Counting queues, ``certificate`` proves it (see `certificate.verify`) and the gap is 0. Weighted, the problem is
    NP-hard: the allocation is a good one, ``lower_bound`` is proven by ``bound``, and ``gap`` is max - lower_bound.
    """

    allocation: Allocation
    max: float | None
    min: float | None
    idle_members: int | None
    jain: float | None
    moves: int | None
    moved: tuple[tuple[Queue, str], ...]
    newly_owned: tuple[tuple[Queue, str], ...]
    lower_bound: float | None
    gap: float | None
    certificate: Certificate | None
    bound: Bound | None


def changes(
    after: Allocation, today: Mapping[str, tuple[Queue, ...]] | None
) -> tuple[tuple[tuple[Queue, str], ...], tuple[tuple[Queue, str], ...]]:
    """(queue, new owner) of the queues that move, and of those that get their first owner."""
    owners = owners_of(today or {})
    gained = [
        (queue, member)
        for member, queues in after.items()
        for queue in queues
        if queue not in owners or member not in owners[queue]
    ]
    owner = dict(gained)
    ordered = [(queue, owner[queue]) for queue in sort_queues(owner)]
    return (
        tuple(each for each in ordered if each[0] in owners),
        tuple(each for each in ordered if each[0] not in owners),
    )
