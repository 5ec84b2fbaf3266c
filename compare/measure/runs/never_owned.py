"""Queues that somebody reads and that nobody has ever owned: gaps count only from a queue's first owner on."""

from typing import NamedTuple

from compare.measure.runs.phases import Phase
from protocols.engine.nodes import Time
from protocols.queues import Queue
from protocols.timeline import Timeline


class Waiting(NamedTuple):
    """``queues``: how many have not had any owner when a phase ends; ``longest``: the longest time, in milliseconds,
    that one of these has waited by then."""

    queues: int
    longest: Time


class NeverOwned:
    """When every queue got its first owner, by beliefs; to be asked of one moment after the other."""

    __slots__ = ("_broadcasting", "_first", "_since")

    def __init__(self, timeline: Timeline) -> None:
        self._broadcasting = timeline.broadcasting
        self._first: dict[tuple[str, Queue], Time] = {}
        for each in timeline.beliefs:
            self._first.setdefault((each.group, each.queue), each.since)
        self._since: dict[tuple[str, Queue], Time] = {}
        """Queue that somebody reads now to the moment from which on somebody did."""

    def waiting(self, phase: Phase) -> Waiting:
        """What waits for its first owner when the phase ends."""
        read = [key for key in phase.then.expected() if key[0] not in self._broadcasting]
        self._since = {key: self._since.get(key, phase.at) for key in read}
        waits = [
            phase.until - since
            for key, since in self._since.items()
            if self._first.get(key, phase.until) >= phase.until > since
        ]
        return Waiting(len(waits), max(waits, default=0.0))
