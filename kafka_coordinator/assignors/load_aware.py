"""An assignor of our own for the classic protocol: partitions by their rates, few moves (`protocols.load_aware`).

Kafka brings none of this kind: its assignors count partitions. What it knows is what a client assignor can know. Every
member sends the partitions that it owns; rates come from a table in the consumers' configuration, which somebody who
measures them keeps up to date: neither lag nor what a member can handle. So all members are taken to be equally fast,
and partitions move only where that brings the highest rate nearer to the least possible one than a tenth of it.
"""

from collections.abc import Mapping

from kafka_coordinator.assignors.claims import Claims, highest_generation
from kafka_coordinator.assignors.inputs import NO_GENERATION, Assignment, GroupMetadata, subscribers
from kafka_coordinator.assignors.sticky import withhold
from kafka_coordinator.assignors.translation import Assignor, Numbers, Owned
from protocols.errors import StrategyError
from protocols.groups import Allocation, Group
from protocols.load_aware import at_equal_members, checked_rates, rate_in
from protocols.load_aware.problem import NOBODY


def load_aware(group: GroupMetadata, max_generation: int = NO_GENERATION) -> Assignment:
    """A cooperative assignor: `Assignment.withheld` is what another member has to give up first.

    ``max_generation``: the highest generation that this assignor object has seen.
    """
    first = group.first_numbers()
    takers = {
        topic: tuple(members)
        for topic, members in subscribers(group, range(len(group.members))).items()
        if members and group.topics[topic]
    }
    spans = {topic: range(first[topic], first[topic] + group.topics[topic]) for topic in takers}
    claims = Claims.of(group, spans, highest_generation(group, max_generation))
    owner = {
        partition: member
        for member, owned in enumerate(claims.owned)
        for partition in owned
        if partition not in claims.doubly_claimed
    }
    names = [(topic, number) for topic, span in spans.items() for number in span]
    at = at_equal_members(
        [rate_in(group.rates, topic, "", number - first[topic]) for topic, number in names],
        [takers[topic] for topic, _ in names],
        [owner[number] if owner.get(number, NOBODY) in takers[topic] else NOBODY for topic, number in names],
        len(group.members),
    )
    answer = Assignment([[] for _ in group.members])
    for (_, number), member in zip(names, at, strict=True):
        answer.owned[member].append(number)
    there = {number for _, number in names}
    withhold(answer, [[number for number in claimed if number in there] for claimed in claims.claimed])
    return answer


def _for_groups(
    group: Group, previous: Owned | None, *, generation: int = 1, rates: Mapping[str, float] | None = None
) -> Allocation:
    if not isinstance(generation, int) or isinstance(generation, bool):
        raise StrategyError(f"setting generation is {generation!r}, expected a whole number")
    numbers = Numbers.of(group)
    try:
        given = checked_rates(rates or {})
    except ValueError as error:
        raise StrategyError(f"setting rates: {error}") from None
    return numbers.allocation(load_aware(numbers.for_client(previous, generation, given)))


ASSIGNOR = Assignor(_for_groups, load_aware, "owned partitions", cooperative=True)
"""As `kafka_coordinator.assign` and the group's leader call it."""
