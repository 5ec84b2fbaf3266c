"""Each strategy answers one client about one topic as RocketMQ 5.3.3 does (spec 4.4 to 4.10); what always holds."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from protocols import Queue, sort_queues
from protocols.java import sorted_as_java, string_hash
from rocketmq_selfbalance import AllocationError
from rocketmq_selfbalance.strategies import (
    Averagely,
    AveragelyByCircle,
    ByConfig,
    ByMachineRoom,
    ConsistentHash,
    MachineRoomNearby,
    MachineRoomResolver,
    PositionStrategy,
)
from rocketmq_selfbalance.strategies.consistent_hash import md5_hash
from rocketmq_selfbalance.strategies.machine_room import room_in
from tests.rows import rows

PREFIX = MachineRoomResolver(
    broker_deploy_in=lambda queue: queue.broker.partition("-")[0],
    consumer_deploy_in=lambda cid: cid.partition("-")[0],
)


def queues(count: int, broker: str = "b", topic: str = "T") -> list[Queue]:
    return [Queue(topic, broker, number) for number in range(count)]


def shares(strategy: PositionStrategy, mq_all: Sequence[Queue], *cids: str) -> list[list[int]]:
    return [list(strategy.positions(cid, mq_all, cids)) for cid in dict.fromkeys(cids)]


@rows(
    ("count", "cids", "expected"),
    [
        (10, "c1 c2 c3", [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]),
        (8, "c1 c2 c3", [[0, 1, 2], [3, 4, 5], [6, 7]]),
        (2, "c1 c2 c3 c4", [[0], [1], [], []]),
        (8, "c1 c2 c2 c3", [[0, 1], [2, 3], [6, 7]]),  # 4 and 5 are the second c2's, whom nobody is
    ],
)
def test_averagely_gives_contiguous_blocks(count: int, cids: str, expected: list[list[int]]) -> None:
    assert shares(Averagely(), queues(count), *cids.split()) == expected


@rows(
    ("count", "cids", "expected"),
    [(10, "c1 c2 c3", [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]), (8, "c1 c2 c2 c3", [[0, 4], [1, 5], [3, 7]])],
)
def test_by_circle_deals_in_turn(count: int, cids: str, expected: list[list[int]]) -> None:
    assert shares(AveragelyByCircle(), queues(count), *cids.split()) == expected


@rows(
    ("virtual_nodes", "cids", "expected"),
    [
        (10, "c1 c2 c3", [[2], [0, 3, 4, 7], [1, 5, 6]]),
        (1, "c1 c2 c3", [[], [0, 3, 4, 7], [1, 2, 5, 6]]),
        (10, "c1 c2 c2 c3", [[2], [0, 3, 4, 6, 7], [1, 5]]),  # a listed-twice id has double weight
        (0, "c1 c2 c3", [[], [], []]),
    ],
)
def test_consistent_hash_gives_a_queue_to_the_next_member_on_the_ring(
    virtual_nodes: int, cids: str, expected: list[list[int]]
) -> None:
    assert shares(ConsistentHash(virtual_nodes), queues(8), *cids.split()) == expected


def test_consistent_hash_is_very_uneven_on_two_brokers() -> None:
    mq_all = queues(4, "broker-a", "TopicX") + queues(4, "broker-b", "TopicX")
    cids = ("192.168.0.1@100", "192.168.0.2@100", "192.168.0.3@100")
    assert shares(ConsistentHash(), mq_all, *cids) == [[1, 4], [0], [2, 3, 5, 6, 7]]


def test_the_last_member_wins_a_collision_on_the_ring() -> None:
    assert shares(ConsistentHash(10, lambda text: 7), queues(3), "a", "b", "c") == [[], [], [0, 1, 2]]


def test_a_point_taken_over_by_a_collision_no_longer_counts_for_its_former_member() -> None:
    # "a" has the points 0 and 1, "b" takes both over; the second "a" starts to count at 0 again.
    points = {"a-0": 0, "a-1": 1, "b-0": 0, "b-1": 1}
    strategy = ConsistentHash(2, lambda text: points.get(text, 1))
    assert shares(strategy, queues(2), "a", "b") == [[], [0, 1]]
    assert shares(strategy, queues(2), "a", "b", "a") == [[0, 1], []]


def test_the_hash_is_the_head_of_the_md5_of_utf8() -> None:
    assert md5_hash("c1-0") == 3886541579
    assert md5_hash("\ud83d") == md5_hash("?"), "half a surrogate pair is written as Java does"


def test_a_negative_number_of_virtual_nodes_is_refused() -> None:
    with pytest.raises(AllocationError) as caught:
        ConsistentHash(-1)
    assert (caught.value.type, caught.value.message) == ("IllegalArgumentException", "illegal virtualNodeCnt :-1")


def test_by_config_checks_nothing_and_returns_its_list() -> None:
    configured = (Queue("elsewhere", "b", 3), Queue("T", "b", 0))
    assert ByConfig(configured).allocate(None, None, None, None) == configured
    assert ByConfig(()).allocate("g", "c9", queues(1), ["c1"]) == ()
    assert ByConfig().allocate("g", "c1", queues(1), ["c1"]) is None


def test_machine_room_takes_the_remainder_from_the_end_of_the_kept_queues() -> None:
    mq_all = [*queues(5, "room1@b1"), *queues(4, "room2@b2"), *queues(3, "room3@b3"), *queues(2, "plain")]
    mq_all += queues(2, "room1@x@y")
    strategy = ByMachineRoom(frozenset({"room1", "room3"}))
    assert shares(strategy, mq_all, "c1", "c2", "c3") == [[0, 1, 10], [2, 3, 11], [4, 9]]


@rows(
    ("broker", "room"),
    [
        *[("room1@b", "room1"), ("room1", None), ("room1@x@y", None), ("room1@", None), ("@b", ""), ("r@b@@", "r")],
        *[("", None), ("@", None), ("r@@b", None), (" r@b", " r")],
    ],
)
def test_a_room_is_read_from_names_of_two_parts(broker: str, room: str | None) -> None:
    assert room_in(broker) == room


def test_machine_room_without_rooms_fails_only_where_a_name_carries_one() -> None:
    assert shares(ByMachineRoom(), queues(3, "plain"), "c1") == [[]]
    with pytest.raises(AllocationError) as caught:
        ByMachineRoom().positions("c1", queues(1, "room1@b"), ["c1"])
    assert (caught.value.type, caught.value.message) == ("NullPointerException", None)


@rows(
    ("inner", "expected"),
    [
        (Averagely(), [[0, 1, 2, 8, 9], [3, 4, 10, 11], [5, 6, 7, 12], [13]]),
        (AveragelyByCircle(), [[0, 2, 4, 8, 12], [1, 3, 9, 13], [5, 6, 7, 10], [11]]),
    ],
)
def test_nearby_keeps_rooms_apart_and_shares_those_without_members(
    inner: PositionStrategy, expected: list[list[int]]
) -> None:
    mq_all = queues(5, "r1-x") + queues(3, "r2-x") + queues(6, "r3-x")
    assert shares(MachineRoomNearby(inner, PREFIX), mq_all, "r1-a", "r1-b", "r2-a", "r4-a") == expected


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


def test_a_queue_listed_twice_stays_two() -> None:
    twice = [*queues(3), Queue("T", "b", 2)]
    assert shares(Averagely(), twice, "c1", "c2") == [[0, 1], [2, 3]]
    assert Averagely().allocate("g", "c2", twice, ["c1", "c2"]) == [Queue("T", "b", 2)] * 2


ROOMS = MachineRoomResolver(
    broker_deploy_in=lambda queue: queue.broker[:1],
    consumer_deploy_in=lambda cid: cid[-1:],
)
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


@given(st.one_of(splitting, nearby), queue_lists, id_lists)
def test_equal_inputs_and_different_ids_partition_the_queues(
    strategy: PositionStrategy, mq_all: list[Queue], cid_all: list[str]
) -> None:
    cids = sorted_as_java(set(cid_all))
    taken = [position for cid in cids for position in strategy.positions(cid, mq_all, cids)]
    assert sorted(taken) == list(range(len(mq_all)))


@given(st.frozensets(st.sampled_from(["1", "2"])), queue_lists, id_lists)
def test_machine_room_partitions_the_queues_of_its_rooms(
    rooms: frozenset[str], mq_all: list[Queue], cid_all: list[str]
) -> None:
    cids = sorted_as_java(set(cid_all))
    taken = [position for cid in cids for position in ByMachineRoom(rooms).positions(cid, mq_all, cids)]
    parts = [queue.broker.rstrip("@").split("@") for queue in mq_all]
    assert sorted(taken) == [n for n, part in enumerate(parts) if len(part) == 2 and part[0] in rooms]


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
