"""Share groups from the views of kafka-share-groups, as released tools of 4.4.0 printed them."""

from pathlib import Path

import pytest

from compare.auditing.group_figures import judge
from compare.reading.group_kinds import kind_of
from protocols import Queue
from tests.compare.reading.reading_kafka import read_files

CAPTURES = Path(__file__).parents[2] / "captures" / "kafka"
OWN, OTHER = CAPTURES / "share-4.4", CAPTURES / "4.4"


def orders(*numbers: int) -> list[Queue]:
    return [Queue("orders", "", number) for number in numbers]


@pytest.mark.parametrize("verbose", ["", "-verbose"])
def test_every_view_tells_what_it_shows(verbose: str) -> None:
    offsets, _ = read_files(OWN / f"all.offsets{verbose}.txt")
    assert {name: group.mode for name, group in offsets.items()} == {"bad": "share", "payments": "share"}
    lag = offsets["payments"].lag
    assert [lag[queue] for queue in orders(0, 1, 2, 3)] == [1, 0, None, 0]
    assert any("taken a record of" in note and "orders-2" in note for note in offsets["payments"].notes)
    assert any("1 of 1 records that have not ended are in orders-0" in note for note in offsets["payments"].notes)
    members, skipped = read_files(OWN / f"all.members{verbose}.txt")
    assert not skipped
    assert sorted(each.client_id or "" for each in members["payments"].members or ()) == ["p-1", "p-2", "p-slow"]
    assert {each.owned for each in members["payments"].members or ()} == {None}
    assert set(orders(0, 1, 2, 3)) < set(members["payments"].queues or ())


def test_the_short_state_view_does_not_say_of_which_tool_it_is() -> None:
    states, skipped = read_files(OWN / "all.state-verbose.txt")
    assert not skipped
    assert (states["payments"].state, states["payments"].member_count, states["payments"].epoch) == ("Stable", 3, 5)
    states, skipped = read_files(OWN / "all.state.txt")
    assert states == {}
    assert "expected --state --verbose" in skipped[0].why


@pytest.mark.parametrize("folder", [OWN, OTHER])
def test_all_views_together_are_one_group_without_owners(folder: Path) -> None:
    files = [
        file for file in sorted(folder.glob("*.txt")) if file.name.startswith(("all.off", "all.mem", "share-grp."))
    ]
    groups, _ = read_files(*(file for file in files if "by-consumer" not in file.name and "no-off" not in file.name))
    shares = {name: group for name, group in groups.items() if group.mode == "share"}
    assert shares.keys() == ({"bad", "payments"} if folder == OWN else {"share"})
    for group in judge(list(shares.values())):
        assert kind_of(group.observed) == "share"
        assert len(group.observed.members or ()) == {"bad": 1, "payments": 3, "share": 3}[group.observed.name]
        assert group.figures["jain"] is group.figures["unowned_queues"] is None
        assert group.figures["lag"] == {"bad": 0, "payments": 1, "share": 0}[group.observed.name]


def test_notices_say_what_they_say() -> None:
    groups, skipped = read_files(OTHER / "share-grp.no-offsets.txt")
    assert (groups["share"].mode, groups["share"].lag, skipped) == ("share", {}, [])
    by_consumer_tool, skipped = read_files(OTHER / "share-grp.by-consumer-tool.txt")
    assert by_consumer_tool == {}
    assert "ask kafka-share-groups" in skipped[0].why
