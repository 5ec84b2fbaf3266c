"""The shared group model, sets of offsets, Java's orders."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols import Allocation, Group, GroupError, Queue, sort_queues
from protocols.java import (
    entry_order,
    grown_size,
    sorted_as_java,
    sorted_pairs,
    spread,
    string_entry_order,
    string_hash,
)
from protocols.offsets import OffsetSet
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


RANGES = st.tuples(st.integers(0, 30), st.integers(0, 30))
STEPS = st.lists(st.tuples(st.sampled_from(["add", "remove"]), RANGES), max_size=20)


def textbook(steps: list[tuple[str, tuple[int, int]]]) -> tuple[OffsetSet, set[int]]:
    ours, plain = OffsetSet(), set[int]()
    for step, (first, end) in steps:
        offsets = set(range(first, end))
        if step == "add":
            assert ours.add(first, end) == len(offsets - plain)
            plain |= offsets
        else:
            assert ours.remove(first, end) == len(offsets & plain)
            plain -= offsets
    return ours, plain


@given(STEPS)
def test_it_holds_what_a_set_holds(steps: list[tuple[str, tuple[int, int]]]) -> None:
    ours, plain = textbook(steps)
    assert {offset for first, end in ours.ranges() for offset in range(first, end)} == plain
    assert all((offset in ours) == (offset in plain) for offset in range(-1, 32))
    assert len(ours) == len(plain)
    assert bool(ours) == bool(plain)
    if plain:
        assert (ours.first, ours.end - 1) == (min(plain), max(plain))
        assert ours.first_range() == ours.ranges()[0]


@given(STEPS)
def test_ranges_are_in_order_and_never_touch(steps: list[tuple[str, tuple[int, int]]]) -> None:
    ours, plain = textbook(steps)
    bounds = [bound for each in ours.ranges() for bound in each]
    assert bounds == sorted(set(bounds))
    assert ours == OffsetSet((offset, offset + 1) for offset in sorted(plain, reverse=True))


@given(STEPS, RANGES)
def test_questions_about_a_part_of_it(steps: list[tuple[str, tuple[int, int]]], part: tuple[int, int]) -> None:
    ours, plain = textbook(steps)
    first, end = part
    missing = [offset for offset in range(first, end) if offset not in plain]
    assert ours.count(first, end) == max(end - first, 0) - len(missing)
    assert [offset for begin, stop in ours.gaps(first, end) for offset in range(begin, stop)] == missing
    assert ours.last_missing(first, end) == (missing[-1] if missing else None)
    assert ours.next_missing(first) == next(offset for offset in range(first, 40) if offset not in plain)


@given(STEPS, STEPS)
def test_the_union_counts_what_is_new_and_copies_are_independent(one: list, other: list) -> None:
    (ours, plain), (theirs, others) = textbook(one), textbook(other)
    union = ours.copy()
    assert union.update(theirs.ranges()) == len(others - plain)
    assert len(union) == len(plain | others)
    assert len(ours) == len(plain)


def test_size_does_not_matter() -> None:
    ours = OffsetSet([(0, 10**15)])
    assert ours.remove(10**9, 10**9 + 1) == 1
    assert ours.ranges() == ((0, 10**9), (10**9 + 1, 10**15))
    assert repr(OffsetSet([(3, 5), (1, 2)])) == "OffsetSet([(1, 2), (3, 5)])"


def test_an_empty_set_has_no_ends() -> None:
    with pytest.raises(IndexError):
        _ = OffsetSet().first
    with pytest.raises(IndexError):
        _ = OffsetSet([(2, 2)]).end


def test_hash_codes() -> None:
    assert [string_hash(f"C{n}") for n in range(4)] == [2125, 2126, 2127, 2128]
    assert string_hash("") == 0
    assert string_hash("\U0001f600") == (0xD83D * 31 + 0xDE00) & 0xFFFFFFFF
    assert string_hash("polygenelubricants") == 0x80000000


def test_entry_order_of_strings() -> None:
    assert string_entry_order(["C0", "C1", "C2", "C3"]) == ["C3", "C0", "C1", "C2"]
    given = ["member-10", "member-9", "member-1", "a", "Z"]
    assert string_entry_order(given) == ["a", "member-1", "Z", "member-9", "member-10"]
    topics = [f"t{n}" for n in range(12)]
    assert string_entry_order(topics) == [f"t{n}" for n in (4, 5, 6, 10, 7, 8, 9, 11, 0, 1, 2, 3)]


def test_a_table_doubles_beyond_three_quarters() -> None:
    assert [grown_size(n) for n in (0, 12, 13, 24, 25)] == [16, 16, 32, 32, 64]
    assert spread(0x10000) == 0x10001


def test_keys_of_one_bin_keep_the_order_of_insertion() -> None:
    assert entry_order([33, 17, 1, 0], lambda key: key) == [0, 33, 17, 1]


def test_strings_compare_by_utf16_unit() -> None:
    assert sorted_as_java(["c2", "c10", "C3"]) == ["C3", "c10", "c2"]
    assert sorted_as_java(["\ue000", "\U00010000"]) == ["\U00010000", "\ue000"]
    assert sorted_as_java(["\uffff", "\U0010ffff", "\ud7ff", "z"]) == ["z", "\ud7ff", "\U0010ffff", "\uffff"]


def test_pairs_compare_by_the_text_in_utf16_units_then_by_number() -> None:
    assert sorted_pairs([("b", 10), ("b", 9), ("B", 3)]) == [("B", 3), ("b", 9), ("b", 10)]
    pairs = [("\ufb00", 0), ("\U0001f600", 2), ("\U0001f600", 1), ("t", 5)]
    assert sorted_pairs(pairs) == [("t", 5), ("\U0001f600", 1), ("\U0001f600", 2), ("\ufb00", 0)]
