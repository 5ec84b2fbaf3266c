"""The client-side sticky and cooperative-sticky assignors (spec 5.5 to 5.8).

Both keep what members own as far as an even share allows. They differ in how claims reach them, which is settled
before (`inputs.Subscription`), and in that the cooperative one holds back what another member must give up first.

In Kafka `StickyAssignor` and `CooperativeStickyAssignor`.
"""

from kafka_coordinator.assignors.balancing import Subscriptions, order_by_id
from kafka_coordinator.assignors.claims import Claims, highest_generation
from kafka_coordinator.assignors.constrained import Placement, constrained
from kafka_coordinator.assignors.general import general
from kafka_coordinator.assignors.inputs import NO_GENERATION, Assignment, GroupMetadata


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


class StickyAssignor:
    """The assignor object of one long-lived client: it remembers the highest generation it has seen (spec 5.8)."""

    def __init__(self, *, cooperative: bool = False) -> None:
        self.cooperative = cooperative
        self.max_generation = NO_GENERATION

    def assign(self, group: GroupMetadata) -> Assignment:
        """As `sticky` or `cooperative_sticky`, claims of generations seen before counting as old ones."""
        self.max_generation = highest_generation(group, self.max_generation)
        return _assigned(group, self.max_generation, cooperative=self.cooperative)
