"""The share-partitions of a broker that leads their partitions: who is asked what, and what follows (spec share 5).

Plain state: it knows neither clock nor log nor network. Each call is given them (`Call`). What has changed counts once
the persister has written it; until then the records are locked. Who waits for records is not told afterwards, unless
the start offset moves: he gets them with the next record that comes, or when his wait ends.

In Kafka `SharePartitionManager` and `DelayedShareFetch`, and of `KafkaApis` what is done with ShareFetch and
ShareAcknowledge.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from kafka_coordinator.assignors.inputs import Partition, queue_of
from kafka_coordinator.errors import NONE, UNKNOWN_SERVER_ERROR
from kafka_coordinator.share.acquiring import Read
from kafka_coordinator.share.messages import AcquiredRanges, ShareAcknowledge, ShareFetch
from kafka_coordinator.share.partition import Change, DeadLetter, Limits, Phase, SharePartition
from kafka_coordinator.share.persister import NO_OFFSET, ShareStates
from kafka_coordinator.share.records import Persisted, State
from kafka_coordinator.share.sessions import ShareSessions
from kafka_coordinator.share.settings import EARLIEST, LATEST, ShareSettings, reset_duration
from kafka_coordinator.versions import DEFAULT, Version
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Available, Back, End, Ended, Position
from protocols.node_state import Apart, Emptied, NodeState

FIND: Final = "share find"
LOCK: Final = "share lock"
RECORDS: Final = "share records"
WAIT: Final = "share wait"
WRITE: Final = "share write"
"""First parts of the names of its timers: others have had their turn, a lock runs out, the record that is waited for
comes, a fetch ends, the persister has answered."""

RELEASED: Final[Back] = "released"
LOCK_TIMEOUT: Final[Back] = "lock timeout"
SESSION_CLOSED: Final[Back] = "session closed"
LEADER_MOVED: Final[Back] = "leader moved"
"""Why records can be given out again."""


class Logs(Protocol):
    """What this broker knows of partitions now. Only those are asked about that it leads, but for ``error``."""

    def error(self, partition: Partition) -> str:
        """NONE, or why it serves no fetches of the partition."""

    def leader_epoch(self, partition: Partition) -> int: ...

    def start(self, partition: Partition) -> int:
        """Offset of the first record."""

    def end(self, partition: Partition, only_committed: bool = False) -> int:
        """Offset behind the last record that can be read; ``only_committed``: the last stable offset."""

    def read(self, partition: Partition, offset: int, max_bytes: int, end: int) -> Read:
        """Batches from the one with this offset on, to before offset ``end``."""

    def aborted(self, partition: Partition, read: Read) -> Read:
        """Those of the batches that were read (at least one) whose records belong to aborted transactions."""

    def size(self, partition: Partition, offset: int, end: int) -> int:
        """Bytes from this offset to before offset ``end``."""

    def comes(self, partition: Partition, offset: int) -> Time | None:
        """When a record that is not there will be; None: nobody knows, and `fetching.look` will be called."""

    def offset_at(self, partition: Partition, time: Time) -> int:
        """Of the first record that was written at this time or later."""

    def bury(self, group: str, partition: Partition, letter: DeadLetter) -> None:
        """Write records to the group's dead letter topic."""


class Observing(Protocol):
    """The part of an outbox that is told facts."""

    def observe(self, fact: tuple[object, ...]) -> None: ...


class Call(NamedTuple):
    """What is there for the time of one call."""

    now: Time
    logs: Logs
    out: Outbox


@dataclass(slots=True, eq=False)
class OpenRequest(NodeState):
    """A request that is answered when ``unwritten`` changes have been written and its fetch is over. ``closes`` as in
    `ShareLeader.closes`."""

    sender: str
    closes: int
    request: ShareFetch | ShareAcknowledge
    results: dict[Partition, str] = field(default_factory=dict)
    """What became of its acknowledgements."""
    unwritten: int = 0
    found: dict[Partition, tuple[str, AcquiredRanges]] | None = None
    """What its fetch has brought; None: it is not over."""
    error: str = NONE
    """Of the whole request."""


@dataclass(slots=True, eq=False)
class WaitingFetch(NodeState):
    """A fetch that waits until records can be acquired, ``due`` at the latest. ``number`` of its `OpenRequest`;
    ``partitions`` in the order in which they are looked at; ``refused`` ones have an error; ``only_committed`` as the
    group had it when the fetch came."""

    number: int
    request: ShareFetch
    due: Time
    partitions: tuple[Partition, ...] = ()
    refused: tuple[tuple[Partition, str], ...] = ()
    only_committed: bool = False


