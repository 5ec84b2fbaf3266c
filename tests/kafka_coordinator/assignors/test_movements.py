"""The movement memory of the sticky assignors (spec 5.7) and the order in which Java's set lists it (spec 5.1)."""

from kafka_coordinator.assignors.balancing import Movements
from protocols.java import topic_partition_hash

SPAN = range(10, 30)
A, B, C = range(3)


def test_the_hash_of_a_topic_partition_is_javas() -> None:
    assert topic_partition_hash("t0", 3) == 4698


def test_what_moved_one_way_goes_back_before_another_one_of_the_topic_follows() -> None:
    movements = Movements()
    movements.record("t0", SPAN, 10, A, B)
    assert movements.to_move("t0", 11, B, A) == 10
    assert movements.to_move("t0", 11, B, C) == 11
    assert movements.to_move("t1", 11, B, A) == 11


def test_a_partition_moved_on_counts_from_where_it_came() -> None:
    movements = Movements()
    movements.record("t0", SPAN, 10, A, B)
    movements.record("t0", SPAN, 10, B, C)
    assert movements.to_move("t0", 12, C, A) == 10
    assert movements.to_move("t0", 12, C, B) == 12


def test_a_partition_that_returns_is_forgotten() -> None:
    movements = Movements()
    movements.record("t0", SPAN, 10, A, B)
    movements.record("t0", SPAN, 10, B, A)
    assert movements.to_move("t0", 12, B, A) == 12


def test_of_several_the_first_in_javas_order_goes_back() -> None:
    # hash(t0, n) = 31 * (31 + n) + 3645: numbers 0, 1, 2 fall into bins 14, 13, 12 of 16.
    movements = Movements()
    for partition in (10, 11, 12):
        movements.record("t0", SPAN, partition, A, B)
    assert movements.to_move("t0", 15, B, A) == 12


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
