"""An assignor as `kafka_coordinator.assign` and the group's leader call it: an `Assignor` record, made of a function
from `GroupMetadata` to `Assignment`.

`of_leader` and `of_leader_with_claims` wrap those of the classic protocol, which run on the group's leader;
`of_coordinator` and `of_coordinator_with_targets` those of the consumer protocol (KIP-848), which run in the broker.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kafka_coordinator.assignors.inputs import Assignment, GroupMetadata
from kafka_coordinator.translation import Numbers, Owned, same_subscriptions
from protocols.allocations import Allocation
from protocols.errors import StrategyError
from protocols.groups import Group

Strategy: TypeAlias = Callable[..., object]
"""``(group, previous, **settings)`` to an `Allocation` or member id to queues; or a class, see `register`."""

ClaimSource: TypeAlias = Literal["", "user data", "owned partitions"]
"""Where an assignor on the leader reads what members owned: in its own user data (sticky), in the owned partitions that
every member's metadata has (cooperative-sticky), or nowhere."""


@dataclass(frozen=True, slots=True)
class Assignor:
    """``strategy`` is what `kafka_coordinator.assign` calls.

    ``assign`` takes the members' metadata; one with ``claims`` also takes the highest generation that its instance has
    seen. It is None for a user's own strategy, which the leader calls through ``strategy``. ``cooperative``: whether it
    supports the cooperative protocol besides the eager one.
    """

    strategy: Strategy
    assign: Callable[..., Assignment] | None = None
    claims: ClaimSource = ""
    cooperative: bool = False


def of_leader(assign: Callable[[GroupMetadata], Assignment]) -> Assignor:
    """An assignor of the classic protocol that looks at members and topics only."""

    def stateless(group: Group, previous: Owned | None) -> Allocation:
        numbers = Numbers.of(group)
        return numbers.allocation(assign(numbers.for_client()))

    return Assignor(stateless, assign)


def of_leader_with_claims(
    assign: Callable[..., Assignment], claims: ClaimSource, *, cooperative: bool = False
) -> Assignor:
    """An assignor of the classic protocol that reads what members owned; its setting is their ``generation``."""

    def with_claims(group: Group, previous: Owned | None, *, generation: int = 1) -> Allocation:
        if not isinstance(generation, int) or isinstance(generation, bool):
            raise StrategyError(f"setting generation is {generation!r}, expected a whole number")
        numbers = Numbers.of(group)
        return numbers.allocation(assign(numbers.for_client(previous, generation)))

    return Assignor(with_claims, assign, claims, cooperative)


def of_coordinator(assign: Callable[[GroupMetadata], Assignment]) -> Assignor:
    """An assignor of the consumer protocol that looks at members and topics only; its setting is ``topic_ids``."""

    def stateless(group: Group, previous: Owned | None, *, topic_ids: Mapping[str, object] | None = None) -> Allocation:
        numbers = Numbers.of(group)
        return numbers.allocation(assign(numbers.for_server(None, topic_ids)))

    return Assignor(stateless, assign)


def of_coordinator_with_targets(assign: Callable[[GroupMetadata, bool], Assignment]) -> Assignor:
    """An assignor of the consumer protocol that is given the target assignment before, and whether all members
    subscribe alike; its setting is ``topic_ids``."""

    def with_targets(
        group: Group, previous: Owned | None, *, topic_ids: Mapping[str, object] | None = None
    ) -> Allocation:
        numbers, alike = Numbers.of(group), same_subscriptions(group)
        return numbers.allocation(assign(numbers.for_server(previous, topic_ids, alike=alike), alike))

    return Assignor(with_targets, assign)
