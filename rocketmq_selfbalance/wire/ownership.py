"""Who reads which queue, concluded from what real clients send: RocketMQ's clients share queues among themselves and
tell no broker the result.

- ``RebalanceBegan``: concluded. A client that asks for its group's member list begins a pass; why it does is taken from
  the last change of the group's members.
- ``Granted``: known for queues that the client locked (ordered consumption), concluded with ``Owns`` for others.
- ``Owns``: concluded. The client pulls from the queue. That ends when it leaves the group or loses its connection,
  unlocks the queue, begins no further pull within `QUIET_MS`, or when another client of the group begins to pull from
  the queue.
- Two owners: concluded. A client that goes on pulling after another one has begun owns the queue as well; a pull that
  waits since before does not count. Each client of a BROADCASTING group owns what it pulls.
- ``RebalanceEnded``: concluded. The client's queues have changed.
- ``Committed``: known.
- ``Delivered``: concluded. A client that moves its committed offset forward has handled the records in between. Records
  that it handled and did not commit are not seen.

A member is called by its client id. What clients do with records between a pull and a commit, and queues that are
assigned but not pulled (a paused consumer), nobody on this side can know.
"""

from collections.abc import Callable
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.facts import Delivered, Granted, Owns, RebalanceBegan, RebalanceEnded
from protocols.java import Queue, queue_key

QUIET_MS: Time = 5_000.0
"""A client whose pull was answered and who has not pulled again for so long reads the queue no more. Clients pause for
up to three seconds themselves, after errors."""

REMEMBERED_MS: Time = 60_000.0
"""How long it is remembered whom the next reader of a queue has followed, and what changed a group's members."""

Observe = Callable[[tuple[object, ...]], None]


class _Reading:
    """One client's pulls from one queue."""

    __slots__ = ("last", "waiting")

    def __init__(self) -> None:
        self.waiting = 0
        self.last: Time = 0.0


class _Member:
    """One client in one group."""

    __slots__ = ("channels", "followed", "granted", "locked", "owned", "passing", "reading", "told")

    def __init__(self) -> None:
        self.channels: dict[tuple[str, str], None] = {}
        """Broker and connection."""
        self.reading: dict[Queue, _Reading] = {}
        self.owned: dict[Queue, None] = {}
        self.locked: dict[Queue, None] = {}
        self.followed: dict[Queue, Time] = {}
        """Queue that another client began to pull to when that was."""
        self.passing = False
        self.granted: tuple[Queue, ...] = ()
        self.told: tuple[Queue, ...] = ()
        """What was observed last."""


class _Change(NamedTuple):
    """What changed a group's members last."""

    at: Time
    trigger: str
    by: str


