"""Quiet times: what happens again and again without changing anything is computed instead of simulated.

A group at rest does nothing but exchanges that repeat: a client's timer is due, it sends requests, the servers note
that the client lives and answer. Between two events of a scenario these are most of the messages. An adapter (`broker`,
`client`; `flows.adapter_of` chooses) tells from outside whether its node is quiescent; where all running nodes
are, `driver.FastForward` skips whole rounds up to the next disturbance. Kernel and nodes know nothing of it. A run
without it (a full run) observes the same facts at the same times, the same order of what is due at one time, and the
same ``messages``; but see below for flows.

What is done (`driver`, `quiescent`, `rounds`)
----------------------------------------------
Now and then every adapter is asked for its node's `Quiescence`. The *disturbance* is the first of: the end of the run,
a call of the scenario, a connection that opens or closes, a message that its receiver does not call harmless, a timer
that is neither an exchange's nor guarded nor idle, and the moment when a missed message is noticed. For every exchange
that is *alive* it is computed when its rounds begin and end, with the latencies that these messages would have drawn.
Rounds that are over before the disturbance are skipped: messages and latency numbers are counted, the exchange's timer
moves to the first round that is simulated again, and the adapters bring their nodes to the state after the last of each
kind. Rounds that are under way when the disturbance comes are simulated from their beginning, as is all of a node that
has messages under way when this is asked, or only a few rounds to go.

An exchange is alive if its peers run, do not hang, are quiescent, are connected without a fault, call its requests
harmless with an equal *claim*, and if this node calls the answers harmless. The timer of one that is not is a
disturbance. So a client that was killed or hangs is noticed in time: nobody guards the broker's timer for it any more.

What an adapter promises of its node
------------------------------------
Its method ``quiescence`` (which changes nothing in the node) returns None unless the node would go on for ever as it is
if nothing came but harmless messages. Then:

- *Exchanges*: at each round the timer fires, is set again (``period`` after the beginning, or ``after_end`` of the
  round: when the last answer has come) and the calls are sent, one after the other (``in_turn``), or all at once
  where none is answered.
  The peer answers while it handles the request. Nothing else is sent, no fact is told, nothing is chosen but peers (by
  `Outbox.choose` with the call's ``label``, at the time of sending), no id is made. Counters may differ afterwards
  (correlation numbers).
- *Harmless* messages change nothing but the timers that they guard and fields such as "last heard of". A request is
  harmless as long as what its sender believes is what the receiver knows: both name it, as the call's ``claim`` and as
  the value in ``harmless``, and the two must be equal (what is locked). A receiver that knows more than it is asked for
  names a `Judge` of claims instead (the name server: the routes that a client has; a broker: whether a pass would find
  nothing new, and whether commits repeat what is stored).
- Of a message that is under way its kind tells whether it is harmless, unless the receiver judges it by what it says
  (``judges``: type to its `Judgement`).
- *Guarded* timers are moved to later, or cancelled, by each harmless message of one kind from one sender (`Guard`).
  Where its exchange comes too seldom, so that they run out before, they are disturbances like others. (A broker's timer
  for an idle connection is guarded by heartbeats; a client's timer for an overdue answer by the answer, see
  `Exchange.within`.)
- *Held* pulls wait at a broker until their timer is due; then it answers, and the client, whom the answer tells
  nothing, sends the same pull again at once. The client names the pulls that it would send (in ``harmless``, for the
  answer). Such rounds, which begin with the answer, are computed with the client's own, as they use the same links.
- *Idle* timers, should they fire while the node is quiescent, tell and send nothing and disturb nobody (a check that
  finds nothing overdue). They fire as always.
- *Flows*: nothing comes of them but what `Flow` says, as long as the broker would answer
  (`broker.BrokerAdapter.production`).

A clean-up that scans "last heard of" fields is an exchange without calls: while all entries are renewed in time its
rounds find nothing. The node names for each entry when a scan could first find it too old (``missed``): if nobody
renews it any more, this is a disturbance.

For each exchange that was skipped the adapter is told of the last round (``replay_round``: begun then, ended now), for
each kind of message and each sender of the last one (``replay_messages``, for each that the exchange may be about): it
does to the node's fields and guarded timers what handling it would have done, and no more; the outbox lets it set and
cancel timers, anything else raises. The exchange's own timer is moved by the driver. Times lie ahead of the
simulation's time then, but never beyond the disturbance.

Reading that follows what comes in
----------------------------------
Where records come in evenly and a client keeps up, one pull follows the other. That is no round: it has no period, and
its number of messages grows with the load. Such a `Flow` is not repeated message by message but computed as a function
of time (`protocols.load`), here alone not to the tick: how far the client has come follows from when records are
written, how long it takes for one, and the mean latency. What is under way is taken back, client and broker are told
how far it went (``replay_reading``, ``replay_reader``), and a little before the disturbance the client pulls anew, so
that all is under way again as it would be. The same records are read by the same members as in a full run, and told in
fewer facts; only one that comes within milliseconds of a queue's change of hands may be read on the other side of it.

Somebody in a crowd
-------------------
Among many clients there is nearly always one who catches up, waits for its next pass, or sleeps while it shuts down. In
a crowd (`flows.CROWD`) such a client does not keep the others from being passed over: where what it reads concerns
nobody else (``reads_alone``), its pulls and its work are simulated meanwhile, with the exchanges of the brokers, and
its other timers are disturbances. Where it will have caught up long before the next disturbance, no more is passed
over until then (`flows.Currents.caught_up`). (What its flows have told lies ahead of its facts: all are heard at their
times.)
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from heapq import heappush
from math import inf
from typing import Any, NamedTuple, TypeAlias, TypeVar

from protocols.engine.links import Link
from protocols.engine.nodes import Message, Observer, Time, TimerName
from protocols.engine.process import Happening, Process
from protocols.java import Queue
from protocols.load import Production
from rocketmq_selfbalance.messages.offsets import PullMessage

T = TypeVar("T")


def is_sound(link: Link) -> bool:
    """Whether the connection is open at both ends, and nothing is wrong with the network."""
    back = link.back
    return link.open and back.open and link.fault is None and back.fault is None


class ReplayOutbox:
    """The outbox of a node that is moved on over what was skipped. ``tells``: it may tell facts of it, which are heard
    when their time has come, as others happen before."""

    __slots__ = ("_process", "_tells")

    def __init__(self, process: Process, *, tells: bool = False) -> None:
        self._process, self._tells = process, tells

    def set_timer(self, name: TimerName, at: Time) -> None:
        self._process.set_timer(name, at)

    def cancel_timer(self, name: TimerName) -> None:
        self._process.cancel_timer(name)

    def due(self, name: TimerName) -> Time | None:
        """When this timer of the node is due; None where it is not set."""
        timer = self._process.timers.get(name)
        return None if timer is None else timer[0]

    def later(self, action: Callable[[], None]) -> None:
        """Do this when the time comes to which the node is moved on, which lies ahead."""
        self._push(Happening(lambda _: action()), None)

    def send(self, to: str, message: Message) -> None:
        raise self._refusal(f"sends {type(message).__name__}")

    def close(self, peer: str) -> None:
        raise self._refusal("closes a connection")

    def observe(self, fact: tuple[Any, ...]) -> None:
        if not self._tells:
            raise self._refusal(f"tells {type(fact).__name__}")
        self._push(Happening(self._process.observe), fact)

    def choose(self, label: str, options: Sequence[T]) -> T:
        raise self._refusal(f"chooses {label}")

    def new_id(self, prefix: str) -> str:
        raise self._refusal("makes an id")

    def _push(self, happening: Happening, what: Any) -> None:
        simulation = self._process.simulation
        now, number = simulation.now, simulation.number + 1
        simulation.number = number
        heappush(simulation.heap, (now, now, number, simulation.root, happening, what))

    def _refusal(self, what: str) -> RuntimeError:
        return RuntimeError(f"{self._process.name} {what} for what was skipped: so it was not quiescent")


class Troubles:
    """An observer that passes every report on, and remembers when a fault last harmed anything between two processes,
    from now on."""

    def __init__(self, following: Observer) -> None:
        self._following = following
        self._last: dict[frozenset[str], Time] = {}
        self.fact, self.created, self.sent = following.fact, following.created, following.sent

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None:
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


class Judge(NamedTuple):
    """In place of a claim: whether the receiver agrees with the sender's."""

    agrees: Callable[[Any], bool]


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
    """Each call is sent when the one before is answered; else all when the timer fires, and none is answered."""
    after_end: bool = False
    """The period runs from the end of a round, else from its beginning."""
    thread: str = ""
    """Rounds of exchanges with the same thread do not overlap in the real node: where they would, they are simulated.
    Empty: it does not matter."""
    awaiting: bool = False
    """A round is under way: not all answers have come."""
    within: Time = inf
    """So many milliseconds after its request each answer has come, else it is overdue."""
    vital: bool = False
    """Where it is not alive the node is not quiescent: only the peers can tell."""
    about: Hashable = None
    """What the requests are about, where nodes distinguish them by that. The receiver's value in ``harmless`` is a
    mapping of that to claims then, and both sides are told of each for itself."""


