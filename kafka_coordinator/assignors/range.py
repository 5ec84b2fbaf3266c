"""The client-side range assignor (spec 5.3), with racks and co-partitioned topics.

The first members in S-order get one partition more of every topic; where racks matter, partitions go to members
beside their replicas as far as that leaves the sizes as they are, and topics with the same subscribers and the
same number of partitions are dealt alike.

In Kafka `RangeAssignor` of the clients.

The group coordinator's own range assignor of the consumer protocol (spec 5.11): no stickiness, no racks.

In Kafka `org.apache.kafka.coordinator.group.assignor.RangeAssignor`.
"""

from collections.abc import Callable, Iterable, Sequence

from kafka_coordinator.assignors import inputs


def range_(group: inputs.GroupMetadata) -> inputs.Assignment:
    """Deal every topic in consecutive blocks to its subscribers in S-order; rack-aware where racks matter."""
    order = inputs.static_order(group.members)
    of_topic = inputs.subscribers(group, order)
    if group.replica_racks and any(member.rack for member in group.members):
        topics = _topics_with_racks(group, order, of_topic)
        if any(topic.rack_aware for topic in topics):
            return _beside_replicas(group, topics, order)
    return blocks(group, order, of_topic)


def blocks(group: inputs.GroupMetadata, order: Sequence[int], of_topic: dict[str, list[int]]) -> inputs.Assignment:
    """Consecutive blocks of every topic to its subscribers (ranks in ``order``), the larger blocks first."""
    owned: list[list[int]] = [[] for _ in order]
    number = 0
    for topic, count in group.topics.items():
        ranks = of_topic[topic]
        if not ranks:
            number += count
            continue
        quota, extra = divmod(count, len(ranks))
        if quota == 0:
            for rank in ranks[:extra]:
                owned[order[rank]].append(number)
                number += 1
            continue
        for index, rank in enumerate(ranks):
            end = number + quota + (index < extra)
            owned[order[rank]] += range(number, end)
            number = end
    return inputs.Assignment(owned)


class _Topic:
    """A topic while it is dealt with an eye on racks. Members are ranks in S-order."""

    def __init__(self, first: int, count: int, ranks: Sequence[int], racks: Sequence[Sequence[str]], aware: bool):
        self.first, self.ranks, self.racks, self.rack_aware = first, ranks, racks, aware
        self.unassigned = dict.fromkeys(range(count))
        self.quota, self.extra_seats = divmod(count, len(ranks)) if ranks else (0, 0)
        self.given: dict[int, list[int]] = {rank: [] for rank in ranks}

    def capacity(self, rank: int) -> int:
        return max(0, self.quota + (self.extra_seats > 0) - len(self.given[rank]))

    def give(self, rank: int, partitions: Iterable[int]) -> None:
        for partition in partitions:
            self.given[rank].append(partition)
            del self.unassigned[partition]
        if len(self.given[rank]) > self.quota:
            self.extra_seats -= 1

    def deal(self, may_have: Callable[[int, int], bool]) -> None:
        """Give every subscriber the first unassigned partitions that it may have, up to its capacity."""
        for rank in self.ranks:
            capacity = self.capacity(rank)
            partitions: list[int] = []
            for partition in self.unassigned:
                if len(partitions) == capacity:
                    break
                if may_have(rank, partition):
                    partitions.append(partition)
            if partitions:
                self.give(rank, partitions)


def _topics_with_racks(
    group: inputs.GroupMetadata, order: Sequence[int], of_topic: dict[str, list[int]]
) -> list[_Topic]:
    first = group.first_numbers()
    topics = []
    for topic, count in group.topics.items():
        ranks = of_topic[topic]
        racks = group.replica_racks.get(topic) or ((),) * count
        aware = inputs.rack_aware((group.members[order[rank]].rack for rank in ranks), racks)
        topics.append(_Topic(first[topic], count, ranks, racks, aware))
    return topics


def _beside_replicas(group: inputs.GroupMetadata, topics: list[_Topic], order: Sequence[int]) -> inputs.Assignment:
    rack_of = [group.members[position].rack for position in order]
    alike: dict[tuple[tuple[int, ...], int], list[_Topic]] = {}
    for topic in topics:
        partitions_with_racks = len(topic.racks) if any(rack_of[rank] for rank in topic.ranks) else 0
        alike.setdefault((tuple(topic.ranks), partitions_with_racks), []).append(topic)
    for (_, count), together in alike.items():
        if len(together) > 1:
            _deal_together(together, count, rack_of)
        elif together[0].rack_aware:
            [topic] = together
            racks = topic.racks
            topic.deal(lambda rank, partition, racks=racks: inputs.fits(rack_of[rank], racks[partition]))  # type: ignore[misc]
    owned: list[list[int]] = [[] for _ in order]
    for topic in topics:
        topic.deal(lambda rank, partition: True)
        for rank, partitions in topic.given.items():
            owned[order[rank]] += (topic.first + partition for partition in sorted(partitions))
    return inputs.Assignment(owned)


def _deal_together(topics: Sequence[_Topic], count: int, rack_of: Sequence[str | None]) -> None:
    """Give partition p of all these topics to one member: the first with room whose rack fits p in every one."""
    remaining = dict.fromkeys(topics[0].ranks)
    for partition in range(count):
        for rank in remaining:
            if all(inputs.fits(rack_of[rank], topic.racks[partition]) and topic.capacity(rank) > 0 for topic in topics):
                break
        else:
            continue
        for topic in topics:
            topic.give(rank, (partition,))
        if not any(topic.capacity(rank) > 0 for topic in topics):
            del remaining[rank]


def server_range(group: inputs.GroupMetadata) -> inputs.Assignment:
    """Consecutive blocks of every topic to its subscribers in S-order, whatever they owned before.

    Raises `AssignorError` if a member subscribes to a topic that does not exist.
    """
    inputs.require_known_topics(group)
    order = inputs.static_order(group.members)
    return blocks(group, order, inputs.subscribers(group, order))
