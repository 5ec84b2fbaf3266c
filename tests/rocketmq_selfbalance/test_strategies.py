"""Each strategy answers one client about one topic as RocketMQ 5.3.3 does (spec 4.4 to 4.10); what always holds."""

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
from tests.rows import rows

PREFIX = MachineRoomResolver(
    broker_deploy_in=lambda queue: queue.broker.partition("-")[0], consumer_deploy_in=lambda cid: cid.partition("-")[0]
)


def queues(count: int, broker: str = "b", topic: str = "T") -> list[Queue]:
    return [Queue(topic, broker, number) for number in range(count)]


def test_a_negative_number_of_virtual_nodes_is_refused() -> None:
    with pytest.raises(AllocationError) as caught:
        ConsistentHash(-1)
    assert (caught.value.type, caught.value.message) == ("IllegalArgumentException", "illegal virtualNodeCnt :-1")


def test_nearby_names_the_queue_or_the_member_without_a_room() -> None:
    nowhere = MachineRoomResolver(lambda queue: None, lambda cid: "r")
    homeless = MachineRoomResolver(lambda queue: "r", lambda cid: "" if cid == "c2" else "r")
    for resolver, message in (
        (nowhere, "Machine room is null for mq MessageQueue [topic=T, brokerName=b, queueId=0]"),
        (homeless, "Machine room is null for consumer id c2"),
    ):
        with pytest.raises(AllocationError) as caught:
            MachineRoomNearby(Averagely(), resolver).positions("c1", queues(1), ["c1", "c2"])
        assert (caught.value.type, caught.value.message) == ("IllegalArgumentException", message)


def test_nearby_needs_both_its_parts() -> None:
    with pytest.raises(AllocationError, match="NullPointerException: allocateMessageQueueStrategy is null"):
        MachineRoomNearby(None, PREFIX)  # type: ignore[arg-type]
    with pytest.raises(AllocationError, match="NullPointerException: machineRoomResolver is null"):
        MachineRoomNearby(Averagely(), None)  # type: ignore[arg-type]


CHECKED = (
    Averagely(),
    AveragelyByCircle(),
    ConsistentHash(),
    ByMachineRoom(frozenset({"r"})),
    MachineRoomNearby(Averagely(), PREFIX),
)


@rows("strategy", CHECKED)
def test_parameters_are_checked_in_their_order(strategy: PositionStrategy) -> None:
    for cid, mq_all, cid_all, message in (
        (None, None, None, "currentCID is empty"),
        ("", queues(1), ["c1"], "currentCID is empty"),
        ("c1", None, None, "mqAll is null or mqAll empty"),
        ("c1", [], ["c1"], "mqAll is null or mqAll empty"),
        ("c1", queues(1), None, "cidAll is null or cidAll empty"),
        ("c1", queues(1), [], "cidAll is null or cidAll empty"),
    ):
        with pytest.raises(AllocationError) as caught:
            strategy.allocate("g", cid, mq_all, cid_all)
        assert (caught.value.type, caught.value.message) == ("IllegalArgumentException", message)
    assert strategy.allocate("g", "c9", queues(1), ["c1"]) == [], "a stranger gets nothing, and no exception"


def test_strategies_carry_rocketmqs_names() -> None:
    assert [strategy.name for strategy in CHECKED] == [
        *("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY-AVG")
    ]


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
