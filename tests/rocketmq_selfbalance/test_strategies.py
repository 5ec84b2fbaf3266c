"""What always holds of RocketMQ's strategies (spec 4.4 to 4.10), and what no recorded answer shows of them."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from protocols import Queue, sort_queues
from protocols.java import sorted_as_java, string_hash
from rocketmq_selfbalance import AllocationError
from rocketmq_selfbalance.strategies import (
    Averagely,
    AveragelyByCircle,
    ByMachineRoom,
    ConsistentHash,
    MachineRoomNearby,
    MachineRoomResolver,
    PositionStrategy,
)

PREFIX = MachineRoomResolver(
    broker_deploy_in=lambda queue: queue.broker.partition("-")[0], consumer_deploy_in=lambda cid: cid.partition("-")[0]
)


def test_nearby_needs_both_its_parts() -> None:
    with pytest.raises(AllocationError, match="NullPointerException: allocateMessageQueueStrategy is null"):
        MachineRoomNearby(None, PREFIX)  # type: ignore[arg-type]
    with pytest.raises(AllocationError, match="NullPointerException: machineRoomResolver is null"):
        MachineRoomNearby(Averagely(), None)  # type: ignore[arg-type]


def test_strategies_carry_rocketmqs_names() -> None:
    rooms = (ByMachineRoom(frozenset({"r"})), MachineRoomNearby(Averagely(), PREFIX))
    names = [strategy.name for strategy in (Averagely(), AveragelyByCircle(), ConsistentHash(), *rooms)]
    assert names == ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY-AVG"]


ROOMS = MachineRoomResolver(broker_deploy_in=lambda queue: queue.broker[:1], consumer_deploy_in=lambda cid: cid[-1:])
brokers = st.text("12@-\U0001f600\uffee", min_size=1, max_size=4)
queue_lists = st.lists(st.builds(Queue, st.just("T"), brokers, st.integers(0, 5)), min_size=1, max_size=40)
id_lists = st.lists(st.text("abc12\U0001f600\uffee", min_size=1, max_size=3), min_size=1, max_size=12)
splitting: st.SearchStrategy[PositionStrategy] = st.one_of(
    st.just(Averagely()),
    st.just(AveragelyByCircle()),
    st.builds(ConsistentHash, st.integers(1, 20)),
    st.builds(ConsistentHash, st.integers(1, 5), st.just(lambda text: string_hash(text) % 11)),
)
nearby = st.builds(MachineRoomNearby, splitting, st.just(ROOMS))
by_room = st.builds(ByMachineRoom, st.one_of(st.none(), st.frozensets(st.sampled_from(["", "1", "2", "12"]))))
anything = st.one_of(
    splitting,
    nearby,
    by_room,
    st.builds(ConsistentHash, st.just(0)),
    st.builds(MachineRoomNearby, by_room, st.just(ROOMS)),
)


@given(anything, queue_lists, id_lists)
def test_all_members_at_once_get_what_each_gets_alone(
    strategy: PositionStrategy, mq_all: list[Queue], cid_all: list[str]
) -> None:
    alone: dict[str, list[int] | None] = {}
    for cid in cid_all:
        try:
            alone[cid] = list(strategy.positions(cid, mq_all, cid_all))
        except AllocationError:
            alone[cid] = None
    try:
        at_once = {cid: list(taken) for cid, taken in strategy.positions_of_all(mq_all, cid_all).items()}
    except AllocationError:
        assert None in alone.values()
    else:
        assert at_once == alone


@given(st.integers(1, 20), queue_lists, id_lists, st.data())
def test_when_a_member_leaves_consistent_hash_moves_only_its_queues(
    virtual_nodes: int, mq_all: list[Queue], cid_all: list[str], data: st.DataObject
) -> None:
    cids = sorted_as_java(set(cid_all))
    assume(len(cids) > 1)
    leaving = data.draw(st.sampled_from(cids))
    strategy, queues = ConsistentHash(virtual_nodes), sort_queues(mq_all)
    before = strategy.positions_of_all(queues, cids)
    after = strategy.positions_of_all(queues, [cid for cid in cids if cid != leaving])
    for cid, taken in after.items():
        assert set(before[cid]) <= set(taken)
