"""Where a group of n members meets a limit of its servers: what grows, the limit, and the largest group within it.

Sizes are those of frames and records as they are written (`tools.scale.group_sizes`, the systems' tables of frame
sizes), of members as `compare.sweeping.scale` runs them. Two things are not here, because no measured fact carries
them: how many heartbeats a coordinator's threads handle, and how long a join phase lasts at a busy broker (the model
gives requests no time in a server, so that no session ever expires in it for that).
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import rocketmq_selfbalance.cluster as rocketmq
from compare.sweeping.scale import QUEUES, client_id
from compare.sweeping.stories import GROUP, member_name, topic_name
from tools.scale.group_sizes import Alike, metadata_batch_bytes, sync_bytes, target_batch_bytes

MOST_MEMBERS: Final = 10_000_000
"""A limit that a group of so many members keeps is told as none."""

ALIKE: Final = Alike(GROUP, member_name(0), tuple((topic_name(0), number) for number in range(QUEUES)))


@dataclass(frozen=True, slots=True)
class Limit:
    """``size`` of a group of n members must not be above ``most``. ``setting``: what raises it, or where it is fixed;
    ``beyond``: what follows; ``source``: who says so."""

    protocol: str
    what: str
    setting: str
    most: int
    size: Callable[[int], int]
    beyond: str
    source: str

    @property
    def members(self) -> int | None:
        """The largest group within it; None: not below `MOST_MEMBERS`."""
        found = bisect_left(range(MOST_MEMBERS), True, key=lambda members: self.size(members) > self.most) - 1
        return None if found == MOST_MEMBERS - 1 else found


def client_list_bytes(members: int) -> int:
    """The frame with the ids of a RocketMQ group's clients, which every client asks for."""
    one, two = _client_lists()
    return one + max(0, members - 1) * (two - one)


@cache
def _client_lists() -> tuple[int, int]:
    size = rocketmq.SIZES[rocketmq.ConsumerList]
    one, two = (size(rocketmq.ConsumerList(1, 0, (client_id(0),) * count), "", "") for count in (1, 2))
    return one, two


_OFFSETS_TOPIC = "max.message.bytes of __consumer_offsets (message.max.bytes)"
_BATCH = 1_048_588
_JARS = "kafka-coordinator-common and kafka-group-coordinator 4.4.0; a broker of 4.4.0 (tests/slow/test_scale.py)"
_ARRAYS = "JoinGroupResponseData and SyncGroupRequestData of kafka-clients 4.4.0"

LIMITS: Final = (
    Limit(
        "classic",
        "the group's record in __consumer_offsets",
        _OFFSETS_TOPIC,
        _BATCH,
        lambda members: metadata_batch_bytes(ALIKE, members),
        "SyncGroup fails with UNKNOWN_SERVER_ERROR for all members, and the group rebalances again",
        f"{_JARS}; KAFKA-3810",
    ),
    Limit(
        "classic",
        "bytes of the leader's SyncGroup",
        "socket.request.max.bytes",
        104_857_600,
        lambda members: sync_bytes(ALIKE, members),
        "the broker closes the connection",
        "Kafka's documentation of broker configs",
    ),
    Limit(
        "classic",
        "members in the JoinGroup answer and in SyncGroup",
        "fixed in 4.4",
        1_000_000,
        lambda members: members,
        "the message is refused where it is read",
        _ARRAYS,
    ),
    Limit(
        "classic",
        "members",
        "group.max.size",
        2**31 - 1,
        lambda members: members,
        "GROUP_MAX_SIZE_REACHED",
        "Kafka's documentation of broker configs",
    ),
    Limit(
        "consumer protocol",
        "targets that change at once, in one batch of __consumer_offsets",
        _OFFSETS_TOPIC,
        _BATCH,
        lambda members: target_batch_bytes(ALIKE, members),
        "the heartbeat that computes the target fails, and so does each later one: nobody gets a new target",
        _JARS,
    ),
    Limit(
        "consumer protocol",
        "members",
        "group.consumer.max.size",
        2**31 - 1,
        lambda members: members,
        "GROUP_MAX_SIZE_REACHED",
        "Kafka's documentation of broker configs",
    ),
    Limit(
        "share",
        "members",
        "group.share.max.size (at most 1,000)",
        200,
        lambda members: members,
        "GROUP_MAX_SIZE_REACHED",
        "Kafka's documentation of broker configs",
    ),
    Limit(
        "RocketMQ",
        "the list of the group's client ids",
        "com.rocketmq.remoting.frameMaxLength",
        16_777_216,
        client_list_bytes,
        "the client's decoder refuses the answer (read, not tried)",
        "NettyDecoder of rocketmq-remoting",
    ),
)
"""The limits that a group may meet, with the systems' defaults."""


def first_limit(protocol: str) -> Limit | None:
    """The limit of this protocol that the smallest group meets; None: none below `MOST_MEMBERS`."""
    met = [(limit.members, number) for number, limit in enumerate(LIMITS) if limit.protocol == protocol]
    known = [(members, number) for members, number in met if members is not None]
    return LIMITS[min(known)[1]] if known else None
