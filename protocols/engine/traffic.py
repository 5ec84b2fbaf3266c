"""What servers are sent and send: requests and bytes of every second, as messages are sent.

Only messages whose size is known count. Rounds of quiet times that are not simulated are spread evenly over their time.

Why it is counted by second: a coordinator is bought for its worst second, such as the one in which 200 members join,
and an average over the run hides that. Why sizes come from outside: they are those of the real frames, which the wire
codecs of the systems know and the engine does not (`frame_sizes` of each system).
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from protocols.engine.nodes import Message, Time

Sizes = Mapping[type[Message], Callable[[Any, str, str], int]]
"""Type of message to the bytes of its frame, by the message and the names of the client and the server."""


MOST_KEPT = 64
"""Sizes of so many of the latest messages are kept of a kind and a client."""


class Load(NamedTuple):
    """Requests that came, and bytes of frames in both directions."""

    requests: float = 0.0
    bytes: float = 0.0

    def plus(self, other: "Load") -> "Load":
        return Load(self.requests + other.requests, self.bytes + other.bytes)


class Traffic:
    """Told of messages by a simulation (`protocols.engine.simulation.Simulation.traffic`)."""

    def __init__(self, sizes: Sizes, requests: Collection[type[Message]], servers: Collection[str]) -> None:
        """``requests``: types that clients send."""
        self.sizes, self._requests = sizes, frozenset(requests)
        self._servers = frozenset(servers)
        self._of_second: defaultdict[tuple[int, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        """Second and server to the requests and bytes."""
        self._changes: dict[str, dict[int, Load]] = defaultdict(dict)
        """Server to the seconds from which on its evenly spread load is another, and by how much."""
        self._latest: dict[tuple[type[Message], str], deque[int]] = {}
        """Type of message and client to the bytes of the latest ones: of routes, each is about another topic."""
        self.largest: dict[type[Message], int] = {}
        """Type of answer to the bytes of its largest one."""

    def sent(self, now: Time, sender: str, to: str, message: Message) -> None:
        """A message whose type has a size was sent at this time (milliseconds)."""
        kind = type(message)
        asked = kind in self._requests
        server, client = (to, sender) if asked else (sender, to)
        size = self.sizes[kind](message, client, server)
        if not asked and size > self.largest.get(kind, 0):
            self.largest[kind] = size
        latest = self._latest.get((kind, client))
        if latest is None:
            latest = self._latest[kind, client] = deque(maxlen=MOST_KEPT)
        latest.append(size)
        load = self._of_second[int(now // 1000), server]
        load[0] += asked
        load[1] += size

    def repeated(
        self,
        kind: type[Message],
        client: str,
        servers: tuple[str, ...],
        rounds: int,
        since: Time,
        period: Time,
        alike: int,
    ) -> None:
        """So many more of a message's kind, between a client and any of these servers, the first at ``since``, each a
        period after the other: a round has ``alike`` of the kind, and they are like the latest ones."""
        sizes = self._latest.get((kind, client))
        if sizes is None:
            return
        latest = list(sizes)[-alike:]
        size = sum(latest) / len(latest)
        asked = kind in self._requests
        begin, end = int(since // 1000), int((since + rounds * period) // 1000)
        share = rounds / len(servers) / max(1, end - begin)
        more = Load(share * asked, share * size)
        for server in servers:
            for second, load in ((begin, more), (max(end, begin + 1), Load(-more.requests, -more.bytes))):
                changes = self._changes[server]
                changes[second] = changes.get(second, Load()).plus(load)

    def by_second(self, end: Time) -> dict[str, list[Load]]:
        """Server to its load in every second of a run that ends at this time."""
        seconds = max(1, int(end // 1000))
        found = {server: [Load()] * seconds for server in sorted(self._servers)}
        for server, changes in self._changes.items():
            steps = [changes.get(second, Load()) for second in range(seconds)]
            found[server] = list(accumulate(steps, Load.plus))
        for (second, server), load in self._of_second.items():
            if second < seconds and server in found:
                found[server][second] = found[server][second].plus(Load(*load))
        return found
