"""What states of the explorer's world are made of, and what happens in them."""

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
        """The number of a value."""
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
