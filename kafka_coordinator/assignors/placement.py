"""Where members and replicas sit, for the sticky assignors (spec 5.5, last paragraph)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_coordinator.assignors.inputs import GroupMetadata
from kafka_coordinator.assignors.racks import fits, rack_aware


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
