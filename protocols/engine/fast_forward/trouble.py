"""Who waits for an answer may wait in vain where the network had a fault a while ago."""

from math import inf

from protocols.engine.links import Link
from protocols.engine.nodes import Message, Observer, Time
from protocols.engine.process import Process


class Troubles:
    """An observer that passes every report on, and remembers when a fault last harmed anything between two processes,
    from now on."""

    __slots__ = ("_following", "_last", "created", "fact", "sent")

    def __init__(self, following: Observer) -> None:
        self._following = following
        self._last: dict[frozenset[str], Time] = {}
        self.fact, self.created, self.sent = following.fact, following.created, following.sent

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None:
        """See `protocols.engine.nodes.Observer`."""
        self._last[frozenset((sender, to))] = now
        self._following.harmed(now, sender, to, lost)

    def may_wait_in_vain(self, link: Link, now: Time, within: Time) -> bool:
        """Whether somebody may still do so who waits so many milliseconds for an answer from either side."""
        return bool(self._last) and now < self._between(link.sender.name, link.receiver.name) + within

    def lost_since(self, process: Process, peer: str, since: Time) -> bool:
        """Whether a message between the two was lost or delayed since then."""
        return bool(self._last) and peer in process.links and self._between(process.name, peer) >= since

    def _between(self, one: str, other: str) -> Time:
        return self._last.get(frozenset((one, other)), -inf)
