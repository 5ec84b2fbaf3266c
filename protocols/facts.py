"""Facts that nodes report to an observer: plain records, the same for both systems, from which a timeline is made.

Times are not in them: the observer gets the time with each fact. ``member`` is the name of the member in the
scenario (in RocketMQ the consumer of one group within a client), never the id that a coordinator made up.
``generation`` is Kafka's generation; None where a system has none.
"""

from math import inf
from typing import Literal, NamedTuple, TypeAlias

from protocols.java import Queue


class Owns(NamedTuple):
    """From now on the member believes that it owns exactly these queues (sorted)."""

    group: str
    member: str
    queues: tuple[Queue, ...]
    generation: int | None


class Granted(NamedTuple):
    """From now on exactly these queues (sorted) are given to the member: by the coordinator (Kafka), or by what the
    member computed for itself (RocketMQ, ZooKeeper), before it acts on it."""

    group: str
    member: str
    queues: tuple[Queue, ...]
    generation: int | None


class RebalanceBegan(NamedTuple):
    """The group (Kafka), or this one member (RocketMQ, ZooKeeper), begins to rebalance.

    ``trigger`` says why in a few words ("c2 left", "session of c2 timed out", "member list changed");
    ``by`` is the member who caused it, or None. ``of_topics``: whether it began because somebody saw other topics or
    queues than before, or reads others; None where that is not known.
    """

    group: str
    trigger: str
    by: str | None
    generation: int | None
    member: str | None = None
    of_topics: bool | None = None


class RebalanceEnded(NamedTuple):
    """The rebalance is complete: the coordinator has the assignment and answers (Kafka), the member has applied what it
    computed (RocketMQ, ZooKeeper). ``changed``: whether anybody's queues (the member's) are different now."""

    group: str
    generation: int | None
    changed: bool
    member: str | None = None


class Callback(NamedTuple):
    """The user's code of the member was called: ``kind`` is ``assigned``, ``revoked`` or ``lost``."""

    group: str
    member: str
    kind: str
    queues: tuple[Queue, ...]


class Committed(NamedTuple):
    """A broker took or refused a committed offset. ``error`` is empty where it was taken, else the system's name for
    the refusal. ``member`` is None for an administrator, and for one whom the group does not know."""

    group: str
    queue: Queue
    offset: int
    member: str | None
    generation: int | None
    error: str


class Delivered(NamedTuple):
    """The user's code of the member handled the records with offsets ``first`` to ``end - 1``, evenly between
    ``since`` and ``until`` (milliseconds of virtual time), which is now.

    A loop or a pool begins ``at_once`` of them together, as far as they are there, and the next ones ``turn``
    milliseconds later at the earliest; each takes ``each`` milliseconds, after it has waited ``wait`` milliseconds for
    a hand that worked on other queues. Where ``turn`` is 0, each of the member's times was observed: it began with all
    of them at ``since``, or as many as that, and ended now. Else the times are computed: a record may have been written
    after ``since``.
    """

    group: str
    member: str
    queue: Queue
    first: int
    end: int
    since: float
    until: float
    at_once: int = 1
    turn: float = 0.0
    each: float = 0.0
    wait: float = 0.0


Back: TypeAlias = Literal[
    "released", "lock timeout", "session closed", "leader moved", "invisible time over", "client gone"
]
"""Why records can be given out again: Kafka's words for a share-partition (spec share 4), then RocketMQ's for POP."""

End: TypeAlias = Literal["acknowledged", "archived", "dead letter", "skipped"]
"""How records ended; ``skipped``: the group has gone on behind records that nobody was given (a filter)."""


class Acquired(NamedTuple):
    """The records ``first`` to ``end - 1`` are given to the member, for the ``attempt``-th time as the system counts,
    from 1 on, and hidden from everybody else until ``until`` (milliseconds of virtual time).

    A record keeps its queue and offset through all its attempts: RocketMQ's copy in a retry topic is told under those
    of its original.
    """

    group: str
    member: str
    queue: Queue
    first: int
    end: int
    attempt: int
    until: float


