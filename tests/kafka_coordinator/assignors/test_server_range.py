"""The coordinator's range assignor (spec 5.11)."""

import pytest
from hypothesis import given

from kafka_coordinator.assignors.inputs import AssignorError, GroupMetadata
from kafka_coordinator.assignors.range import range_, server_range
from tests.kafka_coordinator.consumer.metadata import group_of, groups, owned


def test_equal_topics_go_in_equal_blocks_whatever_was_owned_before() -> None:
    topics = {"T1": 3, "T2": 3}
    group = group_of(topics, dict.fromkeys("ABC", "T1 T2"), claims={"C": [("T1", 0), ("T2", 0)]})
    assert owned(group, server_range(group)) == {"A": "T1-0 T2-0", "B": "T1-1 T2-1", "C": "T1-2 T2-2"}


def test_a_topic_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AssignorError) as caught:
        server_range(group_of({"T1": 3}, {"A": "T1", "B": "T1 T2"}))
    assert caught.value.error == "PartitionAssignorException"


@given(groups(unknown=False))
def test_without_racks_it_is_the_client_side_range(group: GroupMetadata) -> None:
    assert server_range(group) == range_(group)
