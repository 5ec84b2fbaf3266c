"""What producers sent in a recording: so many records per second to each queue."""

from collections.abc import Iterable
from typing import NamedTuple

from compare.conformance.rocketmq_recordings.happened import is_retry
from compare.conformance.rocketmq_recordings.reading import Recording
from compare.conformance.rocketmq_recordings.script import PRODUCE


class Producing(NamedTuple):
    """Producers write so many records per second to each queue of these topics."""

    since: float
    until: float
    topics: tuple[str, ...]
    per_second: float


def producing(recording: Recording) -> Iterable[Producing]:
    """How much was sent is told by the producer, else by the furthest offset that anybody committed, else planned."""
    told = list(recording.messages.produced)
    for action in recording.actions:
        if action.action != PRODUCE:
            continue
        until = min(action.t_ms + action.seconds * 1000, recording.length_ms)
        seconds = (until - action.t_ms) / 1000
        produced = told.pop(0) if told else None
        queues = sum(sum(counts.values()) for topic, counts in recording.topics.items() if topic in action.topics)
        if seconds <= 0 or not queues:
            continue
        if produced is not None:
            most = max(produced.per.values(), default=0)
        else:
            committed = [
                offset
                for at, _, queue, offset in recording.offset_commits
                if queue.topic in action.topics and not is_retry(queue) and at >= action.t_ms
            ]
            most = max(committed, default=round(seconds * 1000 / action.gap_ms / queues))
        yield Producing(action.t_ms, until, action.topics, most / seconds)