class Renewed(NamedTuple):
    """Records that the member was given stay hidden until ``until``."""

    group: str
    member: str
    queue: Queue
    first: int
    end: int
    until: float


class Available(NamedTuple):
    """Records that the member was given can be given out again from now on (RocketMQ: their copies lie in the retry
    topic); an acknowledgement of the member counts no more."""

    group: str
    member: str
    queue: Queue
    first: int
    end: int
    why: Back


class Ended(NamedTuple):
    """Nobody of the group is given these records any more. ``member`` had them, or looked at them; None where nobody
    did."""

    group: str
    member: str | None
    queue: Queue
    first: int
    end: int
    how: End


class PassedOver(NamedTuple):
    """The member reads on behind the record with this offset, which its user's code could not handle; ``why`` says what
    became of the record."""

    group: str
    member: str
    queue: Queue
    offset: int
    why: str


class StandsStill(NamedTuple):
    """The member's user code has come to the record with this offset, which it cannot handle, and tries it again."""

    group: str
    member: str
    queue: Queue
    offset: int


class Position(NamedTuple):
    """Where the member will read next in a queue that it has just begun to read: ``offset`` and why it is there
    ("committed", "first", "last", "timestamp", ...)."""

    group: str
    member: str
    queue: Queue
    offset: int
    why: str


class Transition(NamedTuple):
    """A state machine took an edge: ``machine`` names it (``group``, ``client``, ``process queue``), ``of`` the one."""

    machine: str
    of: str
    before: str
    event: str
    after: str


class Epoch(NamedTuple):
    """A number that goes up with what a group has agreed on has this value from now on.

    ``name`` is the system's name of it: a group's ``generation``, or ``group epoch`` and ``assignment epoch``; a
    member's ``generation``, or ``member epoch``. ``machine`` and ``of`` say whose it is, as in `Transition`. Before the
    first of these facts a group's numbers are 0, and a member has none; a negative one means that it has none any more.
    """

    group: str
    machine: str
    of: str
    name: str
    value: int


class TimedOut(NamedTuple):
    """A time limit of the member's client ran out, and the client acts on it. ``setting`` is the system's name of the
    limit, which is ``limit`` milliseconds long; ``why`` says in words what takes longer, ending with that word;
    ``then`` what the client does."""

    group: str
    member: str
    setting: str
    limit: float
    why: str
    then: str


class Writes(NamedTuple):
    """From now on producers send ``per_second`` records of the load to the queue, evenly.

    ``waits``: none of them is acknowledged, nor can be read, before a later fact says that they wait no more; then they
    are all there at once, but those that have waited for longer than ``at_most`` milliseconds, which their producer has
    given up. ``refused``: so many more per second its producers give up at once."""

    queue: Queue
    per_second: float
    waits: bool = False
    at_most: float = inf
    refused: float = 0.0
    acknowledged: bool = False
    """Whether those that wait are acknowledged at once all the same, and cannot be read alone."""
    listed: bool = True
    """Whether producers know the queue: a key's records go to one of those that they know."""


class Resends(NamedTuple):
    """From now on ``per_second`` records of the topic are written by another broker than the one that its producers
    tried first; and ``twice`` records are stored a second time now, by a frozen broker that goes on."""

    topic: str
    per_second: float
    twice: int = 0


class Stage(NamedTuple):
    """A stage of what follows from the failure of a server: ``what`` has happened now ("the controller fences b1"),
    ``until`` it what could not be ("nothing is acknowledged"; empty where nothing is said), and the ``setting`` by
    which it happens now and not at another time ("broker.session.timeout.ms 9000"; empty where none decides).
    ``topic``: the only one that it is about, empty where it is about all."""

    server: str
    what: str
    until: str = ""
    setting: str = ""
    topic: str = ""


class Noted(NamedTuple):
    """Something a reader of the story wants to know, in one sentence."""

    text: str
