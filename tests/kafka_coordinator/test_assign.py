"""The Python door to Kafka's assignors."""

import subprocess
import sys
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.conformance.kafka_coordinator_shapes import group_state
from kafka_coordinator import assign, register
from kafka_coordinator.assignors.translation import Numbers, topic_id
from kafka_coordinator.assignors.uniform import uniform
from kafka_coordinator.messages import OffsetCommit, OffsetFetch
from protocols import Allocation, Group, GroupError, Queue, StrategyError
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk
from tests.rows import rows

BUILT_IN = ("range", "roundrobin", "sticky", "cooperative-sticky", "server-range", "uniform")

ORDERS = Group.of(
    topics={"orders": 6, "payments": 4},
    members={"c1": ["orders", "payments"], "c2": ["orders"], "c3": ["payments", "orders"]},
)


def _texts(allocation: Allocation) -> dict[str, str]:
    return {member: " ".join(map("{0.topic}-{0.number}".format, queues)) for member, queues in allocation.items()}


def test_static_members_and_racks_come_from_the_group() -> None:
    static = Group.of(topics={"t": 2}, members={"a": ["t"], "b": {"subscribe": ["t"], "instance_id": "1"}})
    assert _texts(assign("range", static)) == {"a": "t-1", "b": "t-0"}
    racks = Group.of(
        topics={"t": 2},
        members={"a": {"subscribe": ["t"], "rack": "x"}, "b": {"subscribe": ["t"], "rack": "y"}},
        replica_racks={"t": [["y"], ["x"]]},
    )
    assert _texts(assign("range", racks)) == {"a": "t-1", "b": "t-0"}


def test_cooperative_sticky_withholds_what_its_owner_must_give_up_first() -> None:
    two = Group.of(topics={"t": 6}, members={"C0": ["t"], "C1": ["t"]})
    before = assign("cooperative-sticky", two)
    three = two.joined_by("C2", ["t"])
    first = assign("cooperative-sticky", three, before)
    assert first["C2"] == ()
    assert {queue.number: member for queue, member in first.withheld.items()} == {4: "C2", 5: "C2"}
    second = assign("cooperative-sticky", three, first)
    assert [queue.number for queue in second["C2"]] == [4, 5]
    assert not second.withheld


@rows("name", BUILT_IN)
def test_partition_k_is_the_kth_queue_of_its_topic(name: str) -> None:
    plain = Group.of(topics={"b": 4, "a": 3}, members={"c1": ["a", "b"], "c2": ["b"]})
    written = Group.of(
        topics={"b": {"broker-z": 2, "broker-a": 2}, "a": {"x": 3}}, members={"c1": ["a", "b"], "c2": ["b"]}
    )
    kth = {queue: written.topics[queue.topic][queue.number] for queue in plain.queues}
    expected = assign(name, plain)
    got = assign(name, written)
    for member in plain.members:
        assert list(got[member.id]) == sorted(kth[queue] for queue in expected[member.id])
    expected, got = assign(name, plain.without("c2"), expected), assign(name, written.without("c2"), got)
    assert set(got["c1"]) == {kth[queue] for queue in expected["c1"]}


def test_claims_of_queues_and_members_that_are_gone_count_no_more() -> None:
    before = assign("uniform", ORDERS)
    after = assign("uniform", ORDERS.without("c2").with_queues({"orders": 3}), before)
    assert not after.unowned
    assert all(queue.number < 3 for queues in after.values() for queue in queues if queue.topic == "orders")


@rows("name", ["sticky", "cooperative-sticky"])
def test_queues_that_are_gone_stay_with_who_claims_them_and_later_ones_get_second_owners(name: str) -> None:
    group = Group.of({"t": 6, "u": 2}, {"m1": ["t"], "m2": ["t", "u"], "m3": ["u"]})
    before = {"m1": group.topics["t"][:3], "m2": group.topics["t"][3:], "m3": group.topics["u"]}
    after = assign(name, group.with_queues({"t": 3}), before)
    assert after.vanished == group.topics["t"][3:]
    assert set(after["m2"]) >= set(after.vanished)
    # The search for queues without owner halts at t-3: what comes after it is dealt again, u-0 to its own owner.
    assert after.double_owned == group.topics["u"][1:]
    assert set(group.topics["u"]) <= set(after["m3"])
    assert all(len(set(queues)) == len(queues) for queues in after.values())
    with pytest.raises(GroupError, match="does not have it any more"):
        after.check()
    again = Allocation(after.group, after, gone=after.vanished)
    assert (again, again.vanished) == (after, after.vanished)
    assert not any(queue in after.owners for queue in after.vanished)