class Ownership:
    """One for all brokers of a cluster: a client's queues are at several of them."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, _Member]] = {}
        self._changes: dict[str, _Change] = {}
        self._handled: dict[tuple[str, Queue], tuple[int, Time]] = {}
        """Group and queue to the offset where it was first read from or was committed last, and when."""

    # What clients do.

    def joined(self, now: Time, group: str, member: str, broker: str, channel: str) -> None:
        """A client is in a group, at this broker over this channel."""
        members = self._groups.setdefault(group, {})
        if member not in members:
            self._changes[group] = _Change(now, f"{member} joined", member)
            members[member] = _Member()
        members[member].channels[broker, channel] = None

    def left(self, now: Time, group: str, member: str, broker: str, channel: str, observe: Observe) -> None:
        """A client is in a group no more, as far as this channel goes."""
        members = self._groups.get(group, {})
        known = members.get(member)
        if known is None:
            return
        known.channels.pop((broker, channel), None)
        if not any(each == broker for each, _ in known.channels):
            gone = {*known.reading, *known.locked, *known.owned}
            for queue in gone:
                if queue.broker == broker:
                    self._drop(known, queue)
            if gone:
                self._tell(group, member, known, observe)
        if not known.channels:
            del members[member]
            self._changes[group] = _Change(now, f"{member} left", member)
            if not members:
                del self._groups[group]

    def asked_for_members(self, now: Time, group: str, member: str, observe: Observe) -> None:
        """A client asks who is in its group: it begins a pass."""
        known = self._groups.get(group, {}).get(member)
        if known is None or known.passing:
            return
        known.passing = True
        change = self._changes.get(group)
        if change is None or now - change.at > REMEMBERED_MS:
            observe(RebalanceBegan(group, "its interval is over", None, None, member))
        else:
            observe(RebalanceBegan(group, change.trigger, change.by, None, member))

    def pulls(
        self, now: Time, group: str, member: str, queue: Queue, offset: int, *, alone: bool, observe: Observe
    ) -> None:
        """A pull from this offset has come; ``alone``: the group's members share its queues."""
        self._handled.setdefault((group, queue), (offset, now))
        members = self._groups.get(group)
        known = None if members is None else members.get(member)
        if members is None or known is None:
            return
        reading = known.reading.get(queue)
        if reading is None:
            reading = known.reading[queue] = _Reading()
        reading.waiting += 1
        reading.last = now
        if queue in known.owned:
            return
        followed = known.followed.pop(queue, None)
        known.owned[queue] = None
        if alone and (followed is None or now - followed > REMEMBERED_MS):
            for name, other in members.items():
                if other is not known and queue in other.owned:
                    other.followed[queue] = now
                    del other.owned[queue]
                    self._tell(group, name, other, observe)
        self._tell(group, member, known, observe)

    def answered(self, now: Time, group: str, member: str, queue: Queue) -> None:
        """A client's pull is answered."""
        known = self._groups.get(group, {}).get(member)
        reading = None if known is None else known.reading.get(queue)
        if reading is not None:
            reading.waiting = max(reading.waiting - 1, 0)
            reading.last = now

    def locks(self, group: str, member: str, queues: tuple[Queue, ...], observe: Observe) -> None:
        """A client holds the locks of these queues."""
        known = self._groups.get(group, {}).get(member)
        if known is not None and any(queue not in known.locked for queue in queues):
            known.locked.update(dict.fromkeys(queues))
            self._tell(group, member, known, observe)

    def unlocks(self, group: str, member: str, queues: tuple[Queue, ...], observe: Observe) -> None:
        """A client gives up the locks of these queues."""
        known = self._groups.get(group, {}).get(member)
        if known is not None:
            for queue in queues:
                self._drop(known, queue)
            self._tell(group, member, known, observe)

    def commits(
        self, now: Time, group: str, member: str | None, queue: Queue, offset: int, before: int, observe: Observe
    ) -> None:
        """A commit was taken, where ``before`` stood (below 0: nothing)."""
        handled, since = self._handled.get((group, queue), (offset, now))
        first = before if before >= 0 else handled
        if member is not None and first < offset:
            observe(Delivered(group, member, queue, first, offset, since, now))
        self._handled[group, queue] = offset, now

    def look(self, now: Time, broker: str, observe: Observe) -> None:
        """Find who reads this broker's queues no more."""
        for group, members in self._groups.items():
            for member, known in members.items():
                quiet = [
                    queue
                    for queue, reading in known.reading.items()
                    if queue.broker == broker and not reading.waiting and now - reading.last > QUIET_MS
                ]
                for queue in quiet:
                    del known.reading[queue]
                    known.owned.pop(queue, None)
                if quiet:
                    self._tell(group, member, known, observe)

    # Inner works.

    @staticmethod
    def _drop(known: _Member, queue: Queue) -> None:
        for table in (known.reading, known.owned, known.locked, known.followed):
            table.pop(queue, None)

    @staticmethod
    def _tell(group: str, member: str, known: _Member, observe: Observe) -> None:
        granted = tuple(sorted({*known.owned, *known.locked}, key=queue_key))
        owned = tuple(sorted(known.owned, key=queue_key))
        if granted != known.granted:
            known.granted = granted
            observe(Granted(group, member, granted, None))
        if owned != known.told:
            known.told = owned
            observe(Owns(group, member, owned, None))
            observe(RebalanceEnded(group, None, True, member))
            known.passing = False
