"""What happened in a recording."""

from compare.conformance.rocketmq_recordings.happened import (
    Change,
    Happened,
    Ownership,
    Request,
    is_retry,
    ownership,
    queues_of,
)
from compare.conformance.rocketmq_recordings.reading import Recording


def happened(recording: Recording) -> Happened:
    """The whole recording."""
    return Happened(
        recorded_ownership(recording, with_retry=False),
        recording.messages.consumed_more_than_once,
        tuple(sorted((Request(*row) for row in recording.rpc), key=lambda each: each.at)) or None,
    )


def recorded_ownership(recording: Recording, *, with_retry: bool) -> Ownership:
    """What the ownership of the recording means."""
    changes = [
        Change(each.t_ms, each.member, frozenset(queue for queue in each.owned if with_retry or not is_retry(queue)))
        for each in recording.ownership
    ]
    return ownership(changes, queues_of(recording.topics), recording.began, recording.length_ms)
