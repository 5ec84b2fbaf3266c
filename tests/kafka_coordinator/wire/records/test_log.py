"""A partition's log by itself: bounds, positions, leader epochs, producers; and the bounds of all logs together."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_coordinator.wire.records.batches import has_right_crc, header_of, with_append_time
from kafka_coordinator.wire.records.log import PartitionLog
from kafka_coordinator.wire.records.settings import BATCH_COST, Bounds
from kafka_coordinator.wire.records.storage import Storage
from tests.kafka_coordinator.wire.broker_cases import TIME, batch
from tests.rows import rows


def filled(counts: list[int], size: int = 10) -> PartitionLog:
    """A log of batches with so many records each."""
    log = PartitionLog(10)
    for count in counts:
        content = batch(*[b"x" * size] * count)
        log.append(content, header_of(content))
    return log


def offsets_of(content: bytes) -> list[int]:
    """Base offsets of the batches."""
    found, at = [], 0
    while at < len(content):
        header = header_of(content[at:])
        found.append(header.base_offset)
        at += 12 + header.length
    return found


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=12),
    st.integers(0, 50),
    st.integers(0, 50),
    st.integers(0, 2000),
    st.booleans(),
)
def test_a_read_gives_whole_batches_from_the_one_with_the_offset_up_to_the_limit(
    counts: list[int], start: int, offset: int, most: int, at_least_one: bool
) -> None:
    log = filled(counts)
    log.raise_start(min(start, log.end))
    content = log.read(offset, most, at_least_one=at_least_one)
    wanted, taken = [each for each in log.batches() if each.last_offset >= offset], []
    for each in wanted:
        if sum(len(one.content) for one in [*taken, each]) > most and (taken or not at_least_one):
            break
        taken.append(each)
    assert offsets_of(content) == [each.base_offset for each in taken]
    assert log.bytes_from(offset) == sum(len(each.content) for each in wanted)
    assert log.cost == sum(len(each.content) + BATCH_COST for each in log.batches())


@given(st.lists(st.integers(1, 3), min_size=1, max_size=30), st.integers(0, 8000))
def test_a_bound_takes_the_oldest_batches_and_leaves_the_newest(counts: list[int], most: int) -> None:
    log = filled(counts)
    end = log.end
    log.keep(most)
    assert log.end == end
    assert log.cost <= most or len(log.batches()) == 1
    assert log.start == log.batches()[0].base_offset


def test_all_logs_together_stay_within_their_bound_and_the_largest_gives() -> None:
    storage = Storage(0, Bounds(total_bytes=20_000))
    small, large = storage.log("small", 0), storage.log("large", 0)
    content = batch(b"x" * 500)
    for log, count in ((small, 3), (large, 200)):
        for _ in range(count):
            before = log.cost
            log.append(content, header_of(content))
            storage.change(log, before)
            assert small.cost + large.cost <= 20_000
    assert (small.start, small.end) == (0, 3)
    assert large.start > 150
    storage.delete("large")
    assert storage.log("large", 0).end == 0


def test_epochs_of_leaders_end_where_the_next_begin() -> None:
    log = filled([2])
    log.lead()
    log.lead()  # nothing was written in epoch 1
    content = batch(b"x")
    log.append(content, header_of(content))
    assert log.leader_epoch == 2
    assert [log.end_of_epoch(each) for each in (-1, 0, 1, 2, 3)] == [(-1, -1), (0, 2), (0, 2), (2, 3), (-1, -1)]
    assert [log.epoch_at(each) for each in (0, 1, 2)] == [0, 0, 2]
    assert header_of(log.read(2, 1000)).leader_epoch == 2


def test_sequence_numbers_begin_again_after_the_greatest() -> None:
    log = PartitionLog(10)
    for sequence in (2**31 - 2, 0):
        content = batch(b"a", b"b", producer=(7, 0, sequence))
        assert log.producers.check(header_of(content)) is None
        log.append(content, header_of(content))
    again = log.producers.check(header_of(batch(b"a", b"b", producer=(7, 0, 2**31 - 2))))
    assert again is not None
    assert again.base_offset == 0


def test_only_so_many_producers_are_remembered() -> None:
    log = PartitionLog(2)
    for number in (1, 2, 1, 3):
        content = batch(b"a", producer=(number, 0, 5 if number != 1 else log.end // 2))
        log.append(content, header_of(content))
    assert log.producers.check(header_of(batch(b"a", producer=(2, 0, 77)))) is None  # forgotten: any number will do
    assert log.producers.check(header_of(batch(b"a", producer=(3, 0, 5)))) is not None


def test_the_brokers_time_changes_header_and_checksum_alone() -> None:
    content = batch(b"a", b"b", compression=1)
    stamped, header = with_append_time(content, header_of(content), TIME + 99)
    assert header == header_of(stamped)
    assert header.has_append_time
    assert header.max_timestamp == TIME + 99
    assert has_right_crc(stamped, header)
    assert stamped[61:] == content[61:]
    assert stamped[43:61] == content[43:61]


@rows("count", [1, 7])
def test_positions_stay_right_when_old_batches_go(count: int) -> None:
    log = filled([1] * 8)
    log.raise_start(count)
    assert offsets_of(log.read(0, 10_000)) == list(range(count, 8))
    assert log.start == count