class Flow(NamedTuple):
    """Pull after pull for the records of a queue, each sent when the one before is answered."""

    broker: str
    pull: PullMessage
    """The one that is under way or held by the broker."""
    done: int
    """The first record that the client has not handled; the pull asks for what follows those that it has fetched."""
    handle: Time
    """How long a record is handled, in milliseconds."""
    timers: Collection[TimerName]
    """Of the client: what this flow has set and will set again, once it goes on."""
    commits: tuple[Time, Time]
    """When the client commits next how far it is, beside its pulls, and how often, in milliseconds."""
    within: Time
    """So many milliseconds after a pull its answer has come, else it is overdue."""
    hands: int
    """Flows of a group share those threads of its consumer."""
    wait: Time = 0.0
    """How long a record that has come waits for one of them, in milliseconds."""
    tells: tuple[Time, int] = (inf, 0)
    """When the pull that is under way arrives, and how far it tells the broker that the client is."""

    @property
    def delay(self) -> Time:
        """How long it takes until a record that has come is handled."""
        return self.wait + self.handle


class Held(NamedTuple):
    """A pull that waits at a broker, and is answered when the timer is due at the latest."""

    timer: TimerName
    """Set for this pull alone."""
    sender: str
    pull: PullMessage
    repeats: bool
    """Nothing will come for which it waits: the answer tells nothing, and an equal pull changes nothing."""

    @property
    def about(self) -> tuple[str, Queue]:
        return self.pull.group, self.pull.queue


