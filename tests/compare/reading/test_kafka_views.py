"""What follows from several views of one group, and what does not."""

import re

import pytest

from compare.reading.observed import ObservedGroup, Partial, Skipped
from protocols import Queue
from tests.compare.reading.kafka_tool import ToolMember, list_view, members_view, offsets_view, state_view
from tests.compare.reading.reading_kafka import read, text

UUID = "-0000000{}-1111-2222-3333-444444444444"
A = ToolMember("a" + UUID.format(1), "a", {"orders": [0, 1], "returns": [0]})
B = ToolMember("b" + UUID.format(2), "b", {"orders": [2]})
IDLE = ToolMember("c" + UUID.format(3), "c", {})
COMMITTED = {("orders", number): (5, 7) for number in range(3)}


def only(*parts: str | list[str]) -> ObservedGroup:
    lines = [line for part in parts for line in ([part] if isinstance(part, str) else part)]
    groups, _ = read(text(*lines))
    assert groups.keys() == {"g"}
    return groups["g"]


def numbers(queues: tuple[Queue, ...] | None) -> list[tuple[str, int]]:
    return [(queue.topic, queue.number) for queue in queues or ()]


def topic(name: str, count: int) -> list[str]:
    rows = [f"\tTopic: {name}\tPartition: {number}\tLeader: 1\tReplicas: 1\tIsr: 1" for number in range(count)]
    return [f"Topic: {name}\tTopicId: x\tPartitionCount: {count}\tReplicationFactor: 1\tConfigs: ", *rows]


def test_the_offsets_view_alone_does_not_tell_who_is_in_the_group() -> None:
    group = only(offsets_view("g", [A, B, IDLE], COMMITTED))
    assert (group.members, group.member_count, group.idle_count) == (None, None, None)
    assert [member.id for member in group.seen] == [A.id, B.id]
    assert group.owners_seen
    assert group.partial == Partial(
        (), (), "the offsets view shows owners only; --members or --state shows how many members own nothing"
    )


def test_a_torn_offsets_view_tells_of_nobody_all_that_he_owns() -> None:
    lines = offsets_view("g", [A, B], COMMITTED)
    lines[2] = lines[2][:20]
    groups, _ = read(text(*lines))
    assert not groups["g"].owners_seen
    assert groups["g"].partial is not None
    assert set(groups["g"].partial.members) == {member.id for member in groups["g"].seen}
    # The members view counts what the rows that are left do not show.
    groups, _ = read(text(*lines), text(*members_view("g", [A, B]), name="members"))
    silent = {member.id for member in groups["g"].members or () if member.owned is None}
    assert groups["g"].partial is not None
    assert silent == set(groups["g"].partial.members) != set()
    assert groups["g"].partial.why == "rows of the offsets view are missing or cannot be read"


def test_the_short_members_view_alone_tells_how_many_and_with_the_offsets_which() -> None:
    group = only(members_view("g", [A, B, IDLE]))
    assert group.partial is not None
    assert (group.partial.topics, group.partial.members) == ((), (A.id, B.id))
    assert "how many partitions a member owns but not which" in group.partial.why
    assert only(members_view("g", [A, B, IDLE]), offsets_view("g", [A, B, IDLE], COMMITTED)).partial is None


def test_the_state_alone_names_what_lists_the_members() -> None:
    group = only(state_view("g", "h:1", "range", "Stable", 3))
    assert group.partial is not None
    expected = "no line that can be read lists the members and their partitions, as --members --verbose does"
    assert group.partial.why == expected


def test_the_settings_of_a_topic_tell_whether_it_is_compacted(subtests: pytest.Subtests) -> None:
    for configs, compacted in [
        ("cleanup.policy=compact,segment.bytes=1", True),
        ("segment.bytes=1,cleanup.policy=compact,delete,min.insync.replicas=1", True),
        ("cleanup.policy=delete", False),
        ("", False),
        ("min.cleanable.dirty.ratio=0.1,delete.cleanup.policy=compact", False),
    ]:
        with subtests.test(configs=configs, compacted=compacted):
            described = topic("t", 4)
            described[0] += configs
            member = ToolMember("m", "c", {"t": [0, 1, 2, 3]})
            group = only(members_view("g", [member], verbose=True), described)
            assert group.compacted == (("t",) if compacted else ())


