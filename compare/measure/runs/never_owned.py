"""Queues that somebody reads and that nobody has ever owned: gaps count only from a queue's first owner on."""

from typing import Any

from compare.measure.runs.phases import Phase
from protocols.engine.nodes import Time
from protocols.queues import Queue
from protocols.timeline import Timeline


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

    def waiting(self, phase: Phase) -> dict[str, Any]:
        """``never_owned_queues``: how many have not had any owner when the moment ends; ``never_owned_s``: the longest
        time, in seconds, that one of these has waited by then."""
        read = [key for key in phase.then.expected() if key[0] not in self._broadcasting]
        self._since = {key: self._since.get(key, phase.at) for key in read}
        waits = [
            phase.until - since
            for key, since in self._since.items()
            if self._first.get(key, phase.until) >= phase.until > since
        ]
        return {"never_owned_queues": len(waits), "never_owned_s": max(waits, default=0.0) / 1000}