@rows("name", ["sticky", "uniform"])
def test_of_a_queue_claimed_twice_everybody_else_keeps_his_own(name: str) -> None:
    group = Group.of(topics={"t": 4}, members={"a": ["t"], "b": ["t"]})
    twice = Allocation(group, {"a": group.topics["t"][:2], "b": group.topics["t"][1:3]})
    after = assign(name, group, twice)
    after.check()
    assert Queue("t", "", 0) in after["a"]
    assert Queue("t", "", 2) in after["b"]


@rows("name", BUILT_IN)
def test_topics_that_do_not_exist_and_repetitions_do_no_harm(name: str) -> None:
    odd = Group.of(topics={"t": 3}, members={"a": ["t", "gone", "t"], "b": ["t"]})
    assert sorted(map(len, assign(name, odd).values())) == [1, 2]
    assert len(assign(name, Group.of(topics={"t": 3}, members={}))) == 0
    assert not any(assign(name, Group.of(topics={}, members={"a": ["gone"]})).values())


def test_one_common_pattern_makes_a_group_homogeneous_and_different_ones_do_not() -> None:
    topics = {"t1": 5, "t2": 3}
    same = Group.of(topics, {id: {"pattern": "t."} for id in "abc"})
    named = Group.of(topics, {id: ["t1", "t2"] for id in "abc"})
    mixed = Group.of(topics, {"a": {"pattern": "t."}, "b": {"pattern": "t[12]"}, "c": {"pattern": "t."}})
    assert _texts(assign("uniform", same)) == _texts(assign("uniform", named))
    assert _texts(assign("uniform", mixed)) != _texts(assign("uniform", named))


def test_topic_ids_can_be_given_as_numbers_or_as_kafka_prints_them() -> None:
    group = Group.of(topics={"x": 1, "y": 1}, members={"a": ["x", "y"], "b": ["x", "y"]})
    forwards = assign("uniform", group, settings={"topic_ids": {"x": 1, "y": "AAAAAAAAAAAAAAAAAAAAAg"}})
    backwards = assign("uniform", group, settings={"topic_ids": {"x": 2, "y": 1}})
    assert [forwards[id][0].topic for id in "ab"] == ["x", "y"]
    assert [backwards[id][0].topic for id in "ab"] == ["y", "x"]
    assert topic_id("x") == topic_id("x") != topic_id("y")


@rows(
    ("name", "given", "text"),
    [
        ("rnage", {}, "unknown Kafka strategy 'rnage', expected one of range, roundrobin, sticky,"),
        ("range", {"generation": 1}, "unknown setting 'generation' of range, it has none"),
        ("sticky", {"generaton": 1}, "unknown setting 'generaton' of sticky, expected one of generation"),
        ("sticky", {"generation": "x"}, "setting generation is 'x', expected a whole number"),
        ("uniform", {"topic_ids": {"orders": "short"}}, "topic_ids: 'short' for topic 'orders'"),
        ("uniform", {"topic_ids": {"orders": "é"}}, "topic_ids: 'é' for topic 'orders'"),
        ("uniform", {"topic_ids": {"nope": 1}}, "the group has no topic 'nope'"),
        ("uniform", {"topic_ids": {"orders": 7, "payments": 7}}, "two topics have one id"),
        ("server-range", {"topic_ids": [1]}, "topic_ids is [1], expected"),
    ],
)
def test_unknown_names_and_settings_are_one_clear_line(name: str, given: Mapping[str, object], text: str) -> None:
    with pytest.raises(StrategyError) as caught:
        assign(name, ORDERS, settings=given)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_function_is_a_strategy() -> None:
    def all_to_one(group: Group, previous: Allocation | None, *, who: str = "c1") -> dict[str, list[Queue]]:
        return {who: [queue for queue in group.queues if previous is None or queue in previous["c2"]]}

    register("all-to-one", all_to_one)
    assert set(assign("all-to-one", ORDERS)["c1"]) == set(ORDERS.queues)
    after = assign("all-to-one", ORDERS, previous=assign("range", ORDERS), settings={"who": "c3"})
    assert after["c3"] == assign("range", ORDERS)["c2"]
    assert assign(all_to_one, ORDERS) == assign("all-to-one", ORDERS)
    with pytest.raises(StrategyError, match="unknown setting 'whom' of all-to-one, expected one of who"):
        assign("all-to-one", ORDERS, settings={"whom": "c3"})


