"""A client's plain parts: process queue, offset stores, settings, states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.errors import UserError
from protocols.facts import Transition
from protocols.java import Queue
from protocols.state_machine import IllegalTransition
from rocketmq_selfbalance.client.commands import RecordTakes, Shutdown, StopPolling
from rocketmq_selfbalance.client.offset_store import (
    read_offsets,
    write_offsets,
)
from rocketmq_selfbalance.client.process_queue import NOTHING, ProcessQueue
from rocketmq_selfbalance.client.settings import (
    OF_VERSION,
    ClientSettings,
    with_settings,
)
from rocketmq_selfbalance.states import CLIENT, PROCESS_QUEUE
from rocketmq_selfbalance.strategies import ByConfig
from rocketmq_selfbalance.versions import VERSIONS
from tests.rocketmq_selfbalance.client.client_cluster import GROUP, Cluster

QUEUES = st.builds(Queue, st.sampled_from(["T", "Ü"]), st.sampled_from(["a", "b"]), st.integers(0, 5))


@given(st.integers(1, 40), st.lists(st.tuples(st.integers(0, 39), st.integers(1, 5)), max_size=30))
def test_the_offset_to_commit_is_the_smallest_unfinished_one(count: int, finished: list[tuple[int, int]]) -> None:
    process_queue = ProcessQueue(0.0)
    process_queue.put([(100, 100 + count)])
    left = set(range(100, 100 + count))
    for first, length in finished:
        had_any = bool(left)
        left -= set(range(100 + first, 100 + first + length))
        offset = process_queue.remove([(100 + first, 100 + first + length)])
        assert offset == (NOTHING if not had_any else min(left, default=100 + count))
        assert process_queue.count == len(left)


@given(st.lists(st.sampled_from(["put", "take", "commit", "rollback"]), max_size=30))
def test_ordered_consumption_never_loses_or_repeats_a_committed_record(steps: list[str]) -> None:
    process_queue, put, committed = ProcessQueue(0.0), 0, 0
    for step in steps:
        if step == "put":
            process_queue.put([(put, put + 3)])
            put += 3
        elif step == "take":
            process_queue.take(2)
        elif step == "rollback":
            process_queue.rollback()
        else:
            offset = process_queue.commit()
            assert offset is None or offset >= committed
            committed = committed if offset is None else offset
        assert process_queue.count == put - committed


@given(st.dictionaries(QUEUES, st.integers(0, 1 << 60), max_size=30))
def test_the_file_of_a_broadcasting_consumer_says_what_was_written(offsets: dict[Queue, int]) -> None:
    for version in VERSIONS.values():
        assert read_offsets(write_offsets(offsets, version)) == offsets


def test_settings_are_written_under_rocketmqs_names() -> None:
    base = ClientSettings()
    changed = with_settings(base, {"rocketmq.client.rebalance.waitInterval": 5}, "x")
    assert changed.rebalance.rebalance_wait_interval_ms == 5.0
    old = with_settings(base, {"version": "4.5", "pullBatchSize": 16}, "x")
    assert (
        old.rebalance.rebalance_min_interval_ms,
        old.rebalance.first_pull_delay_ms,
        old.pulling.pull_batch_size,
    ) == (0.0, 0.0, 16)
    for given_, told in (
        ({"pullBatchsize": 1}, "unknown client setting 'pullBatchsize'"),
        ({"awaitTerminationMillisWhenShutdown": 500}, "is 500, which is not modelled, expected 0"),
        ({"pullBatchSize": 0}, "a whole number from 1 to 1024"),
        ({"pullThresholdForTopic": -2}, "-1 or a whole number"),
        ({"orderly": 1}, "true or false"),
        ({"messageModel": "ALL"}, "one of CLUSTERING, BROADCASTING"),
        ({"pollNameServerInterval": "5s"}, "milliseconds"),
        ({"version": 3}, "expected a version of RocketMQ: 4.5, 5.3, 5.4, 5.5"),
    ):
        with pytest.raises(UserError, match="member c1: ") as refused:
            with_settings(base, given_, "member c1")
        assert told in str(refused.value)


def test_the_code_takes_every_edge_of_the_life_of_a_queue() -> None:
    taken: set[tuple[str, str, str]] = set()

    def watch(cluster: Cluster) -> None:
        taken.update(
            (fact.before, fact.event, fact.after)
            for _, fact in cluster.facts(Transition)
            if fact.machine == PROCESS_QUEUE.name
        )

    ordered = Cluster({"T": 2}, produce=10.0)
    ordered.start("c1", orderly=True)
    ordered.command("c1", RecordTakes(GROUP, Queue("T", "broker-b", 0), 60, 30_000.0))
    ordered.run(7_000)
    ordered.start("c2", orderly=True)
    ordered.run(20_000)
    ordered.command("c1", Shutdown())
    ordered.simulation.end("broker-b")
    ordered.run(30_000)
    ordered.command("c2", Shutdown())
    ordered.run(1_000)
    watch(ordered)

    # A shutdown in the middle of a pass; a broker that goes away between member list and offset.
    for after in (1_003.0, 1_005.0, 1_007.0, 1_009.0):
        for orderly in (True, False):
            cluster = Cluster({"T": 1}, latency=1.0)
            cluster.start("c1", orderly=orderly)
            cluster.run(after)
            cluster.command("c1", Shutdown())
            cluster.run(100.0)
            watch(cluster)
    gone = Cluster({"T": 1})
    gone.start("c1", strategy=ByConfig((Queue("T", "broker-x", 0),)))
    gone.run(5_000)
    watch(gone)
    full = Cluster({"T": 1}, produce=100.0)
    full.start("c1", handle=1.0, pull_threshold_for_queue=10)
    full.run(1_400)
    full.command("c1", StopPolling(GROUP))
    full.run(5_000)
    full.command("c1", Shutdown())
    full.run(100.0)
    watch(full)
    old = Cluster({"T": 1})
    old.start("c1", orderly=True, **OF_VERSION["4.5"])  # a new queue counts as unlocked until the next lock round
    old.run(5_000)
    watch(old)
    expected = {(edge.before, edge.event, edge.after) for edge in PROCESS_QUEUE.edges if edge.before != edge.after}
    assert taken == expected


def test_a_step_that_the_table_does_not_have_raises() -> None:
    with pytest.raises(IllegalTransition, match="process queue in ABSENT"):
        PROCESS_QUEUE.next_state("ABSENT", "dropped")
    with pytest.raises(IllegalTransition, match="client in SHUTDOWN_ALREADY"):
        CLIENT.next_state("SHUTDOWN_ALREADY", "start")
