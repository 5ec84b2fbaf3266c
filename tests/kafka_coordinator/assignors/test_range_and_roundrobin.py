"""The range and round-robin assignors (spec 5.3, 5.4, 5.11), and what the sticky ones remember of moves (5.7)."""

from collections import Counter

import pytest
from hypothesis import given

from kafka_coordinator.assignors.balancing import Movements
from kafka_coordinator.assignors.inputs import AssignorError, GroupMetadata
from kafka_coordinator.assignors.range import range_, server_range
from kafka_coordinator.assignors.roundrobin import roundrobin
from tests.kafka_coordinator.consumer.metadata import (
    assert_each_partition_has_one_subscriber,
    group_of,
    groups,
    partitions_of,
)


def test_the_surplus_of_all_topics_piles_up_on_the_first_members() -> None:
    for topics, partitions, sizes in ((10, 1, [10, 0, 0, 0]), (20, 5, [40, 20, 20, 20])):
        names = [f"t{number}" for number in range(topics)]
        group = group_of(dict.fromkeys(names, partitions), {f"C{number}": names for number in range(4)})
        assert [len(each) for each in range_(group).owned] == sizes


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


def test_ten_topics_of_one_partition_leave_nobody_idle() -> None:
    names = [f"t{number:02}" for number in range(10)]
    group = group_of(dict.fromkeys(names, 1), {f"C{number}": names for number in range(4)})
    assert [len(each) for each in roundrobin(group).owned] == [3, 3, 2, 2]


def test_a_topic_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AssignorError) as caught:
        server_range(group_of({"T1": 3}, {"A": "T1", "B": "T1 T2"}))
    assert caught.value.error == "PartitionAssignorException"


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
