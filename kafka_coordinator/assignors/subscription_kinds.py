"""What the sticky assignors know of the members' subscriptions and the topics behind them (spec 5.2, 5.5)."""

from dataclasses import dataclass

from kafka_coordinator.assignors.inputs import GroupMetadata, Subscription
from protocols.java import sorted_as_java


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """``spans``: every topic that has partitions and a subscriber, by name, to its partition numbers.

    ``kinds``: each list of topics that occurs to the positions of the members who list exactly these, in this
    order. Groups have few kinds, so what depends on a subscription is worked out once a kind.
    """

    spans: dict[str, range]
    kinds: dict[tuple[str, ...], list[int]]

    @classmethod
    def of(cls, group: GroupMetadata) -> "Subscriptions":
        kinds: dict[tuple[str, ...], list[int]] = {}
        for position, member in enumerate(group.members):
            kinds.setdefault(member.topics, []).append(position)
        subscribed = set().union(*kinds)
        numbers: dict[str, range] = {}
        total = 0
        for topic, count in group.topics.items():
            if count and topic in subscribed:
                numbers[topic] = range(total, total + count)
            total += count
        return cls({topic: numbers[topic] for topic in sorted_as_java(numbers)}, kinds)

    @property
    def are_equal(self) -> bool:
        """Whether the released assignor takes the subscriptions for equal.

        The first member with a topic sets the reference. Members before it, who list nothing, are overlooked
        (spec 8, no. 9); those after it must list as many topics, all of them in the reference.
        """
        reference = next(filter(None, self.kinds), None)
        if reference is None:
            return True
        topics, first = set(reference), self.kinds[reference][0]
        return all(
            positions[-1] <= first or (len(kind) == len(topics) and topics.issuperset(kind))
            for kind, positions in self.kinds.items()
        )


def order_by_id(members: tuple[Subscription, ...]) -> list[int]:
    """Positions of the members in the order of their ids."""
    position_of = {member.member_id: position for position, member in enumerate(members)}
    return [position_of[id] for id in sorted_as_java(position_of)]
