"""The sticky assignors' round among members beside the replicas, equal subscriptions (spec 5.6, step C)."""

from collections import Counter

from kafka_coordinator.assignors.placement import Placement
from kafka_coordinator.assignors.shares import Shares


def give_beside_replicas(shares: Shares, left: list[int], placement: Placement) -> list[int]:
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
