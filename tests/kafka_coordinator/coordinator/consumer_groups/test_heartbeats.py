"""ConsumerGroupHeartbeat: the executed runs of the specification (6.11, 6.12), and what is refused."""

from kafka_coordinator.coordinator.consumer_groups.states import (
    ASSIGNING,
    EMPTY,
    M_STABLE,
    RECONCILING,
    STABLE,
    UNRELEASED,
    UNREVOKED,
)
from protocols.facts import Granted, RebalanceBegan, RebalanceEnded
from tests.kafka_coordinator.coordinator.consumer_groups.consumer_group_desk import ConsumerDesk, partitions
from tests.rows import rows


def test_a_partition_moves_with_the_heartbeats_of_the_two_members() -> None:
    desk = ConsumerDesk()
    first = desk.join("A")
    assert (first.member_epoch, first.assignment) == (1, partitions("t", 0, 1, 2, 3))
    second = desk.join("B")
    assert (second.member_epoch, second.assignment) == (2, ())
    assert (desk.epochs(), desk.state, desk.standing("B")) == ((2, 2), RECONCILING, (2, UNRELEASED))
    told = desk.beat("A", 1)
    assert (told.member_epoch, told.assignment) == (1, partitions("t", 0, 1))
    assert desk.standing("A") == (1, UNREVOKED)
    acknowledged = desk.beat("A", 1, owned=partitions("t", 0, 1))
    assert (acknowledged.member_epoch, acknowledged.assignment) == (2, None)
    assert desk.state == RECONCILING
    given = desk.beat("B", 2)
    assert (given.member_epoch, given.assignment) == (2, partitions("t", 2, 3))
    assert desk.state == STABLE
    assert desk.beat("A", 0, rebalance_timeout_ms=1, topics=("t",), owned=()).error == "FENCED_MEMBER_EPOCH"
    assert desk.beat("A", 1).error == "FENCED_MEMBER_EPOCH"
    assert desk.beat("A", 1, owned=partitions("t", 0, 1)).member_epoch == 2
    assert desk.beat("A", 3, owned=partitions("t", 0, 1)).error == "FENCED_MEMBER_EPOCH"
    assert desk.beat("X", 5, owned=()).error == "UNKNOWN_MEMBER_ID"
    assert desk.beat("B", -1).member_epoch == -1
    assert (desk.epochs(), desk.state) == ((3, 2), ASSIGNING)
    last = desk.beat("A", 2)
    assert (last.member_epoch, last.assignment, desk.state) == (3, partitions("t", 0, 1, 2, 3), STABLE)
    desk.advance(60_000)
    assert (desk.state, list(desk.group.members)) == (EMPTY, [])


def test_a_static_member_leaves_for_a_while_and_another_process_takes_its_place() -> None:
    desk = ConsumerDesk()
    desk.join("S1", instance_id="I")
    assert desk.join("S2", instance_id="I").error == "UNRELEASED_INSTANCE_ID"
    assert desk.beat("S1", -2, instance_id="I").member_epoch == -2
    assert (desk.epochs(), desk.state) == ((1, 1), RECONCILING)
    back = desk.join("S2", instance_id="I")
    assert (back.member_epoch, back.assignment) == (1, partitions("t", 0, 1, 2, 3))
    assert (desk.epochs(), desk.state) == ((1, 1), STABLE)
    assert desk.beat("S1", -1, instance_id="I").error == "FENCED_INSTANCE_ID"
    assert desk.beat("S2", 1, instance_id="J").error == "UNKNOWN_MEMBER_ID"


def test_a_static_member_that_does_not_come_back_is_removed_by_its_session() -> None:
    desk = ConsumerDesk()
    desk.join("S", instance_id="I")
    desk.beat("S", -2, instance_id="I")
    desk.advance(44_999)
    assert desk.state == RECONCILING
    desk.advance(1)
    assert desk.state == EMPTY


def test_who_does_not_give_up_in_time_is_fenced_with_its_epoch() -> None:
    desk = ConsumerDesk({"group.consumer.session.timeout.ms": 60_000})
    desk.join("A")
    desk.join("B")
    desk.beat("A")
    desk.advance(29_999)
    desk.beat("A")
    assert desk.standing("A") == (1, UNREVOKED)
    desk.advance(1)
    assert list(desk.group.members) == ["B"]
    assert desk.beat("A", 1).error == "UNKNOWN_MEMBER_ID"
    assert desk.beat("B").assignment == partitions("t", 0, 1, 2, 3)