def test_as_many_members_as_owners_means_that_all_are_seen() -> None:
    group = only(offsets_view("g", [A, B], COMMITTED), state_view("g", "h:1", "range", "Stable", 2))
    assert [member.id for member in group.members or ()] == [A.id, B.id]


def test_more_members_than_owners_are_idle_though_nameless() -> None:
    group = only(offsets_view("g", [A, B, IDLE], COMMITTED), state_view("g", "h:1", "range", "Stable", 3))
    assert (group.members, group.member_count, group.idle_count) == (None, 3, 1)


def test_a_listed_member_less_than_the_state_view_counts_is_missing() -> None:
    group = only(members_view("g", [A, B], verbose=True), state_view("g", "h:1", "range", "Stable", 3))
    assert (group.members, group.member_count) == (None, 3)
    assert group.notes == ("the state view counts 3 members, 2 are listed",)


def test_an_assignment_that_does_not_hold_as_many_partitions_as_told_is_cut() -> None:
    lines = members_view("g", [A], verbose=True, old=True)
    groups, skipped = read(text(*lines[:-1], lines[-1].replace("0,1", "0")))
    assert groups == {}
    assert "expected 3 partitions under ASSIGNMENT as #PARTITIONS says, not 2" in skipped[0].why


def test_versions_that_leave_the_topics_out_tell_how_many_partitions_and_beside_the_offsets_which() -> None:
    lines = [re.sub(r"[\w.-]+(\([\d,]+\))", r"\1", line) for line in members_view("g", [A, B], verbose=True, old=True)]
    assert any("(0,1)" in line and "orders" not in line for line in lines)
    groups, skipped = read(text(*lines))
    assert skipped == []
    assert {member.id: member.queue_count for member in groups["g"].members or ()} == {A.id: 3, B.id: 1}
    groups, skipped = read(text(*lines), text(*offsets_view("g", [A, B], {}), name="offsets"))
    owned = {
        member.id: {(each.topic, each.number) for each in member.owned or ()} for member in groups["g"].members or ()
    }
    assert owned == {
        member.id: {(topic, number) for topic, numbers in member.assigned.items() for number in numbers}
        for member in (A, B)
    }
    assert groups["g"].notes == ()


def test_a_header_without_rows_is_one_line(subtests: pytest.Subtests) -> None:
    for header, why in [
        (offsets_view("g", [A], {})[1], "expected a row per partition"),
        (members_view("g", [A])[1], "a group without members, which this view does not name, expected NAME=FILE"),
        (state_view("g", "h:1", "range", "Stable", 1)[1], "expected a row per group"),
        (list_view({"g": ("Classic", "Stable")})[0], "expected a row per group"),
    ]:
        with subtests.test(header=header, why=why):
            groups, skipped = read(text(header, ""))
            assert groups == {}
            assert len(skipped) == 1
            assert why in skipped[0].why


def test_a_named_file_names_the_group_that_has_no_members() -> None:
    groups, skipped = read(text(*members_view("x", [])[:2], group="payments"))
    assert groups["payments"].members == ()
    assert skipped == []


def test_tools_that_print_no_group_column_leave_the_name_to_the_file() -> None:
    with_group = offsets_view("g", [A], COMMITTED)
    lines = ["", *(line[len("g".ljust(15)) + 1 :] for line in with_group[1:])]
    assert lines[1].startswith("TOPIC ")
    groups, _ = read(text(*lines, group="payments"))
    assert [member.id for member in groups["payments"].seen] == [A.id]
    groups, skipped = read(text(*lines))
    assert groups == {}
    assert "does not name the group, expected NAME=FILE" in skipped[0].why


