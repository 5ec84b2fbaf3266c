"""What states of the explorer's world are made of, and what happens in them.

What lies between two processes: messages on their way, in the order sent, and who believes that they are connected.

A pair of processes has two directions, 0 from the first to the second, 1 back. Everything that a process sends, be it
over one connection or over several after each other, arrives in the order sent. What is sent over a connection that the
other side has closed is lost, as is all that was on its way to a side that closes.
"""

from collections.abc import Hashable
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from protocols.engine.exploration.steps import Branch

State: TypeAlias = tuple[int, ...]
"""See `protocols.engine.exploration.world.World`."""

V = TypeVar("V", bound=Hashable)

DELIVER, FIRE, HAPPEN = "deliver", "timer", "event"
"""Kinds of actions."""


class Action(NamedTuple):
    """``deliver``: the oldest message on its way from ``of`` to ``what`` arrives. ``timer``: a timer of the process
    ``of`` fires, the ``what``-th of those that are set. ``event``: the scenario's next event (``what`` is 0), or
    the ``what``-th of the things that earlier events have left to come. ``choices``: which options are taken."""

    kind: str
    of: str
    what: str | int
    choices: tuple[int, ...] = ()


class Bounds(NamedTuple):
    """How often timers of a client, of a server fire in one story, and whether those of `NodeRules.housekeeping` do."""

    client_firings: int = 2
    server_firings: int = 1
    housekeeping: bool = False


class Run(NamedTuple):
    """A process: its node (0: none), how often timers may still fire, whether it hangs, commands that wait until it
    goes on, which of its lives it is, what each property remembers of it, and what has outlived its last life
    (`Steps.remains`; 0: nothing, or it lives)."""

    living: int
    firings: int
    hangs: bool
    backlog: tuple[int, ...]
    life: int
    ids: tuple[tuple[str, int], ...]
    remembered: tuple[Hashable, ...]
    left: int = 0


CUT, DEAF, LOSSY = "cut", "deaf", "lossy"
"""What may be wrong with the network: nothing passes; connections open and close, but every message is lost; or any may
be."""


class Progress(NamedTuple):
    """How many events of the scenario have happened, what they have left to come later, in which state the script is
    (`Script`); what is wrong with the network between two processes (first, second, `CUT`, `DEAF` or `LOSSY`), and the
    ends of connections of which nobody hears until it is mended (who closed, peer)."""

    events: int
    later: tuple[tuple[int, int, str], ...] = ()
    script: int = 0
    faults: tuple[tuple[str, str, str], ...] = ()
    untold: tuple[tuple[str, str], ...] = ()


SENDINGS: Final = ("send", "lost")
"""Kinds of `Happened` whose ``what`` is a message that was sent; the network lost the second one."""


class Happened(NamedTuple):
    """One thing that a node did in a step, for those who tell of it: ``kind`` is a kind of event of `steps`, or
    ``fact``, ``choice``, ``end``, or one of `SENDINGS`."""

    kind: str
    process: str
    peer: str
    what: Any


class Interned(Generic[V]):
    """Values by numbers, from 0."""

    __slots__ = ("_numbers", "values")

    def __init__(self) -> None:
        self.values: list[V] = []
        self._numbers: dict[V, int] = {}

    def number(self, value: V) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        return number


GONE: Final = Run(0, 0, False, (), 0, (), ())


class Moved(NamedTuple):
    """A process after a step of its node, and what the node did."""

    run: int
    branch: Branch


OPENS: Final = 0
CLOSES: Final = 1
"""What is on its way beside messages, whose numbers begin with 2."""


class Pair(NamedTuple):
    """``is_open``: whether the first, the second believe in a connection; ``flights``: what is on its way in each
    direction, the oldest first."""

    is_open: tuple[bool, bool] = (False, False)
    flights: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())

    def _with(self, side: int, *, is_open: bool, out: tuple[int, ...], back: tuple[int, ...]) -> "Pair":
        opened = (is_open, self.is_open[1]) if side == 0 else (self.is_open[0], is_open)
        return Pair(opened, (out, back) if side == 0 else (back, out))


NOTHING: Final = Pair()


def send(pair: Pair, side: int, message: int) -> tuple[Pair, bool]:
    """``side`` sends to a peer that runs; whether it has just opened a connection for that."""
    out, back = pair.flights[side], pair.flights[1 - side]
    if pair.is_open[side]:
        if CLOSES in back or not (pair.is_open[1 - side] or OPENS in out):
            return pair, False  # the peer has closed, which this side does not know yet, or its machine is gone: lost
        return pair._with(side, is_open=True, out=(*out, message), back=back), False
    if OPENS in back:  # the peer has just opened one: it serves both
        return pair._with(side, is_open=True, out=(*out, message), back=back), False
    return pair._with(side, is_open=True, out=(*out, OPENS, message), back=back), True


def unsent(pair: Pair, side: int) -> Pair:
    """What ``side`` sent last does not come."""
    out, back = pair.flights[side], pair.flights[1 - side]
    return pair._with(side, is_open=pair.is_open[side], out=out[:-1], back=back)


def close(pair: Pair, side: int) -> Pair:
    """``side`` closes its connection, if it has one: what is on its way to it is lost, the peer hears of the end."""
    if not pair.is_open[side]:
        return pair
    out, back = pair.flights[side], pair.flights[1 - side]
    if CLOSES in back:
        return pair._with(side, is_open=False, out=out, back=back[back.index(CLOSES) + 1 :])
    return pair._with(side, is_open=False, out=(*out, CLOSES), back=())


def told_late(pair: Pair, side: int) -> Pair:
    """The other side is to hear that ``side`` has closed its connection."""
    out, back = pair.flights[side], pair.flights[1 - side]
    return pair._with(side, is_open=pair.is_open[side], out=(*out, CLOSES), back=back)


def end(pair: Pair, side: int) -> Pair:
    """The process at ``side`` is gone: its connection closes, nothing reaches it any more."""
    return lose(close(pair, side), side)


def lose(pair: Pair, side: int) -> Pair:
    """The machine at ``side`` is gone: nothing reaches it any more, and the peer is not told."""
    return pair._with(side, is_open=False, out=pair.flights[side], back=())


def take(pair: Pair, side: int) -> tuple[int | None, Pair]:
    """The oldest of what is on its way to ``side`` arrives: what it is, None where it is the end of a connection that
    this side has closed itself."""
    out, back = pair.flights[side], pair.flights[1 - side]
    what, left = back[0], back[1:]
    if what == OPENS:
        return what, pair._with(side, is_open=True, out=out, back=left)
    if what == CLOSES:
        was_open = pair.is_open[side]
        return (what if was_open else None), pair._with(side, is_open=False, out=out, back=left)
    return what, pair._with(side, is_open=pair.is_open[side], out=out, back=left)


def ended_meanwhile(pair: Pair, side: int) -> tuple[bool, Pair]:
    """Whether the end of the connection is among what came while ``side`` hung; if so, it is known from now on, before
    what came over the connection."""
    out, back = pair.flights[side], pair.flights[1 - side]
    if CLOSES not in back or not pair.is_open[side]:
        return False, pair
    at = back.index(CLOSES)
    return True, pair._with(side, is_open=False, out=out, back=(*back[:at], *back[at + 1 :]))