@dataclass(slots=True, eq=False)
class PendingWrite(NodeState):
    """A change that the persister is to keep, ``due`` then. ``number``: of the request that waits for it, if one does;
    the rest as in `settle`."""

    due: Time
    group: str
    partition: Partition
    change: Change
    why: Back
    member_id: str | None
    died: bool
    number: int | None


@dataclass(slots=True, eq=False)
class ShareLeader(NodeState):
    """State of one broker. ``states``: the cluster's; ``group_settings``: of groups that have settings of their own,
    under Kafka's names."""

    states: ShareStates
    settings: ShareSettings = field(default_factory=ShareSettings)
    version: Version = DEFAULT
    group_settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    sessions: ShareSessions = field(default_factory=ShareSessions)
    shares: dict[tuple[str, Partition], SharePartition] = field(default_factory=dict)
    """Share-partitions in memory, by group and partition."""
    requests: dict[int, OpenRequest] = field(default_factory=dict)
    """Those that are not answered, in the order in which they came."""
    asked: int = 0
    """How many there ever were."""
    finding: dict[int, int] = field(default_factory=dict)
    """Fetches of many partitions that have begun, to how many of them have been looked for."""
    writes: list[PendingWrite] = field(default_factory=list)
    """In the order in which they are answered."""
    waiting: dict[int, WaitingFetch] = field(default_factory=dict)
    """In the order in which they came."""
    watching: dict[Partition, dict[str, dict[int, None]]] = field(default_factory=dict)
    """Partition and group to the fetches that wait for it."""
    fetches: int = 0
    """How many ever waited."""
    wait_until: Time | None = None
    coming: dict[Partition, Time] = field(default_factory=dict)
    locked_until: dict[tuple[str, Partition], Time] = field(default_factory=dict)
    """What the timers are set to."""
    closes: dict[str, int] = field(default_factory=dict)
    """Peer to how many connections with it have been closed."""
    names: Apart[dict[str, str]] = field(default_factory=dict)
    """Member id to client id, for what is told."""
    _limits: Apart[Emptied[dict[str, Limits]]] = field(default_factory=dict)

    def limits(self, group: str) -> Limits:
        found = self._limits.get(group)
        if found is None:
            found = self._limits[group] = self.settings.limits(self.group_settings.get(group, {}))
        return found

    def configure(self, group_settings: Mapping[str, Mapping[str, object]]) -> None:
        """Groups have these settings of their own from now on."""
        self.group_settings = group_settings
        self._limits = {}
        for (group, _), share in self.shares.items():
            share.limits = self.limits(group)

    def renumber(self) -> None:
        """Requests have numbers that do not say how many there were before."""
        numbers = {number: at for at, number in enumerate(self.requests, 1)}
        fetches = {number: at for at, number in enumerate(self.waiting, 1)}
        self.requests = {numbers[number]: request for number, request in self.requests.items()}
        self.finding = {numbers[number]: found for number, found in self.finding.items()}
        for fetch in self.waiting.values():
            fetch.number = numbers[fetch.number]
        for write in self.writes:
            write.number = None if write.number is None else numbers[write.number]
        self.waiting = {fetches[number]: fetch for number, fetch in self.waiting.items()}
        self.watching = {
            partition: {group: {fetches[number]: None for number in waiting} for group, waiting in of_groups.items()}
            for partition, of_groups in self.watching.items()
        }
        self.asked, self.fetches = len(numbers), len(fetches)

    def name_of(self, member_id: str) -> str:
        return self.names.get(member_id) or member_id


# Share-partitions.


def find(leader: ShareLeader, call: Call, group: str, partition: Partition, member_id: str) -> SharePartition | str:
    """The share-partition, which is read from the persister where it is not in memory; or an error. ``member_id`` asks
    for it."""
    share = leader.shares.get((group, partition))
    if share is not None:
        return share
    error = call.logs.error(partition)
    if error != NONE:
        return error
    kept = leader.states.find(group, partition)
    if kept is None:
        return UNKNOWN_SERVER_ERROR  # an uninitialized state is answered INVALID_REQUEST to the leader, which hides it
    share = SharePartition(leader.limits(group), leader.version, call.logs.leader_epoch(partition))
    leader.shares[group, partition] = share
    start = kept.start_offset
    if start == NO_OFFSET:
        policy = str(leader.group_settings.get(group, {}).get("share.auto.offset.reset", LATEST)).lower()
        start = _reset_offset(policy, call, partition)
        call.out.observe(Position(group, leader.name_of(member_id), queue_of(partition), start, policy))
    settle(leader, call, group, partition, share.loaded(kept, start), RELEASED, None)
    return share


