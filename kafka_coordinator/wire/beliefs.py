"""What real members believe to own, concluded from what they say and are told.

A client does not tell what it reads. What is *known* is every byte on its connection with the coordinator; what follows
for its belief is *concluded*:

- It owns what is assigned when the answer to its SyncGroup is written.
- With a JoinGroup it owns what its subscription says that it still has: nothing under the eager protocol.
- A heartbeat of the consumer protocol that lists partitions says what it owns. An answer to one that only adds
  partitions is followed at once; where one is taken away, the member keeps all until it says what it has.
- It owns nothing when it leaves over its own connection, when it joins with epoch 0, when it is told that it is no
  member of this generation (any more), and when it closes the connection: then its process has ended, or the consumer
  was closed. If it speaks again as this member and does not join, it only had a new connection, and owns what it had.
- Nothing changes where we cut the connection, and where its session ends while the connection is open: it hangs, and
  goes on believing until it is told.

What a member does between being told and acting on it (callbacks, a poll that is late) is not seen. The simulation's
consumers tell their beliefs themselves; there these rules are not needed.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.errors import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    ILLEGAL_GENERATION,
    NONE,
    UNKNOWN_MEMBER_ID,
)
from kafka_coordinator.messages import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    ConsumerMetadata,
    Heartbeat,
    HeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
    SyncGroupAnswer,
)
from kafka_coordinator.wire.names import Names
from kafka_coordinator.wire.requests import Fetch
from kafka_coordinator.wire.state import NO_ID, BrokerState
from protocols.engine.nodes import Message
from protocols.facts import Owns, Position
from protocols.java import Queue, sorted_pairs
from protocols.load import quickly_made

_queue = quickly_made(Queue)

Observe = Callable[[tuple[object, ...]], None]

_ENDS: Final = frozenset((UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH))
"""Errors after which a member has lost what it had."""


class _Belief:
    """One member's."""

    __slots__ = ("connection", "generation", "partitions", "reads", "set_aside")

    def __init__(self) -> None:
        self.partitions: frozenset[Partition] = frozenset()
        self.generation: int | None = None
        self.reads: set[Partition] = set()
        """Those of its partitions that it has begun to read."""
        self.connection: str | None = None
        self.set_aside: tuple[frozenset[Partition], int | None] | None = None
        """What it had when it closed its connection, and in which generation."""


class _Asked(NamedTuple):
    request: Message
    key: tuple[str, str]


