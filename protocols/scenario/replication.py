"""Replicas of queues on several brokers, and which of them may lead (Kafka's leaders, in-sync replicas).

A queue has its replicas on its preferred broker and the next ones in the order of the scenario's brokers, so that
queues with the same preferred broker share their fate. A broker that ends drops out of the in-sync replicas, but for
the last one: only it may lead again (``unclean.leader.election.enable`` is false). Whoever comes back beside a live
leader has caught up at once.
"""

from collections.abc import Sequence


class Replicas:
    """Of queues that have so many (``factor``) replicas each; all brokers run at first."""

    __slots__ = ("_in_sync", "_replicas", "_running")

    def __init__(self, brokers: Sequence[str], factor: int) -> None:
        turns = {broker: (*brokers[at:], *brokers[:at]) for at, broker in enumerate(brokers)}
        self._replicas = {broker: turn[:factor] for broker, turn in turns.items()}
        self._in_sync = dict(self._replicas)
        self._running = dict.fromkeys(brokers)

    def ends(self, broker: str) -> None:
        """The broker's process has ended."""
        self._running.pop(broker, None)
        for preferred, in_sync in self._in_sync.items():
            left = tuple([each for each in in_sync if each != broker])
            self._in_sync[preferred] = left or in_sync

    def returns(self, broker: str) -> None:
        """The broker runs again."""
        self._running[broker] = None
        for preferred, replicas in self._replicas.items():
            if self.serve(preferred):
                self._in_sync[preferred] = tuple([each for each in replicas if each in self._running])

    def in_sync(self, preferred: str) -> tuple[str, ...]:
        """Who may lead queues with this preferred broker, the first choice first. Some of them may not run."""
        return self._in_sync[preferred]

    def serve(self, preferred: str) -> bool:
        """Whether anybody who runs may lead queues with this preferred broker."""
        return any(each in self._running for each in self._in_sync[preferred])
