"""Text of which a part is missing is noticed, and no figure is taken from the rest as if it were whole."""

from pathlib import Path

import pytest

from compare.auditing.group_figures import judge
from compare.reading.gather import gather
from compare.reading.observed import ObservedGroup
from protocols import Queue
from tests.compare.reading.kafka_tool import ToolMember, line, members_view, offsets_view, state_view
from tests.compare.reading.mqadmin_tool import connection_view, progress_view, running_view, status_view

MEMBERS = [
    ToolMember(f"c{n}-00000000-0000-4000-8000-00000000000{n}", f"c{n}", {"orders": [2 * n, 2 * n + 1]})
    for n in range(3)
]
OFFSETS = offsets_view("g", MEMBERS, {("orders", number): (1, 5) for number in range(6)})
STATE = state_view("g", "h:1  (1)", "range", "Stable", 3)
RETRY = Queue("%RETRY%g", "broker-a", 0)
ORDERS = [Queue("orders", "broker-a", n) for n in range(4)]
SHOWN = {RETRY: "10.0.0.1", **{queue: f"10.0.0.{1 + queue.number % 2}" for queue in ORDERS}}
PROGRESS = progress_view({queue: queue.number for queue in SHOWN}, dict(SHOWN))
CONNECTION = connection_view(["10.0.0.1@a", "10.0.0.2@a"], ["orders", "%RETRY%g"])
STATUS = status_view(["10.0.0.1@a", "10.0.0.2@a"])
ROUTE = [
    "#ClusterName  #BrokerName  #BrokerAddrs        #ReadQueue #WriteQueue #Perm",
    "lab           broker-a     {0=127.0.0.1:20911}  4          4           6",
    "lab           broker-b     {0=127.0.0.1:21911}  2          2           6",
    "-" * 80,
    "Total:        2                                 6          6",
]


def read(tmp_path: Path, *lines: str, name: str = "g.txt") -> tuple[list[ObservedGroup], list[str]]:
    """Groups, and why something was not read."""
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    gathered = gather([str(path)])
    assert all(each.line is not None for each in gathered.skipped)
    return list(gathered.groups), [each.why for each in gathered.skipped]


def is_judged(group: ObservedGroup) -> bool:
    (judged,) = judge([group])
    return judged.figures["jain"] is not None


def test_whole_text_is_judged(tmp_path: Path) -> None:
    for lines in ([*OFFSETS, *STATE], [*PROGRESS, *CONNECTION, *STATUS]):
        groups, skipped = read(tmp_path, *lines)
        assert skipped == []
        assert is_judged(groups[0])


def test_what_owners_have_is_not_told_by_a_torn_offsets_view(tmp_path: Path) -> None:
    torn = [*OFFSETS[:3], OFFSETS[3][:70], *OFFSETS[4:]]
    groups, skipped = read(tmp_path, *torn, *STATE)
    assert len(skipped) == 1
    assert not is_judged(groups[0])
    groups, _ = read(tmp_path, *torn, *members_view("g", MEMBERS))
    assert [member.owned is None for member in groups[0].members or ()] == [True, False, False]
    assert "partitions and lag cover only the other rows" in " ".join(groups[0].notes)


def test_a_partition_in_no_view_is_noted(tmp_path: Path) -> None:
    groups, skipped = read(tmp_path, *OFFSETS[:4], *OFFSETS[5:], *STATE)
    assert skipped == []
    assert groups[0].notes[0].startswith("partition 2 of orders is in no view, although partition 5 is")
    topic = ["Topic: orders\tPartitionCount: 6\tReplicationFactor: 1\tConfigs: "]
    topic += [f"\tTopic: orders\tPartition: {n}\tLeader: 1\tReplicas: 1\tIsr: 1" for n in range(6)]
    groups, skipped = read(tmp_path, *topic, *OFFSETS[:4], *OFFSETS[5:], *STATE)
    assert (groups[0].notes, skipped) == ((), [])


def test_a_topic_has_the_partitions_that_its_first_line_counts(tmp_path: Path) -> None:
    topic = ["Topic: orders\tPartitionCount: 8\tReplicationFactor: 1\tConfigs: "]
    topic += [f"\tTopic: orders\tPartition: {n}\tLeader: 1\tReplicas: 1\tIsr: 1" for n in range(3)]
    groups, skipped = read(tmp_path, *topic, *OFFSETS, *STATE)
    assert skipped == ["expected 8 partitions of topic orders below it, found 3"]
    assert len(groups[0].queues or ()) == 8


def test_a_last_row_that_ends_in_the_middle(tmp_path: Path) -> None:
    groups, skipped = read(tmp_path, *OFFSETS[:-1], OFFSETS[-1][:-1], *STATE)
    assert skipped == ["ends in the middle of a client id: rows below it may be cut off"]
    assert not is_judged(groups[0])


def test_state_rows_that_run_together_are_no_group(tmp_path: Path) -> None:
    groups, skipped = read(tmp_path, *STATE[:2], STATE[2] + STATE[2])
    assert groups == []
    assert len(skipped) == 1