def test_a_member_that_is_away_need_not_give_up_in_time() -> None:
    desk = ConsumerDesk({"group.consumer.session.timeout.ms": 60_000})
    desk.join("A", instance_id="I")
    desk.join("B")
    desk.beat("A", instance_id="I")
    assert desk.standing("A") == (1, UNREVOKED)
    desk.beat("A", -2, instance_id="I")
    desk.advance(59_999)
    desk.beat("B")
    assert "A" in desk.group.members


@rows(
    ("fields", "error"),
    [
        ({"member_id": ""}, "INVALID_REQUEST"),
        ({"rebalance_timeout_ms": -1}, "INVALID_REQUEST"),
        ({"topics": None}, "INVALID_REQUEST"),
        ({"owned": None}, "INVALID_REQUEST"),
        ({"owned": (("t", 0),)}, "INVALID_REQUEST"),
        ({"instance_id": ""}, "INVALID_REQUEST"),
        ({"instance_id": " "}, "INVALID_REQUEST"),
        ({"rack": ""}, "INVALID_REQUEST"),
        ({"assignor": "sticky"}, "UNSUPPORTED_ASSIGNOR"),
        ({"topics": None, "regex": "("}, "INVALID_REGULAR_EXPRESSION"),
        ({"topics": None, "regex": "(?=t)t"}, "INVALID_REGULAR_EXPRESSION"),
        ({"topics": ()}, "NONE"),
        ({"topics": None, "regex": ""}, "NONE"),
        ({"member_id": "", "version": 0}, "NONE"),
    ],
)
def test_what_a_heartbeat_that_joins_must_say(fields: dict[str, object], error: str) -> None:
    desk = ConsumerDesk()
    answer = desk.join(**{"member_id": "A", **fields})
    assert answer.error == error
    assert (desk.state == STABLE) == (error == "NONE")
    if error != "NONE":
        assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == (None, 0, 0)


@rows(
    ("epoch", "fields", "error"),
    [
        (5, {}, "GROUP_ID_NOT_FOUND"),
        (-1, {}, "GROUP_ID_NOT_FOUND"),
        (-2, {}, "INVALID_REQUEST"),
        (-2, {"instance_id": "I"}, "GROUP_ID_NOT_FOUND"),
        (-3, {}, "INVALID_REQUEST"),
    ],
)
def test_where_there_is_no_group(epoch: int, fields: dict[str, object], error: str) -> None:
    assert ConsumerDesk().beat("A", epoch, **fields).error == error


def test_a_group_has_room_for_so_many() -> None:
    desk = ConsumerDesk({"group.consumer.max.size": 1})
    desk.join("A")
    assert desk.join("B").error == "GROUP_MAX_SIZE_REACHED"
    assert desk.beat("A").error == "NONE"


def test_a_broker_without_the_consumer_protocol_says_so() -> None:
    desk = ConsumerDesk({"group.coordinator.rebalance.protocols": "classic"})
    assert desk.join("A").error == "UNSUPPORTED_VERSION"


def test_the_assignor_with_the_most_votes_computes_the_target() -> None:
    desk = ConsumerDesk(topics={"t": 3, "u": 3})
    both = ("t", "u")
    desk.join("A", both)
    desk.join("B", both, assignor="range")
    assert set(desk.group.target["A"]) == {*partitions("t", 0, 1), *partitions("u", 0, 1)}
    assert desk.describe().assignor == "range"
    desk.join("C", both, assignor="uniform")
    desk.join("D", both, assignor="uniform")
    assert desk.describe().assignor == "uniform"
    assert sorted(map(len, desk.group.target.values())) == [1, 1, 2, 2]


def test_topics_that_change_are_seen_by_the_next_heartbeat_of_anybody() -> None:
    desk = ConsumerDesk(topics={"t": 2})
    desk.join("A", ("t", "u"))
    assert desk.epochs() == (1, 1)
    desk.topics({"t": 2, "v": 1})
    assert desk.beat("A").assignment is None
    desk.topics({"t": 2, "u": 1})
    assert desk.beat("A").assignment == (("t", 0), ("t", 1), ("u", 0))
    desk.topics({"t": 2, "u": 1}, racks={"u": (("r",),)})
    assert desk.beat("A").assignment is None
    assert desk.epochs() == (3, 3)
    desk.topics({"u": 1}, racks={"u": (("r",),)})
    assert desk.beat("A").assignment == (("u", 0),)
    assert desk.describe().members[0].assignment == (("u", 0),)
    desk.topics({"u": 1}, ids={"u": 77})
    desk.acknowledge("A")
    assert desk.beat("A").member_epoch == 5