class Beliefs:
    """Of the members of all groups of a cluster; ``names``: what members are called.

    A connection is named as in `Names`. ``observe`` takes the facts `Owns`, which are told only when they change.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._beliefs: dict[tuple[str, str], _Belief] = {}
        """By group and name."""
        self._asked: dict[str, _Asked] = {}
        """Connection to the request that is being handled on it."""
        self._on: dict[str, dict[tuple[str, str], None]] = {}
        """Connection to the members that spoke on it last."""
        self._cut: set[str] = set()

    def asked(self, connection: str, message: Message, observe: Observe) -> None:
        """A request about a group has come."""
        handle = _REQUESTS.get(type(message))
        if handle is not None:
            handle(self, connection, message, observe)

    def answered(self, observe: Observe, connection: str, message: Message) -> None:
        """An answer of the coordinator is written."""
        handle = _ANSWERS.get(type(message))
        if handle is None:
            return
        asked = self._asked.get(connection)
        if asked is not None and asked.request[0] == message[0]:
            del self._asked[connection]
            handle(self, asked, message, observe)

    def cut(self, connection: str) -> None:
        """We are about to cut this connection."""
        self._cut.add(connection)

    def closed(self, connection: str, observe: Observe) -> None:
        """The connection has been closed."""
        self._asked.pop(connection, None)
        was_cut = connection in self._cut
        self._cut.discard(connection)
        for key in self._on.pop(connection, {}):
            belief = self._beliefs[key]
            belief.connection = None
            if not was_cut:
                kept = belief.partitions, belief.generation
                self._end(key, observe)
                belief.set_aside = kept

    def begin_to_read(
        self, client_id: str, partitions: Sequence[tuple[Partition, int]]
    ) -> Iterator[tuple[tuple[str, str], Partition, int]]:
        """A client fetches these partitions from these offsets: the members (group and name) of this client that own
        one, and had not begun to read it."""
        own = [(key, belief) for key, belief in self._beliefs.items() if self._names.has(key[0], client_id, key[1])]
        for partition, offset in partitions if own else ():
            for key, belief in own:
                if partition in belief.partitions and partition not in belief.reads:
                    belief.reads.add(partition)
                    yield key, partition, offset

    # Requests.

    def _joins(self, connection: str, message: Message, observe: Observe) -> None:
        request = JoinGroup._make(message)
        key = request.group, str(request.client_id)
        self._speaks(connection, message, key, observe)
        metadata = request.protocols[0][1] if request.protocols else None
        kept = metadata.owned if isinstance(metadata, ConsumerMetadata) else ()
        belief = self._beliefs[key]
        self._set(key, belief.partitions.intersection(kept), belief.generation, observe)

    def _of_member(self, connection: str, message: Message, observe: Observe) -> None:
        name = self._names.known(message.group, message.member_id)  # type: ignore[attr-defined]
        if name is not None:
            self._speaks(connection, message, (message.group, str(name)), observe)  # type: ignore[attr-defined]

    def _leaves(self, connection: str, message: Message, observe: Observe) -> None:
        request = LeaveGroup._make(message)
        for member in request.members:
            name = self._names.known(request.group, member.member_id)
            key = request.group, str(name)
            if name is not None and key in self._on.get(connection, ()):
                self._end(key, observe)

    def _beats(self, connection: str, message: Message, observe: Observe) -> None:
        request = ConsumerGroupHeartbeat._make(message)
        key = request.group, str(request.client_id)
        self._speaks(connection, message, key, observe)
        if request.member_epoch <= 0:
            self._end(key, observe)
        if request.member_epoch >= 0 and request.owned is not None:
            # Who repeats a heartbeat whose answer got lost names an older epoch than that which it was told.
            self._set(key, request.owned, max(request.member_epoch, self._beliefs[key].generation or 0), observe)

    def _speaks(self, connection: str, message: Message, key: tuple[str, str], observe: Observe) -> None:
        belief = self._beliefs.get(key)
        if belief is None:
            belief = self._beliefs[key] = _Belief()
        if belief.connection != connection:
            if belief.connection is not None:
                self._on.get(belief.connection, {}).pop(key, None)
            belief.connection = connection
            self._on.setdefault(connection, {})[key] = None
            kept, belief.set_aside = belief.set_aside, None
            if kept is not None and not _begins_anew(message):
                self._set(key, *kept, observe)
        self._asked[connection] = _Asked(message, key)

    # Answers.

    def _joined(self, asked: _Asked, answer: JoinGroupAnswer, observe: Observe) -> None:
        if answer.error in _ENDS:
            self._end(asked.key, observe)
        elif answer.error == NONE:
            self._set(asked.key, self._beliefs[asked.key].partitions, answer.generation, observe)

    def _synced(self, asked: _Asked, answer: SyncGroupAnswer, observe: Observe) -> None:
        if answer.error == NONE and isinstance(answer.assignment, tuple | bytes):
            assigned: Collection[Partition] = answer.assignment if isinstance(answer.assignment, tuple) else ()
            self._set(asked.key, assigned, self._beliefs[asked.key].generation, observe)
        elif answer.error in _ENDS:
            self._end(asked.key, observe)

    def _beaten(self, asked: _Asked, answer: HeartbeatAnswer, observe: Observe) -> None:
        if answer.error in _ENDS and asked.request[3] == self._beliefs[asked.key].generation:
            self._end(asked.key, observe)

    def _consumer_beaten(self, asked: _Asked, answer: ConsumerGroupHeartbeatAnswer, observe: Observe) -> None:
        belief = self._beliefs[asked.key]
        if answer.error in _ENDS:
            self._end(asked.key, observe)
        elif answer.error == NONE and answer.member_epoch >= 0:
            assigned = answer.assignment
            keeps_all = assigned is not None and belief.partitions.issubset(assigned)
            self._set(asked.key, assigned or () if keeps_all else belief.partitions, answer.member_epoch, observe)

    def _end(self, key: tuple[str, str], observe: Observe) -> None:
        """It is no member: told even where it had nothing, because whoever comes again begins anew."""
        belief = self._beliefs[key]
        belief.set_aside = None
        if belief.partitions or belief.generation is not None:
            belief.partitions, belief.generation = frozenset(), None
            observe(Owns(*key, (), None))

    def _set(
        self, key: tuple[str, str], partitions: Collection[Partition], generation: int | None, observe: Observe
    ) -> None:
        belief = self._beliefs[key]
        now = frozenset(partitions)
        if generation is not None and generation < (belief.generation or 0):
            self._end(key, observe)  # another member has taken the name
        belief.generation, belief.set_aside = generation, None
        if now != belief.partitions:
            belief.partitions = now
            belief.reads &= now
            # What is told is in order mostly, and is sorted fast then.
            in_order = sorted_pairs(partitions if len(partitions) == len(now) else now)
            observe(Owns(*key, tuple([_queue((topic, "", number)) for topic, number in in_order]), generation))


def _begins_anew(message: Message) -> bool:
    """Whether the member joins, with nothing but what it says that it has."""
    if isinstance(message, ConsumerGroupHeartbeat):
        return message.member_epoch == 0
    return isinstance(message, JoinGroup)


_REQUESTS: Final[dict[type[Message], Callable[[Beliefs, str, Message, Observe], None]]] = {
    JoinGroup: Beliefs._joins,
    SyncGroup: Beliefs._of_member,
    Heartbeat: Beliefs._of_member,
    OffsetCommit: Beliefs._of_member,
    LeaveGroup: Beliefs._leaves,
    ConsumerGroupHeartbeat: Beliefs._beats,
}
_ANSWERS: Final[dict[type[Message], Callable[[Beliefs, _Asked, Any, Observe], None]]] = {
    JoinGroupAnswer: Beliefs._joined,
    SyncGroupAnswer: Beliefs._synced,
    HeartbeatAnswer: Beliefs._beaten,
    ConsumerGroupHeartbeatAnswer: Beliefs._consumer_beaten,
}


COMMITTED, FIRST, LAST, SEEK = "committed", "first", "last", "seek"
"""Why a member reads there: the offset that its group has committed, the first or the last one, or none of these."""


def observe_positions(
    state: BrokerState, beliefs: Beliefs, request: Fetch, observe: Callable[[tuple[object, ...]], None]
) -> None:
    """Tell the positions of members that a Fetch begins to read for. A request of an incremental session names only
    partitions that are new in it, or have another position than before."""
    partitions: list[tuple[Partition, int]] = []
    for topic in request.body.topics:
        name = getattr(topic, "topic", None) or state.topic_names.get(getattr(topic, "topic_id", NO_ID))
        if name is not None:
            partitions += [((name, each.partition), each.fetch_offset) for each in topic.partitions]
    found = beliefs.begin_to_read(request.client_id, partitions) if partitions else ()
    for (group, member), partition, offset in found:
        why = _why(state, group, partition, offset)
        observe(Position(group, member, Queue(partition[0], "", partition[1]), offset, why))


def _why(state: BrokerState, group: str, partition: Partition, offset: int) -> str:
    core = state.broker.coordinator.core
    known = core.groups.get(group) or core.consumer_groups.get(group)
    committed = known.offsets.get(partition) if known is not None else None
    log = state.storage.log(*partition)
    if committed is not None and committed.offset == offset:
        return COMMITTED
    if offset <= log.start:
        return FIRST
    return LAST if offset >= log.end else SEEK
