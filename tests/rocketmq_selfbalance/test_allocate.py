"""A whole group: every member for itself, topic by topic; and strategies of one's own."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from protocols import Group, GroupError, Queue, StrategyError
from rocketmq_selfbalance import AllocationError, View, allocate, register
from rocketmq_selfbalance.strategies import ConsistentHash
from tests.rows import rows


def numbers(queues: Sequence[Queue]) -> list[int]:
    return [queue.number for queue in queues]


def group(queues: int, *members: str) -> Group:
    return Group.of(topics={"T": {"b": queues}}, members={member: ["T"] for member in members})


def test_queues_and_members_are_sorted_as_java_sorts_them() -> None:
    crowd = Group.of(
        topics={"T": {"broker-2": 1, "broker-10": 1, "\uffee": 1, "\U0001f600": 1}},
        members={member: ["T"] for member in ("192.168.0.2@1", "192.168.0.10@1", "\uffee", "\U0001f600")},
    )
    owners = {queue.broker: owners for queue, owners in allocate("AVG", crowd).owners.items()}
    assert owners == {
        "broker-10": ("192.168.0.10@1",),
        "broker-2": ("192.168.0.2@1",),
        "\U0001f600": ("\U0001f600",),
        "\uffee": ("\uffee",),
    }


# --- views --------------------------------------------------------------------------------------------------------


def test_who_sees_a_short_member_list_takes_too_much() -> None:
    allocation = allocate("AVG", group(8, "c1", "c2"), views={"c1": View(members=["c1"])})
    assert numbers(allocation["c1"]) == list(range(8))
    assert numbers(allocation.double_owned) == [4, 5, 6, 7]


def test_who_does_not_see_itself_drops_everything() -> None:
    before = allocate("AVG", group(8, "c1", "c2"))
    after = allocate("AVG", group(8, "c1", "c2"), views={"c1": View(members=["c2"])}, previous=before)
    assert after["c1"] == ()
    assert numbers(after.unowned) == [0, 1, 2, 3]


@rows("view", [View(members=[]), View(topics={"T": None}), View(topics={"T": 0}), View(members={"T": []})])
def test_who_sees_no_member_list_or_no_queues_keeps_what_it_had(view: View) -> None:
    four = group(8, "c1", "c2", "c3", "c4")
    before = allocate("AVG", four)
    after = allocate("AVG", four.without("c3", "c4"), views={"c2": view}, previous=before)
    assert numbers(after["c1"]) == [0, 1, 2, 3]
    assert after["c2"] == before["c2"]
    fresh = allocate("AVG", four.without("c3", "c4"), views={"c2": view})
    assert fresh["c2"] == ()


def test_who_still_sees_the_old_route_computes_with_it() -> None:
    allocation = allocate("AVG", group(8, "c1", "c2"), views={"c1": View(topics={"T": {"b": 4}})})
    assert numbers(allocation["c1"]) == [0, 1]
    assert numbers(allocation["c2"]) == [4, 5, 6, 7]
    assert numbers(allocation.unowned) == [2, 3]


def test_queues_that_are_gone_are_nobodys_even_where_an_old_route_has_them() -> None:
    allocation = allocate("AVG", group(4, "c1", "c2"), views={"c2": View(topics={"T": {"b": 8}})})
    assert numbers(allocation["c2"]) == []
    assert numbers(allocation.unowned) == [2, 3]


def test_a_client_asks_a_broker_anew_for_each_topic() -> None:
    both = Group.of(topics={"X": 2, "Y": 2}, members={"c1": ["X", "Y"], "c2": ["X", "Y"]})
    allocation = allocate("AVG", both, views={"c2": View(members={"Y": ["c2"]})})
    assert [(queue.topic, queue.number) for queue in allocation["c2"]] == [("X", 1), ("Y", 0), ("Y", 1)]


@rows("strategy", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM_NEARBY"])
@rows("members", [1, 3, 7])
def test_members_who_see_the_group_as_it_is_get_together_what_each_would_get_alone(strategy: str, members: int) -> None:
    topics = {"Y": {"b-1": 3, "a-1": 2}, "X": {"a-1": 5}, "Z": {"a-1": 0}, "nobody's": {"a-1": 2}}
    read = [["Y", "X"], ["X"], ["Z", "Y", "elsewhere"]]
    everyone = Group.of(topics, {f"m{n}": {"subscribe": read[n % 3], "rack": "a"} for n in range(members)})
    # A view of its own, even of what is there, makes a member ask for itself.
    alone = allocate(strategy, everyone, views={member.id: View() for member in everyone.members})
    assert allocate(strategy, everyone) == alone
    assert allocate(strategy, everyone, previous=alone) == alone


def test_a_view_of_queues_takes_queues_one_by_one() -> None:
    allocation = allocate("AVG", group(4, "c1"), views={"c1": View(topics={"T": [Queue("T", "b", 3)]})})
    assert numbers(allocation["c1"]) == [3]
    with pytest.raises(GroupError, match="is no queue of topic 'T'"):
        allocate("AVG", group(4, "c1"), views={"c1": View(topics={"T": [Queue("U", "b", 3)]})})


# --- configured lists, rooms --------------------------------------------------------------------------------------


def test_a_configured_list_is_the_target_of_every_topic() -> None:
    both = Group.of(topics={"X": {"b": 2}, "Y": {"b": 2}}, members={"c1": ["X", "Y"], "c2": ["X"]})
    listed = [("X", "b", 0), ("Y", "b", 1), ("elsewhere", "b", 0)]
    before = allocate("AVG", both)
    allocation = allocate("CONFIG", both, settings={"message_queue_list": listed}, previous=before)
    assert allocation["c1"] == (Queue("X", "b", 0), Queue("Y", "b", 1))
    assert allocation["c2"] == (Queue("X", "b", 0),), "queues of topics it does not read are dropped at the end"


def test_each_member_may_have_its_own_configured_list() -> None:
    lists = {"c1": [("T", "b", 0), ("T", "b", 1)], "c2": [["T", "b", 1]]}
    allocation = allocate("CONFIG", group(3, "c1", "c2", "c3"), settings={"message_queue_list": lists})
    assert [numbers(queues) for queues in allocation.values()] == [[0, 1], [1], []]
    assert numbers(allocation.unowned) == [2]


def test_nearby_takes_rooms_from_racks_names_mappings_or_functions() -> None:
    rooms = Group.of(
        topics={"T": {"r1-a": 2, "r2-a": 2}}, members={"c-r1": ["T"], "c2": {"subscribe": ["T"], "rack": "r2"}}
    )
    by_room = {
        "c-r1": (Queue("T", "r1-a", 0), Queue("T", "r1-a", 1)),
        "c2": (Queue("T", "r2-a", 0), Queue("T", "r2-a", 1)),
    }
    assert dict(allocate("MACHINE_ROOM_NEARBY", rooms)) == by_room
    swapped = {"broker_rooms": {"r1-a": "r2", "r2-a": "r1"}}
    assert allocate("MACHINE_ROOM_NEARBY", rooms, swapped)["c2"] == by_room["c-r1"]
    one_room = {"broker_rooms": lambda queue: "r", "member_rooms": lambda cid: "r", "inner_strategy": "AVG_BY_CIRCLE"}
    allocation = allocate("MACHINE_ROOM_NEARBY", rooms, one_room)
    assert allocation["c2"] == (Queue("T", "r1-a", 1), Queue("T", "r2-a", 1))


def test_a_strategy_that_fails_leaves_the_allocation_as_it_was() -> None:
    homeless = group(4, "c1", "c2")
    assert dict(allocate("MACHINE_ROOM_NEARBY", homeless)) == {"c1": (), "c2": ()}
    before = allocate("AVG", homeless)
    assert allocate("MACHINE_ROOM_NEARBY", homeless, previous=before) == before


def test_only_the_members_for_whom_a_strategy_fails_keep_what_they_had() -> None:
    rooms = Group.of(topics={"T": {"r1-a": 2, "r2-@a": 2}}, members={"c-r1": ["T"], "c-r2": ["T"]})
    before = allocate("AVG", rooms)
    # Without room names MACHINE_ROOM throws at the first broker named room@broker, which is in r2's share only.
    settings = {"inner_strategy": "MACHINE_ROOM"}
    after = allocate("MACHINE_ROOM_NEARBY", rooms, settings=settings, previous=before)
    assert after["c-r1"] == ()
    assert after["c-r2"] == before["c-r2"]


# --- what users get wrong -----------------------------------------------------------------------------------------


@rows(
    ("arguments", "message"),
    [
        ({"name": "AVERAGE"}, "unknown RocketMQ strategy 'AVERAGE', expected one of AVG, AVG_BY_CIRCLE, "),
        ({"name": "AVG", "settings": {"x": 1}}, "unknown setting 'x' of AVG, it has none"),
        ({"name": "CONSISTENT_HASH", "settings": {"x": 1}}, "unknown setting 'x' .* expected one of virtual_nodes, "),
        ({"name": "CONSISTENT_HASH", "settings": {"virtual_nodes": -1}}, "virtual_nodes is -1, expected .* 0 or more"),
        ({"name": "CONSISTENT_HASH", "settings": {"virtual_nodes": "9"}}, "virtual_nodes is '9', expected a whole"),
        ({"name": "CONSISTENT_HASH", "settings": {"hash_function": 3}}, "hash_function is 3, expected a function"),
        ({"name": "CONFIG", "settings": {"message_queue_list": "T"}}, "message_queue_list is 'T', expected a list"),
        ({"name": "CONFIG", "settings": {"message_queue_list": [("T", 0)]}}, r"is \('T', 0\), expected a list of \(to"),
        ({"name": "MACHINE_ROOM", "settings": {"consumer_idcs": "r1"}}, "consumer_idcs is 'r1', expected a list of"),
        ({"name": "MACHINE_ROOM_NEARBY", "settings": {"inner_strategy": "CONFIG"}}, "expected one of AVG, AVG_BY_CIR"),
        ({"name": "MACHINE_ROOM_NEARBY", "settings": {"broker_rooms": 1}}, "broker_rooms is 1, expected a mapping"),
        ({"name": "AVG", "strategies": {"c1": "NO"}}, "unknown RocketMQ strategy 'NO'"),
    ],
)
def test_an_unknown_strategy_or_setting_is_answered_with_what_is_expected(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(StrategyError, match=message):
        allocate(group=group(2, "c1"), **arguments)  # type: ignore[arg-type]


def test_views_strategies_and_lists_name_members_of_the_group() -> None:
    for arguments in (
        {"name": "AVG", "views": {"c9": View()}},
        {"name": "AVG", "strategies": {"c9": "AVG"}},
        {"name": "CONFIG", "settings": {"message_queue_list": {"c9": []}}},
    ):
        with pytest.raises(GroupError, match="has no member 'c9'"):
            allocate(group=group(2, "c1"), **arguments)  # type: ignore[arg-type]
    for members in ("c1", [1], {"T": "c1"}):
        with pytest.raises(GroupError, match="expected a list of client ids"):
            View(members=members)  # type: ignore[arg-type]
    with pytest.raises(GroupError, match="expected a View"):
        allocate("AVG", group(2, "c1"), views={"c1": ["c1"]})  # type: ignore[dict-item]


GROUP = Group.of(topics={"T": {"b": 3}, "U": {"b": 1}}, members={"c2": ["T", "U"], "c1": ["T", "U"]}, name="g")


def first_takes_all(group: str, own: str, queues: Sequence[Queue], members: Sequence[str]) -> Sequence[Queue]:
    assert (group, list(members)) == ("g", ["c1", "c2"])
    return queues if own == members[0] else []


def test_a_function_is_called_as_a_client_calls_it() -> None:
    register("FIRST", first_takes_all)
    allocation = allocate("FIRST", GROUP)
    assert allocation["c1"] == GROUP.queues
    assert allocation["c2"] == ()


def test_a_class_has_its_parameters_as_settings() -> None:
    @dataclass(frozen=True)
    class Skip:
        skipped: int
        step: int = 1

        def allocate(self, group: str, own: str, queues: Sequence[Queue], members: Sequence[str]) -> Sequence[Queue]:
            return queues[self.skipped :: self.step]

    register("SKIP", Skip)
    assert [queue.number for queue in allocate("SKIP", GROUP, {"skipped": 1})["c1"]] == [1, 2]
    with pytest.raises(StrategyError, match="unknown setting 'x' of SKIP, expected one of skipped, step"):
        allocate("SKIP", GROUP, {"x": 1})
    with pytest.raises(StrategyError, match="cannot be made from its settings: missing a required argument: 'skipped'"):
        allocate("SKIP", GROUP)


def test_an_object_may_be_registered_under_a_name_of_its_own() -> None:
    register("HASH_1", ConsistentHash(1))
    register("HASH", ConsistentHash)
    with_one = allocate("CONSISTENT_HASH", GROUP, {"virtual_nodes": 1})
    assert allocate("HASH_1", GROUP) == allocate("HASH", GROUP, {"virtual_nodes": 1}) == with_one


def test_null_is_nothing_and_an_allocation_error_keeps_what_was_there() -> None:
    def moody(group: str, own: str, queues: Sequence[Queue], members: Sequence[str]) -> Sequence[Queue] | None:
        if queues[0].topic == "T":
            return None
        raise AllocationError("IllegalStateException", "not today")

    register("MOODY", moody)
    before = allocate("AVG", GROUP)
    assert allocate("MOODY", GROUP, previous=before)["c1"] == (Queue("U", "b", 0),)
    assert allocate("MOODY", GROUP)["c1"] == ()


def test_a_custom_strategy_mixes_with_others() -> None:
    register("FIRST", first_takes_all)
    allocation = allocate("AVG", GROUP, strategies={"c1": "FIRST"})
    assert [queue.number for queue in allocation.double_owned] == [2]


def test_what_is_no_queue_of_the_topic_is_refused() -> None:
    register("NUMBERS", lambda group, own, queues, members: [1, 2])
    register("ELSEWHERE", lambda group, own, queues, members: [Queue("V", "b", 0)])
    register("TEXT", lambda group, own, queues, members: "T")
    for name in ("NUMBERS", "ELSEWHERE", "TEXT"):
        with pytest.raises(StrategyError, match=f"strategy {name} returned .* expected queues"):
            allocate(name, GROUP)


def test_what_can_be_no_strategy_is_refused() -> None:
    for nothing in (3, object()):
        with pytest.raises(StrategyError, match="expected a function"):
            register("NOTHING", nothing)
    with pytest.raises(StrategyError, match="has a strategy 'AVG' already"):
        register("AVG", first_takes_all)


def test_a_function_need_not_be_registered() -> None:
    assert allocate(first_takes_all, GROUP)["c1"] == GROUP.queues
    assert allocate("AVG", GROUP, strategies={"c1": first_takes_all}).double_owned == (Queue("T", "b", 2),)
    with pytest.raises(StrategyError, match="expected a function"):
        allocate(3, GROUP)  # type: ignore[arg-type]