def test_a_class_is_a_strategy_and_its_parameters_are_its_settings() -> None:
    class Better:
        def __init__(self, like: str = "range") -> None:
            self.like = like

        def __call__(self, group: Group, previous: Allocation | None) -> Allocation:
            return assign(self.like, group, previous)

    class WithMethod:
        def assign(self, group: Group, previous: Allocation | None) -> Allocation:
            return assign("roundrobin", group)

    register("better", Better)
    register("with-method", WithMethod)
    register("object", WithMethod())
    assert assign("better", ORDERS) == assign("range", ORDERS)
    assert assign("better", ORDERS, settings={"like": "roundrobin"}) == assign("roundrobin", ORDERS)
    assert assign("with-method", ORDERS) == assign("object", ORDERS) == assign("roundrobin", ORDERS)
    with pytest.raises(StrategyError, match="unknown setting 'x' of better, expected one of like"):
        assign("better", ORDERS, settings={"x": 1})


def test_what_cannot_be_a_strategy_or_an_answer_is_refused() -> None:
    with pytest.raises(StrategyError, match="expected a function"):
        register("number", 7)
    with pytest.raises(StrategyError, match="choose another name"):
        register("range", lambda group, previous: {})
    register("seven", lambda group, previous: 7)
    with pytest.raises(StrategyError, match="seven returned 7, expected an Allocation or a mapping"):
        assign("seven", ORDERS)
    register("stranger", lambda group, previous: {"nobody": []})
    with pytest.raises(ValueError, match="no member 'nobody'"):
        assign("stranger", ORDERS)


@given(
    st.sampled_from(BUILT_IN),
    st.dictionaries(st.sampled_from(["t", "T", "é"]), st.integers(0, 7), min_size=1),
    st.data(),
)
def test_trusted_allocations_are_what_checked_ones_are(name: str, topics: dict[str, int], data: st.DataObject) -> None:
    subscription = st.lists(st.sampled_from(sorted(topics)), unique=True, min_size=1)
    ids = data.draw(st.lists(st.text(max_size=3), unique=True, min_size=1, max_size=6))
    group = Group.of(topics, {id: data.draw(subscription) for id in ids})
    previous = assign(name, group)
    for allocation in (previous, assign(name, group, previous)):
        allocation.check()
        assert allocation == Allocation(group, allocation)


@given(st.dictionaries(st.sampled_from(["t", "T", "é", "u"]), st.integers(1, 9), min_size=1), st.data())
def test_uniform_keeps_what_members_had_as_if_their_claims_were_read_one_by_one(
    topics: dict[str, int], data: st.DataObject
) -> None:
    ids = data.draw(st.lists(st.text(max_size=3), unique=True, min_size=1, max_size=6))
    group = Group.of(topics, dict.fromkeys(ids, sorted(topics)))
    queues = data.draw(st.permutations(group.queues))
    gone = [Queue("t", "", 99)] if data.draw(st.booleans()) else []
    twice = queues[:1] if data.draw(st.booleans()) else []
    owners = [data.draw(st.sampled_from([*ids, "who left", None])) for _ in queues]
    made_anew = data.draw(st.booleans())
    previous: dict[str, list[Queue]] = {id: [] for id in ids}
    for queue, owner in zip(queues, owners, strict=True):
        if owner is not None:
            previous.setdefault(owner, []).append(Queue(*queue) if made_anew else queue)
    previous[ids[-1]] += [*gone, *twice]
    numbers = Numbers.of(group)
    one_by_one = numbers.for_server(previous)
    assert one_by_one.held is None
    assert assign("uniform", group, previous) == numbers.allocation(uniform(one_by_one, same_subscriptions=True))


def test_the_package_is_quick_to_import() -> None:
    heavy = "import sys, kafka_coordinator; print({'numpy', 'networkx', 'pandas', 'pyspark'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True).stdout.strip() == "set()"


BEYOND, BELOW = "\U0001f600", "\ufb00"
"""In the order of UTF-16 units, which is not that of code points."""


@rows("name", ["range", "roundrobin", "server-range"])
def test_static_members_go_by_the_units_of_their_instance_ids(name: str) -> None:
    members = {"a": {"subscribe": ["t"], "instance_id": BELOW}, "b": {"subscribe": ["t"], "instance_id": BEYOND}}
    assert assign(name, Group.of({"t": 1}, members))["b"] == (Queue("t", "", 0),)


def test_the_coordinator_lists_groups_offsets_and_topics_so() -> None:
    desk = Desk()
    commits = tuple(((topic, 0), 1, "") for topic in (BELOW, BEYOND))
    for group in (BELOW, BEYOND):
        desk.send(OffsetCommit(desk.number(), group, "", -1, None, commits))
    fetched = desk.send(OffsetFetch(desk.number(), BELOW, None))
    assert [topic for (topic, _), _, _ in fetched.offsets] == [BEYOND, BELOW]
    assert [group for group, *_ in desk.listed()] == [BEYOND, BELOW]
    desk.stable(1)
    desk.group.subscribed = frozenset({BELOW, BEYOND, "t"})
    assert group_state(desk.group)["subscribed_topics"] == ["t", BEYOND, BELOW]