class Guard(NamedTuple):
    """Who renews a timer."""

    sender: str
    kind: type[Message]
    length: Time | None = None
    """For how long, in milliseconds; None: for no less than what is left of it now."""


class Renewal(NamedTuple):
    """What follows of a pull or its answer under way that changes nothing: answers, again and again."""

    after: Time
    """The first one is sent so many milliseconds after the message's arrival at the latest (`math.inf`: never),"""
    period: Time
    """and the others so many milliseconds after each other."""


class Stretch(NamedTuple):
    """How far a flow went that was passed over."""

    flow: Flow
    production: Production
    """What the queue takes in."""
    since: Time
    until: Time
    travel: Time
    """How long a message is under way."""
    position: int
    """The first record that the reader has not handled in the end."""
    last: bool
    """No other stretch of this flow follows."""
    held: bool
    """In the end all that came in was handled, and the request for the next record is held by the peer; else there is
    none."""

    @property
    def came(self) -> Time:
        """When the last record came; 0 where none did evenly. The reader has asked for the next one since then."""
        return self.production.arrival(self.position - 1) if self.position > self.production.before else 0.0

    def handled_at(self, now: Time) -> int:
        """The first record that the reader had not handled at some time of the stretch."""
        flow = self.flow
        return min(self.position, max(flow.done, self.production.end_offset(now - self.travel - flow.delay)))

    def handling_since(self, first: int) -> Time:
        """Since when the records from ``first`` on were handled: a single one as long as it takes, others evenly."""
        single = self.position - first == 1
        return max(self.since, self.until - self.flow.handle) if single else self.since

    def told_at(self, now: Time) -> int:
        """How far the peer has been told by then, since this is computed, that the reader was: requests tell what is
        handled when they are sent, which is when the answer to the one before comes; the first one is under way or held
        (`Flow.tells`), and tells what was handled while the reader may have caught up yet. And the reader tells it now
        and then (`Flow.commits`)."""
        flow, production = self.flow, self.production
        sent = now - self.travel
        answered = production.end_offset(sent - self.travel) - 1
        arrives, told = flow.tells
        if arrives > now:
            told = 0
        if answered >= max(flow.pull.offset, production.before):
            told = max(told, production.end_offset(production.arrival(answered) - flow.delay))
        return min(self.position, max(told, self.committing_at(sent)))

    def committing_at(self, now: Time) -> int:
        """What the reader told last beside its requests (`Flow.commits`)."""
        following, period = self.flow.commits
        return 0 if following > now else self.handled_at(now - (now - following) % period)


Judgement: TypeAlias = Callable[[Time, str, Any], Renewal | None]
"""Now, sender and message to what follows of a message under way to the node that will change nothing; None where it
will."""


class Quiescence(NamedTuple):
    """How a node is quiescent."""

    exchanges: tuple[Exchange, ...] = ()
    harmless: Mapping[tuple[str, type[Message]], Any] = {}
    """Sender and type to the claim that makes it harmless. Answers need no claim: any value."""
    guarded: Mapping[TimerName, Guard] = {}
    missed: Mapping[tuple[str, type[Message]], Time] = {}
    """Sender and type to the time from when on an exchange of this node might notice that no more of them come."""
    idle: Collection[TimerName] = ()
    flows: Collection[Flow] = ()
    held: Collection[Held] = ()
    reads_alone: bool = False
    """What it pulls and handles concerns nobody else, however it does that (see the end of `contract`)."""
    in_hand: Time = 0.0
    """How long it handles what it has fetched, in milliseconds."""
