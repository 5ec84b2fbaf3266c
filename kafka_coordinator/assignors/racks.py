"""Racks: which members sit beside which replicas, and whether an assignor looks at racks at all (spec 5.3, 5.5).

An empty rack is none. A member without a rack fits every partition.
"""

from collections.abc import Iterable, Sequence


def rack_aware(member_racks: Iterable[str | None], replica_racks: Sequence[Sequence[str]]) -> bool:
    """Whether racks decide anything between these members and partitions.

    They do if a member's rack is the rack of some replica, and not every partition has replicas on every rack.
    """
    on_members = {rack for rack in member_racks if rack}
    on_replicas = {rack for racks in replica_racks for rack in racks}
    if on_members.isdisjoint(on_replicas):
        return False
    return any(on_replicas.difference(racks) for racks in replica_racks)


def fits(rack: str | None, replica_racks: Sequence[str]) -> bool:
    """Whether a member on this rack is beside a replica of the partition."""
    return not rack or rack in replica_racks