def test_fewer_members_than_the_state_view_counts(tmp_path: Path) -> None:
    groups, _ = read(tmp_path, *members_view("g", MEMBERS, verbose=True)[:-1], *STATE)
    assert groups[0].members is None
    assert "the state view counts 3 members, 2 are listed" in groups[0].notes


def test_progress_that_is_cut(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for lines, why in [
        # The row that is missing has no lag: only its number is missed.
        ([*PROGRESS[:2], *PROGRESS[3:]], "rows of orders on broker-a go up to queue 3, queue 0 is missing"),
        ([*PROGRESS[:5], *PROGRESS[6:]], "the total is 6, but the rows above add up to 3: rows are missing"),
        (PROGRESS[:5], "ends before its totals"),
        ([*PROGRESS[:2], PROGRESS[2] + PROGRESS[3], *PROGRESS[4:]], "expected one row in a line"),
    ]:
        with subtests.test(lines=lines, why=why):
            groups, skipped = read(tmp_path, *lines, *CONNECTION, *STATUS)
            assert any(each.startswith(why) for each in skipped), skipped
            assert not is_judged(groups[0])


def test_connections_that_are_cut(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for lines, why in [
        (CONNECTION[:2], "ends before 'Below is subscription:'"),
        (CONNECTION[:7], "ends before ConsumeType and MessageModel and ConsumeFromWhere"),
        (CONNECTION[:-1], "ends before ConsumeFromWhere"),
        ([CONNECTION[0], CONNECTION[1] + CONNECTION[2], *CONNECTION[3:]], "expected a row of #ClientId"),
        ([CONNECTION[0] + CONNECTION[1], *CONNECTION[2:]], "expected the header to end with #Version"),
    ]:
        with subtests.test(lines=lines, why=why):
            groups, skipped = read(tmp_path, *lines)
            assert any(each.startswith(why) for each in skipped), skipped
            if lines[2:3] != CONNECTION[2:3]:
                assert all(group.members is None for group in groups)


def test_answers_without_their_verdict(tmp_path: Path) -> None:
    groups, skipped = read(tmp_path, *STATUS[:2])
    assert ["clients may be cut off" in why for why in skipped] == [True]
    assert groups[0].members is None


def test_answers_with_a_client_missing(tmp_path: Path) -> None:
    groups, skipped = read(tmp_path, STATUS[0], *STATUS[2:])
    assert skipped == ["the rows below skip number 1: clients are missing"]
    assert groups[0].members is None


def test_what_a_client_owns_is_not_told_by_half_of_its_answer(tmp_path: Path) -> None:
    whole = running_view("g", "10.0.0.1@a", ORDERS, ["orders"])
    end = whole.index("#Consumer RT&TPS#")
    for lines in (
        whole[:end],
        whole[: end - 3],
        whole[:12],
        [*whole[: end - 3], whole[end - 3] + whole[end - 2], *whole[end:]],
    ):
        groups, skipped = read(tmp_path, *lines)
        assert skipped
        assert [member.owned for member in groups[0].seen] == [None]


def test_a_route_whose_total_does_not_fit(tmp_path: Path) -> None:
    view = [*PROGRESS, *CONNECTION, *STATUS]
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "g.txt").write_text("\n".join(view) + "\n")
    for lines in ([*ROUTE[:1], *ROUTE[2:]], ROUTE[:3]):
        (tmp_path / "all" / "orders.topicRoute_l.txt").write_text("\n".join(lines) + "\n")
        gathered = gather([str(tmp_path / "all")])
        assert ["none is used" in each.why for each in gathered.skipped] == [True]
        assert set(gathered.groups[0].queues or ()) == set(SHOWN)


def test_streams_groups_are_called_so(tmp_path: Path) -> None:
    header = ["GROUP", "COORDINATOR (ID)", "STATE", "#MEMBERS"]
    row = ["app", "h:1 (1)", "Stable", "2"]
    wide, narrow = (15, 25, 25, 0), (15, 25, 15, 0)
    state = [line(wide, header), line(wide, row)]
    verbose = [*header[:3], "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS"]
    widths = (15, 25, 25, 15, 25, 0)
    members = [
        line((15, 15, 15, 15, 0), cells)
        for cells in (
            ["GROUP", "MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"],
            ["app", "m", "p", "c", "ACTIVE: 0:[0];"],
        )
    ]
    command = "$ kafka-streams-groups.sh --bootstrap-server h:1"
    for lines in (
        state,
        [line(widths, verbose), line(widths, [*row[:3], "3", "3", "2"])],
        members,
        [f"{command} --describe --state --group app", line(narrow, header), line(narrow, row)],
        [f"{command} --list --state", line((15, 0), ["GROUP", "STATE"]), line((15, 0), ["app", "Stable"])],
        [line((15, 0), ["GROUP", "STATE"]), line((15, 0), ["app", "NotReady"])],
    ):
        groups, skipped = read(tmp_path, *lines)
        assert groups == []
        assert ["streams group" in why and "share" not in why for why in skipped] == [True], lines
    _, skipped = read(tmp_path, line(narrow, header), line(narrow, row))
    assert "of a share group or of a streams group" in skipped[0]
