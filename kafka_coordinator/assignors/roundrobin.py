"""The client-side round-robin assignor (spec 5.4): one ring of members, all partitions dealt around it.

In Kafka `RoundRobinAssignor`.
"""

from bisect import bisect_left
from itertools import cycle

from kafka_coordinator.assignors.inputs import Assignment, GroupMetadata, static_order, subscribers
from protocols.java import sorted_as_java


def roundrobin(group: GroupMetadata) -> Assignment:
    """Deal the topics in name order, their partitions ascending, to the next member in S-order who subscribes.

    One pointer runs over the whole deal, so that a topic goes on where the one before ended.
    """
    order = static_order(group.members)
    of_topic = subscribers(group, order)
    first = group.first_numbers()
    owned: list[list[int]] = [[] for _ in order]
    pointer = 0
    for topic in sorted_as_java(group.topics):
        count, ranks = group.topics[topic], of_topic[topic]
        if not (count and ranks):
            continue
        start = bisect_left(ranks, pointer)
        ring = ranks[start:] + ranks[:start]
        for number, rank in zip(range(first[topic], first[topic] + count), cycle(ring), strict=False):
            owned[order[rank]].append(number)
        pointer = (ring[(count - 1) % len(ring)] + 1) % len(order)
    return Assignment(owned)
