"""Quiet times: what happens again and again without changing anything is computed instead of simulated.

A group at rest does nothing but exchanges that repeat: a client's timer is due, it sends requests, the peers note that
the client lives and answer. Between two events of a scenario these are most of the messages. A node that can tell when
it is at rest has three more methods (`QuietNode`); where all running nodes have them and are at rest, the simulation
passes over whole rounds up to the next disturbance. A run with ``Simulation(..., full=True)`` observes the same facts
at the same times, the same order of what is due at one time, and the same ``messages``.

What the kernel does (`protocols.lookout`, `protocols.rounds`, `protocols.catching_up`)
-------------------------------------------------------------------------------------
Now and then it asks every node for its `Rest`. The *disturbance* is the first of: the end of the run, a call of the
scenario, a connection that opens or closes, a message that its receiver does not call harmless, a timer that is neither
an exchange's nor guarded nor idle, and the moment when a missed message is noticed. For every exchange that is *alive*
it computes when its rounds begin and end, with the latencies that these messages would have drawn, message by message
where one depends on the other, by multiplication where not. Rounds that are over before the disturbance are passed
over: messages and latency numbers are counted, the exchange's timer moves to the first round that is simulated again,
and the nodes are told of the last of each kind. Rounds that are under way when the disturbance comes are simulated from
their beginning, as is all of a node that has messages under way when the kernel looks, or only a few rounds to go.

An exchange is alive if its peers run, do not hang, are at rest, are connected without a fault, call its requests
harmless with an equal *claim*, do not begin exchanges with this node themselves, and if this node calls the answers
harmless. The timer of one that is not is a disturbance. So a member that was killed or hangs is noticed in time: nobody
guards its session any more.

What a node has to promise
--------------------------
`rest` returns None unless the node would go on for ever as it is if nothing came but harmless messages. Then:

- *Exchanges*: at each round the timer fires, is set again (``period`` after the beginning, or ``after_end`` of the
  round: when the last answer has come) and the calls are sent, all at once or one after the other (``in_turn``).
  The peer answers while it handles the request. Nothing else is sent, no fact is told, nothing is chosen but peers (by
  `Outbox.choose` with the call's ``label``, at the time of sending), no id is made. Counters may differ afterwards
  (correlation numbers).
- *Harmless* messages change nothing but the timers that they guard and fields such as "last heard of". A request is
  harmless as long as what its sender believes is what the receiver knows: both name it, as the call's ``claim`` and as
  the value in ``harmless``, and the two must be equal. (Kafka: member id and generation of a heartbeat. RocketMQ: the
  member list that a pass asks for, the route that a poll asks for: inputs are equal if claims are.)
- *Guarded* timers are moved to later, or cancelled, by each harmless message of one kind from one sender, and its
  exchange comes more often than they run out. (A coordinator's session timers are guarded by heartbeats; a client's
  timer for an overdue answer by the answer.)
- *Idle* timers, should they fire while the node is at rest, tell and send nothing and disturb nobody (a check that
  finds nothing overdue). They fire as always.

A clean-up that scans "last heard of" fields is an exchange without calls: while all entries are renewed in time its
rounds find nothing. The node names for each entry when a scan could first find it too old (``missed``): if nobody
renews it any more, this is a disturbance.

For each exchange passed over the node is told of the last round (`round_passed`), for each kind of message and each
sender of the last one (`passed`): it does what handling it would have done to its fields and guarded timers, and no
more; the outbox lets it set and cancel timers, anything else raises. The exchange's own timer is moved by the kernel.
Times lie ahead of the simulation's time then, but never beyond the disturbance.

An example with leases is in ``tests/protocols/leases.py``.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol

from protocols.nodes import Message, Outbox, Time, TimerName


class Call(NamedTuple):
    """A request of a round, and its answer."""

    peers: tuple[str, ...]
    """To whom: one, or those among whom `Outbox.choose` picks anew in each round."""
    request: type[Message]
    answer: type[Message] | None
    """None: there is none."""
    label: str = ""
    """Of the choice; empty where the node does not choose."""
    claim: Any = None
    """What the sender believes; must equal what the receiver has for (sender, request) in ``harmless``."""


class Exchange(NamedTuple):
    """What a timer does round after round."""

    timer: TimerName
    period: Time
    """Milliseconds."""
    calls: tuple[Call, ...] = ()
    in_turn: bool = False
    """Each call is sent when the one before is answered; else all when the timer fires."""
    after_end: bool = False
    """The period runs from the end of a round, else from its beginning."""
    thread: str = ""
    """Rounds of exchanges with the same thread do not overlap in the real node: where they would, they are simulated.
    Empty: it does not matter."""
    awaiting: bool = False
    """A round is under way: not all answers have come."""


class Rest(NamedTuple):
    """How a node is at rest."""

    exchanges: tuple[Exchange, ...] = ()
    harmless: Mapping[tuple[str, type[Message]], Any] = {}
    """Sender and type to the claim that makes it harmless. Answers need no claim: any value."""
    guarded: Mapping[TimerName, tuple[str, type[Message]]] = {}
    """Timer to the sender and type of the message that renews it."""
    missed: Mapping[tuple[str, type[Message]], Time] = {}
    """Sender and type to the time from when on an exchange of this node might notice that no more of them come."""
    idle: Collection[TimerName] = ()


class QuietNode(Protocol):
    """What a node has besides the entry points of `protocols.nodes.Node` if it can tell when it is at rest."""

    def rest(self, now: Time) -> Rest | None:
        """How the node is at rest, None if it is not. Must not change anything."""

    def passed(self, now: Time, sender: str, kind: type[Message], out: Outbox) -> None:
        """Harmless messages of this kind were passed over; the last one came now."""

    def round_passed(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        """Rounds of an exchange were passed over; the last one began at ``begun`` and ended now."""
