"""The kept rows of docs/scale.md are what a run gives, what the page says of limits is what they come to, and sizes of
a group of many alike members are those that the codec writes of it, member by member."""

from uuid import UUID

import pytest

from compare.sweeping.reading import read_text
from compare.sweeping.scale import FIGURES, scale_row
from kafka_coordinator import messages
from tools.pages import DOCS
from tools.scale import AS_A_PARABOLA, ROWS, group_sizes, grows, minutes_of, parabola, rows_of, server_limits


@pytest.mark.parametrize("row", [row for row in ROWS if row["members"] == 10], ids=lambda row: str(row["variant"]))
def test_the_smallest_rows_are_what_a_run_gives(row: dict[str, float | None]) -> None:
    minutes = minutes_of(str(row["variant"]))
    sweep = read_text(f"name: s\nkind: scale\nmembers: 10\nsystems: [{row['variant']}]\nfor: {minutes}min\n").sweep
    ran = scale_row(sweep, sweep.cell(0), sweep.systems[0])
    for name in FIGURES:
        found = ran[name]
        assert row[name] == (None if found is None else pytest.approx(found, rel=1e-3, abs=1e-3)), name


@pytest.mark.parametrize("variant", grows())
def test_smaller_groups_say_what_the_largest_computed_one_costs(variant: str) -> None:
    *smaller, largest = rows_of(variant)
    for column in AS_A_PARABOLA:
        assert parabola(smaller, column, largest["members"]) == pytest.approx(largest[column], rel=0.01), column


@pytest.mark.parametrize("page", ["scale.md", "zh/scale.md"])
def test_the_page_names_the_first_group_beyond_each_limit(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8").replace(",", "")
    for protocol in ("classic", "consumer protocol"):
        limit = server_limits.first_limit(protocol)
        assert limit is not None
        assert str((limit.members or 0) + 1) in text
    assert f"{group_sizes.target_batch_bytes(server_limits.ALIKE, 100_000) / 1e6:.1f} MB" in text


@pytest.mark.parametrize("limit", server_limits.LIMITS, ids=lambda limit: f"{limit.protocol}: {limit.what}")
def test_a_limit_is_kept_up_to_its_members_and_no_further(limit: server_limits.Limit) -> None:
    if limit.members is None:
        assert limit.size(server_limits.MOST_MEMBERS - 1) <= limit.most
    else:
        assert limit.size(limit.members) <= limit.most < limit.size(limit.members + 1)


def test_the_first_limit_of_a_protocol_is_the_one_that_the_smallest_group_meets() -> None:
    first = server_limits.first_limit("classic")
    assert first is not None
    assert "__consumer_offsets" in first.setting
    assert all(each.members is None or each.members >= (first.members or 0) for each in server_limits.LIMITS[:4])
    assert server_limits.first_limit("nobody's") is None


ALIKE = group_sizes.Alike("billing", "m0001", (("orders", 0), ("orders", 1)))
"""A group of the sizes that are asked for."""


@pytest.mark.parametrize("members", [0, 1, 126, 127, 3_000, 16_383])
def test_frames_of_the_leader_are_those_of_so_many_members(members: int) -> None:
    ids = [f"m0001-{UUID(int=number)}" for number in range(members)]
    told = tuple(messages.JoinedMember(each, None, ALIKE.subscription) for each in ids)
    answer = messages.JoinGroupAnswer(0, "NONE", 1, ALIKE.member_id, ALIKE.member_id, "consumer", "range", False, told)
    request = messages.SyncGroup(
        0, "billing", ALIKE.member_id, 1, None, "consumer", "range", dict.fromkeys(ids, ALIKE.share)
    )
    assert group_sizes.joined_bytes(ALIKE, members) == group_sizes.frame_size(answer, "m0001")
    assert group_sizes.sync_bytes(ALIKE, members) == group_sizes.frame_size(request, "m0001")