def test_a_pattern_is_resolved_beside_the_requests_and_again_after_ten_seconds() -> None:
    desk = ConsumerDesk(topics={"orders": 1, "other": 1})
    assert desk.join("A", None, regex="ord.*").assignment == ()
    assert (desk.epochs(), desk.state) == ((2, 1), ASSIGNING)
    assert desk.beat("A").assignment == (("orders", 0),)
    desk.topics({"orders": 1, "other": 1, "ordinary": 1})
    assert desk.beat("A").assignment is None
    desk.advance(10_000)
    desk.beat("A")
    assert desk.state == STABLE
    desk.advance(1)
    desk.beat("A")
    assert desk.state == ASSIGNING
    assert desk.beat("A").assignment == (("orders", 0), ("ordinary", 0))
    assert desk.join("B", None, regex="ord.*").member_epoch == 4
    desk.settle()
    desk.beat("A", regex="", topics=("other",))
    assert desk.group.resolved.keys() == {"ord.*"}
    desk.beat("B", regex="x")
    assert desk.group.resolved.keys() == set()


def test_patterns_are_resolved_again_after_their_longest_age() -> None:
    desk = ConsumerDesk({"group.consumer.regex.refresh.interval.ms": 30_000}, topics={"t": 1})
    desk.join("A", None, regex="t")
    desk.beat("A")
    first = desk.group.resolved["t"].at
    desk.advance(30_000)
    desk.beat("A")
    assert desk.group.resolved["t"].at == first
    desk.advance(1)
    desk.beat("A")
    assert desk.group.resolved["t"].at == 30_001


def test_resolving_takes_the_time_that_the_broker_takes() -> None:
    desk = ConsumerDesk()
    core = desk.world.node.core
    core.settings = type(core.settings)(offsets_topic_num_partitions=1, resolve_regex_ms=700)
    desk.join("A", None, regex="t")
    desk.advance(699)
    assert desk.state == STABLE
    desk.advance(1)
    assert desk.state == ASSIGNING


def test_offsets_are_committed_and_fetched_with_the_very_epoch() -> None:
    desk = ConsumerDesk({"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 30_000})
    desk.join("A")
    assert desk.commit("A", 1) == "NONE"
    assert desk.commit("A", 0) == "STALE_MEMBER_EPOCH"
    assert desk.commit("A", 1, version=8) == "UNSUPPORTED_VERSION"
    assert desk.commit("B", 1) == "UNKNOWN_MEMBER_ID"
    assert desk.commit() == "UNKNOWN_MEMBER_ID"
    assert desk.fetch("A", 1) == ("NONE", {("t", 0): 7})
    assert desk.fetch("A", 2) == ("STALE_MEMBER_EPOCH", {})
    assert desk.fetch("B", 1) == ("UNKNOWN_MEMBER_ID", {})
    assert desk.fetch() == ("NONE", {("t", 0): 7})
    assert desk.delete_offset("t") == "GROUP_SUBSCRIBED_TO_TOPIC"
    assert desk.delete() == "NON_EMPTY_GROUP"
    desk.beat("A", -1)
    assert desk.commit() == "NONE"
    assert desk.delete_offset("u") == "NONE"
    assert desk.listed() == (("g", "consumer", EMPTY, "Consumer"),)
    assert desk.listed(types=("classic",)) == ()
    assert desk.listed(states=("empty",), types=("CONSUMER",)) != ()
    desk.advance(90_000)
    assert desk.describe().error == "GROUP_ID_NOT_FOUND"


def test_a_group_of_no_members_can_be_deleted_with_its_offsets() -> None:
    desk = ConsumerDesk()
    desk.join("A")
    desk.commit("A", 1)
    desk.beat("A", -1)
    assert desk.delete() == "NONE"
    assert desk.fetch() == ("NONE", {})


def test_the_observer_sees_grants_and_when_a_rebalance_begins_and_ends() -> None:
    desk = ConsumerDesk()
    desk.join("A")
    desk.join("B")
    desk.settle()
    began = [fact for fact in desk.facts if isinstance(fact, RebalanceBegan)]
    ended = [fact for fact in desk.facts if isinstance(fact, RebalanceEnded)]
    assert [(fact.by, fact.generation) for fact in began] == [("A", 1), ("B", 2)]
    assert [(fact.generation, fact.changed) for fact in ended] == [(1, True), (2, True)]
    granted = [
        (fact.member, [queue.number for queue in fact.queues]) for fact in desk.facts if isinstance(fact, Granted)
    ]
    assert granted == [("A", [0, 1, 2, 3]), ("A", [0, 1]), ("B", [2, 3])]
    desk.facts.clear()
    desk.beat("B", -1)
    assert ("B", ()) in [(fact.member, fact.queues) for fact in desk.facts if isinstance(fact, Granted)]
    assert desk.standing("A") == (2, M_STABLE)