def test_idle_members_that_very_old_tools_print_in_the_offsets_view_are_seen() -> None:
    lines = offsets_view("g", [A], COMMITTED)
    row = lines[2].replace("orders", "-     ").replace(A.id, IDLE.id)
    row = re.sub(r"(?<= )(0 |5 |7 |2 )(?= )", "- ", row)
    group = only(lines, row)
    assert {member.id: member.owned for member in group.seen}[IDLE.id] == ()


def test_offsets_of_a_topic_that_nobody_owns_are_left_over() -> None:
    offsets = offsets_view("g", [A, B], {**COMMITTED, ("old", 0): (1, 1), ("old", 1): (1, 1)})
    group = only(offsets)
    assert {queue.topic for queue in group.queues or ()} == {"orders", "returns"}
    assert group.notes == (
        "topic old has no owner, although 2 partitions have a committed offset: the topic does not count as read",
    )
    stable = state_view("g", "h:1", "range", "Stable", 2)
    assert only(offsets, stable).queues == group.queues


def test_while_the_group_rebalances_such_a_topic_may_be_between_two_owners() -> None:
    offsets = offsets_view("g", [A, B], {**COMMITTED, ("old", 0): (1, 1)})
    group = only("", "Warning: Consumer group 'g' is rebalancing.", offsets)
    assert group.state == "rebalancing"
    assert ("old", 0) in numbers(group.queues)


def test_partitions_without_owner_and_offset_are_known_from_kafka_topics() -> None:
    group = only(members_view("g", [A, B], verbose=True), topic("orders", 5), topic("other", 3))
    assert numbers(group.queues) == [*(("orders", number) for number in range(5)), ("returns", 0)]


def test_partition_numbers_of_another_cluster_are_not_used() -> None:
    group = only(members_view("g", [A, B], verbose=True), topic("orders", 2))
    assert numbers(group.queues) == [("orders", 0), ("orders", 1), ("orders", 2), ("returns", 0)]
    assert "fewer partitions of orders" in group.notes[0]


def test_sources_of_different_times_are_noted() -> None:
    moved = ToolMember(B.id, "b", {"orders": [1, 2]}), ToolMember(A.id, "a", {"orders": [0], "returns": [0]})
    groups, _ = read(
        text(*members_view("g", [A, B], verbose=True), name="members.txt"),
        text(*offsets_view("g", moved, COMMITTED), name="offsets.txt"),
    )
    assert {m.id: numbers(m.owned) for m in groups["g"].members or ()}[B.id] == [("orders", 2)]
    assert groups["g"].notes == (
        "offsets.txt and members.txt show different members or owners: the views were taken at different times",
    )


def test_a_table_whose_padding_got_lost_is_read_by_words() -> None:
    squeezed = [re.sub(" +", " ", line) for line in members_view("g", [A, B, IDLE], verbose=True)]
    assert len(only(squeezed).members or ()) == 3


def test_an_offset_of_a_deleted_topic_fails_the_whole_view_and_the_remedy_says_which_views_do_not() -> None:
    error = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"
    failed = (
        f"Error: Executing consumer group command failed due to {error}: Failed to fetch metadata for partition t-0"
    )
    _, skipped = read(text("", failed))
    assert [each.line for each in skipped] == [2]
    assert "deleted topic; --members --verbose and --state do not need it" in skipped[0].why


def test_text_that_is_no_list_of_names_is_not_called_one() -> None:
    _, skipped = read(text('{"groups": [', ' {"group": "g"}', "]}"))
    assert skipped == [Skipped("text", 1, "unknown")]


def test_what_the_other_tools_say_instead_of_a_table_names_the_group() -> None:
    for told in [
        "Share group 'g' has no offset information.",
        "Share group 'g' has no active members.",
        "Streams group 'g' has no active members.",
        "No topology description is stored for streams group 'g'.",
        "No topology description is available for streams group 'g' (status: NOT_REQUESTED).",
        "The broker failed to fetch the topology description for streams group 'g'. See the broker logs for details.",
    ]:
        groups, skipped = read(text("", told), text("GROUP           STATE", "g               Stable", name="list"))
        if told.startswith("Share"):
            assert groups["g"].mode == "share", told
            continue
        assert groups == {}, told
        assert ["'g' is a" in each.why for each in skipped] == [True], told
