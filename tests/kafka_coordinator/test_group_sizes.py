"""Sizes of a group of many alike members are those that the codec writes of it, member by member."""

from uuid import UUID

import pytest

from kafka_coordinator import group_sizes, messages
from kafka_coordinator.frame_sizes import frame_size

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
    assert group_sizes.joined_bytes(ALIKE, members) == frame_size(answer, "m0001")
    assert group_sizes.sync_bytes(ALIKE, members) == frame_size(request, "m0001")
