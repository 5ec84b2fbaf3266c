"""Which protocol a group's members speak, and whether they have reached what they are to own."""

from pathlib import Path

import pytest

from compare.reading.observed import ObservedGroup
from tests.compare.reading.kafka_tool import ToolMember, line, members_view, state_view
from tests.compare.reading.pasted.decorations import DECORATIONS
from tests.compare.reading.pasted.reading_pasted import read_lines
from tests.compare.reading.reading_kafka import CAPTURES, FOLDERS, read, read_files, text

NEW = "8O876wWRSH6gvmJKR1CN9A"
OLD = "old-e72470e4-33bf-4de5-a157-fa8984b9151a"


def listing(*rows: tuple[str, str, str]) -> list[str]:
    """``kafka-groups --list``."""
    return [line([30, 20, 20], each) for each in (("GROUP", "TYPE", "PROTOCOL"), *rows)]


def verbose(*rows: tuple[str, str, str, str, str, str], upgraded: bool = True) -> list[str]:
    """The verbose members view; rows hold id, epoch, assignment, target epoch, target and UPGRADED."""
    header = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT"]
    header += ["TARGET-EPOCH", "TARGET-ASSIGNMENT", *(["UPGRADED"] if upgraded else [])]
    widths = [15, 45, 15, 15, 15, 15, 30, 15, 30, *([0] if upgraded else [])]
    found = [header]
    for id, epoch, owned, target_epoch, target, told in rows:
        count = 0 if owned == "-" else len(owned.partition(":")[2].split(","))
        cells = ["g", id, "/10.0.0.1", "c", str(count), epoch, owned, target_epoch, target]
        found.append([*cells, *([told] if upgraded else [])])
    return ["", *(line(widths, each) for each in found)]


def only(*lines: str) -> ObservedGroup:
    groups, _ = read(text(*lines))
    return groups["g"]


def test_a_listing_without_the_column_tells_nothing_of_protocols() -> None:
    group = only(line([30, 20, 20], ["GROUP", "TYPE", "STATE"]), line([30, 20, 20], ["g", "Classic", "Empty"]))
    assert not group.only_offsets


def test_a_blank_protocol_is_seen_in_pasted_text(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for decoration in [name for name in DECORATIONS if name != "tabs"]:
        with subtests.test(decoration=decoration):
            rows = listing(("g", "Classic", ""), ("orders-svc", "Classic", "consumer"), ("other", "Classic", ""))
            groups, _ = read_lines(DECORATIONS[decoration](rows), tmp_path)
            assert {each.name: each.only_offsets for each in groups} == {"g": True, "orders-svc": False, "other": True}


def test_a_row_that_ends_with_the_text_may_have_lost_its_protocol() -> None:
    header, row = listing(("g", "Classic", ""))
    cut = row.rstrip(" ")
    assert only(header, row).only_offsets
    assert only(header, cut, "").only_offsets
    assert not only(header, cut).only_offsets
    assert only(header, cut).members is None


def test_members_that_another_view_shows_are_believed_instead() -> None:
    group = only(*listing(("g", "Classic", "")), *members_view("g", [ToolMember(OLD, "old", {"t": [0]})], verbose=True))
    assert not group.only_offsets
    assert [member.id for member in group.members or ()] == [OLD]
    assert any("different times" in note for note in group.notes)


def test_the_listing_that_was_captured_tells_the_one_group_whose_type_is_empty() -> None:
    groups, _ = read_files(CAPTURES / "groups")
    assert [name for name, group in groups.items() if group.only_offsets] == ["simple-offsets"]
    groups, _ = read_files(CAPTURES / "groups" / "kafka-groups-list.txt")
    assert [name for name, group in groups.items() if group.only_offsets] == ["simple-offsets"]


def test_members_that_move_are_those_of_groups_that_kafka_calls_reconciling(subtests: pytest.Subtests) -> None:
    for folder in FOLDERS:
        with subtests.test(folder=folder):
            groups, _ = read_files(CAPTURES / folder)
            told = {name: group for name, group in groups.items() if group.moving is not None}
            known = {"groups": 4, "rebalancing": 1, "cluster-a": 13, "cluster-c": 6, "kafka-2.8.2": 0, "4.4": 5}
            assert len(told) == known[folder]
            for name, group in told.items():
                assert bool(group.moving) == (group.state == "Reconciling"), name


def test_who_has_not_reached_its_target_moves(subtests: pytest.Subtests) -> None:
    for row, moves in [
        ((NEW, "2", "t:0,1", "2", "t:0,1", ""), False),
        ((NEW, "2", "t:1,0", "2", "t:0,1", ""), False),
        ((NEW, "2", "-", "2", "-", ""), False),
        ((NEW, "1", "t:0,1", "2", "t:0,1", ""), True),
        # A static member that has left for a while.
        ((NEW, "-2", "t:0,1", "2", "t:0,1", ""), True),
        ((NEW, "2", "t:0", "2", "t:0,1", ""), True),
        ((NEW, "2", "-", "2", "t:0", ""), True),
        ((OLD, "-", "t:0,1", "-", "-", ""), None),
    ]:
        with subtests.test(row=row, moves=moves):
            group = only(*verbose(row, upgraded=False))
            assert group.moving == {True: (row[0],), False: (), None: None}[moves]
            assert group.state is None


def test_members_that_are_not_upgraded_speak_the_classic_protocol() -> None:
    # By their ids the members would be taken for the other ones each.
    group = only(
        *verbose((NEW, "6", "t:0", "6", "t:0", "false"), (OLD, "6", "t:1", "6", "t:1", "true")),
        *state_view("g", "h:1", "range", "Stable", 2),
    )
    assert group.classic_members == (NEW,)
    assert group.consumer_protocol
    assert group.strategy == "server-range"


def test_the_mixed_group_that_was_captured_names_its_two_classic_members() -> None:
    groups, _ = read_files(CAPTURES / "groups")
    told = {name: group.classic_members for name, group in groups.items() if group.classic_members}
    assert {name: [id.partition("-")[0] for id in ids] for name, ids in told.items()} == {
        "kip848-mixed": ["old0", "old1"]
    }