def _reset_offset(policy: str, call: Call, partition: Partition) -> int:
    if policy == EARLIEST:
        return call.logs.start(partition)
    duration = reset_duration(policy, "share.auto.offset.reset")
    return call.logs.end(partition) if duration is None else call.logs.offset_at(partition, call.now - duration)


def settle(
    leader: ShareLeader,
    call: Call,
    group: str,
    partition: Partition,
    change: Change,
    why: Back,
    member_id: str | None,
    died: bool = False,
    number: int | None = None,
) -> None:
    """Have the persister keep what has changed. ``why`` records can be given out again; ``member_id`` had them;
    ``died``: they were on their way to the dead letter topic; ``number``: of the request that it is the answer to."""
    delay = leader.settings.write_ms
    if change.of_lock and member_id is not None:
        # The records have changed already, whatever becomes of the write (spec share 4.6).
        _tell(leader, call, group, partition, change.states, why, member_id, died)
    write = PendingWrite(call.now + delay, group, partition, change, why, member_id, died, number)
    if number is not None:
        leader.requests[number].unwritten += 1
    if delay and change.write is not None and not change.done:
        leader.writes.append(write)
        if len(leader.writes) == 1:
            call.out.set_timer((WRITE,), write.due)
    else:
        written(leader, call, write)


def written(leader: ShareLeader, call: Call, write: PendingWrite) -> None:
    """The persister has answered."""
    group, partition, change = write.group, write.partition, write.change
    share = leader.shares.get((group, partition))
    if change.write is not None and not change.done:
        kept = leader.states.find(group, partition)
        if kept is not None:
            kept.take(change.write, leader.version.share_states_are_joined)
        if share is not None:
            share.written(change, "" if kept is not None else UNKNOWN_SERVER_ERROR)
    if write.number is not None:
        request = leader.requests[write.number]
        request.unwritten -= 1
        request.results[partition] = change.error or NONE
    if change.error:
        return
    if not change.of_lock and (write.member_id is not None or write.died):
        _tell(leader, call, group, partition, change.states, write.why, write.member_id, write.died)
    if share is None:
        return
    for letter in change.dead:
        call.logs.bury(group, partition, letter)
        settle(leader, call, group, partition, share.dead_lettered(letter), write.why, write.member_id, True)


_ENDS: Final[Mapping[State, End]] = {State.ACKNOWLEDGED: "acknowledged", State.ARCHIVED: "archived"}


def _tell(
    leader: ShareLeader,
    call: Call,
    group: str,
    partition: Partition,
    states: list[Persisted],
    why: Back,
    member_id: str | None,
    died: bool,
) -> None:
    queue, member = queue_of(partition), None if member_id is None else leader.name_of(member_id)
    at = 0
    while at < len(states):
        first, last, state, _ = states[at]
        at += 1
        while at < len(states) and states[at].first == last + 1 and states[at].state is state:
            last = states[at].last
            at += 1
        if state is State.AVAILABLE and member is not None:
            call.out.observe(Available(group, member, queue, first, last + 1, why))
        elif state in _ENDS:
            call.out.observe(Ended(group, member, queue, first, last + 1, "dead letter" if died else _ENDS[state]))


def fence(leader: ShareLeader, call: Call, group: str, partition: Partition) -> None:
    """The share-partition is dropped from memory: who has acquired records is forgotten (spec share 4.2)."""
    share = leader.shares.get((group, partition))
    if share is None:
        return
    for write in [each for each in leader.writes if (each.group, each.partition) == (group, partition)]:
        leader.writes.remove(write)
        written(leader, call, write)
    del leader.shares[group, partition]
    share.phase = Phase.FENCED
    if leader.locked_until.pop((group, partition), None) is not None:
        call.out.cancel_timer((LOCK, group, partition))
    _tell_lost(leader, call.out, group, partition, share)


def lost(leader: ShareLeader, out: Observing) -> None:
    """The broker's process is gone, and others lead in its place: nobody has what was acquired of it, which is told
    once."""
    for (group, partition), share in leader.shares.items():
        _tell_lost(leader, out, group, partition, share)
    leader.shares.clear()


def _tell_lost(leader: ShareLeader, out: Observing, group: str, partition: Partition, share: SharePartition) -> None:
    queue = queue_of(partition)
    for batch in share.batches:
        for first, last, entry in batch.pieces():
            state, owner = (entry.state, entry.owner) if entry.before is None else entry.before[::2]
            if state is State.ACQUIRED and owner is not None:
                out.observe(Available(group, leader.name_of(owner), queue, first, last + 1, LEADER_MOVED))
