"""CONSISTENT_HASH: members and queues on a ring, a queue goes to the next member (spec 4.7)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import md5
from typing import ClassVar, TypeAlias

from protocols.groups import Group
from protocols.java import Queue
from rocketmq_selfbalance.strategies import interface

SETTINGS = ("virtual_nodes", "hash_function")

HashFunction: TypeAlias = Callable[[str], int]


def md5_hash(text: str) -> int:
    """RocketMQ's own hash function: the first four bytes of the MD5 of the UTF-8 text, 0 .. 2**32-1."""
    # Java writes "?" for half a surrogate pair, and so does "replace".
    digest = md5(text.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


def queue_text(queue: Queue) -> str:
    """A queue as Java prints it, which is also its key on the ring."""
    topic, broker, number = queue
    return f"MessageQueue [topic={topic}, brokerName={broker}, queueId={number}]"


@dataclass(frozen=True, slots=True)
class Ring:
    """Points in ascending order, and the member id at each."""

    points: Sequence[int]
    members: Sequence[str]

    def member_after(self, point: int) -> str:
        """The member at the first point that is not less, or else, round the end of the ring, at the first of all."""
        return self.members[bisect_left(self.points, point) % len(self.points)]


@lru_cache(maxsize=16)  # the topics of a group share their member list, and so its ring
def ring_of(cid_all: tuple[str, ...], virtual_nodes: int, hash_function: HashFunction) -> Ring:
    """The ring of these member ids, in the order given: of two equal points the later one stays."""
    ring: dict[int, str] = {}
    standing: Counter[str] = Counter()
    for cid in cid_all:
        # A listed-twice id goes on counting where its first nodes ended: it gets double weight.
        start = standing[cid]
        for replica in range(start, start + virtual_nodes):
            point = hash_function(f"{cid}-{replica}")
            former = ring.get(point)
            if former is not None:
                standing[former] -= 1
            ring[point] = cid
            standing[cid] += 1
    points = sorted(ring)
    return Ring(points, [ring[point] for point in points])


@dataclass(frozen=True, slots=True)
class ConsistentHash(interface.PositionStrategy):
    """``AllocateMessageQueueConsistentHash``.

    ``virtual_nodes``: points of each member on the ring. ``hash_function``: text to any whole number.
    Raises `AllocationError` for a negative number of virtual nodes, as its constructor does.
    """

    name: ClassVar[str] = "CONSISTENT_HASH"

    virtual_nodes: int = 10
    hash_function: HashFunction = md5_hash

    def __post_init__(self) -> None:
        if self.virtual_nodes < 0:
            raise interface.illegal_argument(f"illegal virtualNodeCnt :{self.virtual_nodes}")

    def positions(self, current_cid: str | None, mq_all: interface.Mqs, cid_all: interface.Cids) -> list[int]:
        given = interface.check(current_cid, mq_all, cid_all)
        if given is None:
            return []
        owners = self._owners(given.mq_all, given.cid_all)
        return [position for position, owner in enumerate(owners) if owner == current_cid]

    def positions_of_all(self, mq_all: interface.Mqs, cid_all: interface.Cids) -> dict[str, list[int]]:
        queues, cids = interface.check_lists(mq_all, cid_all)
        positions: dict[str, list[int]] = {cid: [] for cid in interface.first_indexes(cids)}
        for position, owner in enumerate(self._owners(queues, cids)):
            if owner:
                positions[owner].append(position)
        return positions

    def _owners(self, mq_all: Sequence[Queue], cid_all: Sequence[str]) -> list[str]:
        ring = ring_of(tuple(cid_all), self.virtual_nodes, self.hash_function)
        if not ring.points:
            return []
        return [ring.member_after(self.hash_function(queue_text(queue))) for queue in mq_all]


def make(settings: interface.Settings, group: Group) -> interface.OfMember:
    """``virtual_nodes``: 10 where left out; ``hash_function``: from a text to a whole number, by MD5 where left out."""
    virtual_nodes = settings.get("virtual_nodes", 10)
    if not isinstance(virtual_nodes, int) or isinstance(virtual_nodes, bool):
        raise interface.wrong("virtual_nodes", virtual_nodes, "a whole number, 0 or more")
    if not callable(settings.get("hash_function", hash)):
        raise interface.wrong("hash_function", settings["hash_function"], "a function from a text to a whole number")
    try:
        return interface.same(ConsistentHash(**interface.only(SETTINGS, settings)))
    except interface.AllocationError:
        raise interface.wrong("virtual_nodes", virtual_nodes, "a whole number, 0 or more") from None
