"""The shared group model: what can be said, and what is refused in one clear line."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols import Allocation, Group, GroupError, Queue, sort_queues
from tests.rows import rows

GROUP = Group.of(
    topics={"orders": 3, "payments": {"broker-b": 1, "broker-a": 2}},
    members={"c1": ["orders", "payments"], "c2": {"subscribe": ["orders"], "instance_id": "i2"}},
)


def test_queues_stand_in_the_order_written() -> None:
    assert GROUP.topics["orders"] == (Queue("orders", "", 0), Queue("orders", "", 1), Queue("orders", "", 2))
    assert [queue.broker for queue in GROUP.topics["payments"]] == ["broker-b", "broker-a", "broker-a"]
    assert [GROUP.queues[n] for n in GROUP.spans["payments"]] == list(GROUP.topics["payments"])


def test_a_group_is_immutable_hashable_and_can_be_sent_elsewhere() -> None:
    with pytest.raises(TypeError):
        GROUP.topics["more"] = ()  # type: ignore[index]
    with pytest.raises(AttributeError):
        GROUP.members = ()  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(GROUP)) == GROUP
    assert hash(pickle.loads(pickle.dumps(GROUP))) == hash(GROUP)


def test_members_come_and_go() -> None:
    assert [member.id for member in GROUP.without("c1").members] == ["c2"]
    assert GROUP.joined_by("c3", ["orders"]).member("c3").subscription == ("orders",)
    with pytest.raises(GroupError, match="no member 'c9'"):
        GROUP.without("c9")


def test_a_pattern_subscribes_to_topics_that_match_it_whole_also_to_later_ones() -> None:
    group = Group.of({"orders": 1, "orders-eu": 1, "my-orders": 1}, {"c1": {"pattern": "orders.*"}})
    assert group.member("c1").subscription == ("orders", "orders-eu")
    assert group.with_queues({"orders-us": 2}).member("c1").subscription == ("orders", "orders-eu", "orders-us")


def test_racks_of_a_changed_topic_are_forgotten() -> None:
    group = Group.of({"t": 1, "u": 1}, {"c1": ["t"]}, replica_racks={"t": [["a"]], "u": [["b"]]})
    assert dict(group.with_queues({"t": 2}).replica_racks) == {"u": (("b",),)}


@rows(
    ("topics", "members", "message"),
    [
        ({"t": -1}, {}, "topic 't'.*-1.*expected 0 or more"),
        ({"t": {"a": "2"}}, {}, "topic 't' on broker 'a'"),
        ({"t": 1}, {"c": {"subscribes": ["t"]}}, "member 'c': unknown field 'subscribes', expected subscribe"),
        ({"t": 1}, {"c": {"subscribe": "t"}}, "expected a list of topics"),
        ({"t": 1}, {"c": {"pattern": "("}}, "is no regular expression"),
        ({"t": 1}, {"c": {"pattern": "t", "subscribe": ["t"]}}, "either subscribe or pattern"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(topics, members, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(GroupError, match=message) as raised:
        Group.of(topics, members)
    assert "\n" not in str(raised.value)


def test_two_members_with_one_id_are_refused() -> None:
    with pytest.raises(GroupError, match="'c1' is listed twice"):
        GROUP.joined_by("c1", [])


def test_an_allocation_checks_itself() -> None:
    orders, payments = GROUP.topics["orders"], GROUP.topics["payments"]
    whole = Allocation(GROUP, {"c1": [*payments, orders[0]], "c2": orders[1:]})
    whole.check()
    assert whole["c1"] == sort_queues([orders[0], *payments])
    twice = Allocation(GROUP, {"c1": [*orders, *payments], "c2": orders[:1]})
    assert twice.double_owned == orders[:1]
    with pytest.raises(GroupError, match="2 owners: c1, c2"):
        twice.check()
    missing = Allocation(GROUP, {"c1": payments, "c2": orders[:2]})
    assert missing.unowned == (orders[2],)
    with pytest.raises(GroupError, match="has no owner"):
        missing.check()
    stranger = Allocation(GROUP, {"c1": orders, "c2": payments})
    assert stranger.unsubscribed == tuple(("c2", queue) for queue in sort_queues(payments))
    with pytest.raises(GroupError, match="without subscribing"):
        stranger.check()


def test_an_allocation_knows_its_group() -> None:
    assert Allocation(GROUP, {})["c2"] == ()
    with pytest.raises(GroupError, match="no member 'c7'"):
        Allocation(GROUP, {"c7": []})
    with pytest.raises(GroupError, match="is no queue of the group's topics"):
        Allocation(GROUP, {"c1": [Queue("orders", "", 9)]})


def test_queues_that_are_gone_may_be_owned_where_that_is_said() -> None:
    gone = Queue("orders", "", 9)
    orders, payments = GROUP.topics["orders"], GROUP.topics["payments"]
    owned = {"c1": [*orders, *payments, gone], "c2": [orders[0], gone]}
    allocation = Allocation(GROUP, owned, gone=[gone, Queue("orders", "", 10)])
    assert allocation.vanished == (gone,)
    assert allocation["c2"] == (orders[0], gone)
    assert gone not in allocation.owners
    assert allocation.double_owned == orders[:1]
    assert allocation.unowned == ()
    with pytest.raises(GroupError, match="does not have it any more"):
        allocation.check()
    assert Allocation(GROUP, {"c1": orders}, gone=[gone]).vanished == ()
    with pytest.raises(GroupError, match="is no queue of the group's topics"):
        Allocation(GROUP, owned, gone=[Queue("orders", "", 10)])


names = st.text(alphabet="aB-1\ue000\ufffd\U00010000\U0001f600", max_size=3)


@given(st.lists(st.tuples(names, names, st.integers(0, 12)), max_size=8))
def test_queues_sort_as_java_compares_strings(queues: list[tuple[str, str, int]]) -> None:
    def units(text: str) -> list[int]:
        raw = text.encode("utf-16-be")
        return [raw[i] << 8 | raw[i + 1] for i in range(0, len(raw), 2)]

    records = [Queue(*each) for each in queues]
    expected = sorted(queues, key=lambda each: (units(each[0]), units(each[1]), each[2]))
    assert sort_queues(records) == tuple(sorted(records)) == tuple(Queue(*each) for each in expected)
