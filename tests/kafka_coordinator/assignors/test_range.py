"""The range assignor (spec 5.3, 5.11), and what the sticky ones remember of moves (5.7), beside recorded answers."""

from collections import Counter

from hypothesis import given

from kafka_coordinator.assignors.balancing import Movements
from kafka_coordinator.assignors.inputs import GroupMetadata
from kafka_coordinator.assignors.range import range_
from tests.kafka_coordinator.consumer.metadata import (
    assert_each_partition_has_one_subscriber,
    groups,
    partitions_of,
)


@given(groups(racks=True))
def test_racks_never_change_sizes_and_every_partition_has_one_subscriber(group: GroupMetadata) -> None:
    answer = range_(group)
    assert_each_partition_has_one_subscriber(group, answer)
    names = partitions_of(group)
    for topic, count in group.topics.items():
        subscribers = [m for m, member in enumerate(group.members) if topic in member.topics]
        if subscribers:
            sizes = Counter(m for m in subscribers for n in answer.owned[m] if names[n][0] == topic)
            quota, extra = divmod(count, len(subscribers))
            assert sorted(sizes[m] for m in subscribers) == [quota] * (len(subscribers) - extra) + [quota + 1] * extra


@given(groups())
def test_without_racks_every_share_of_a_topic_is_one_block(group: GroupMetadata) -> None:
    names = partitions_of(group)
    for numbers in range_(group).owned:
        for topic in group.topics:
            block = [names[n][1] for n in numbers if names[n][0] == topic]
            assert block == list(range(min(block, default=0), max(block, default=-1) + 1))


SPAN = range(10, 30)
A, B, C = range(3)


def test_a_partition_moved_on_counts_from_where_it_came() -> None:
    movements = Movements()
    movements.record("t0", SPAN, 10, A, B)
    movements.record("t0", SPAN, 10, B, C)
    assert movements.to_move("t0", 12, C, A) == 10
    assert movements.to_move("t0", 12, C, B) == 12


def test_javas_order_changes_as_the_table_grows_which_it_never_takes_back() -> None:
    # Numbers 5 to 17 of t0: of 16 bins 13 is in the first, of 32 bins, which 13 entries need, 17 is in the lowest.
    movements = Movements()
    for partition in range(15, 27):
        movements.record("t0", SPAN, partition, A, B)
    assert movements.to_move("t0", 29, B, A) == 23
    movements.record("t0", SPAN, 27, A, B)
    assert movements.to_move("t0", 29, B, A) == 27
    for partition in range(15, 23):
        movements.record("t0", SPAN, partition, B, A)
    assert movements.to_move("t0", 29, B, A) == 27
    movements.record("t0", SPAN, 15, A, B)
    assert movements.to_move("t0", 29, B, A) == 27
