"""Fewest moves where everybody in a block may take every queue of it: no search, only counting.

With `level` = l, members who own more than l + 1 queues must give the rest up; those who own less than l must be given.
The larger of these two counts (with queues whose owner is gone, and without those that nobody owns yet) bounds the
moves from below, and giving the larger shares to those who own most reaches it.
"""

from compare.measure.optimum.kinds import Block


def one_kind(block: Block) -> bool:
    """Whether the closed form answers for this block: one kind of queue, nothing with two owners."""
    return len(block.kinds) == 1 and not block.kinds[0].shared


def quotas(block: Block) -> dict[int, int]:
    """Member to its number of queues, such that most queues stay where they are today."""
    (kind,) = block.kinds
    larger = len(kind.queues) - block.level * len(kind.takers)
    order = sorted(kind.takers, key=lambda member: (-kind.kept.get(member, 0), member))
    return {member: block.level + (place < larger) for place, member in enumerate(order)}


def prices(block: Block) -> dict[int, int]:
    """Member to its price (see `certificate`): those who must give up, or those who must be given."""
    (kind,) = block.kinds
    kept = {member: kind.kept.get(member, 0) for member in kind.takers}
    too_many = sum(max(0, count - block.level - 1) for count in kept.values())
    too_few = sum(max(0, block.level - count) for count in kept.values())
    # Queues that no member keeps have to be taken by somebody in any case.
    if too_many + len(kind.queues) - sum(kept.values()) >= too_few:
        return {member: -int(kept.get(member, 0) > block.level + 1) for member in block.members}
    return {member: int(kept.get(member, block.level) < block.level) for member in block.members}
