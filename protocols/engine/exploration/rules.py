"""What the explorer has to be told of a system's nodes; everything else it reads from them."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from protocols.engine.nodes import ExploredNode, Time, TimerName

N_contra = TypeVar("N_contra", contravariant=True)
Left = TypeVar("Left")


class Numbering(Protocol[N_contra]):
    """The numbers by which a client matches answers to its requests. A request's number is its first field."""

    def outstanding(self, node: N_contra) -> Mapping[int, str]:
        """Number to the peer of each request whose answer is waited for."""

    def restart(self, node: N_contra, number: int) -> None:
        """The next request has the number that follows this one."""

    def rename(self, node: N_contra, names: Mapping[int, int]) -> None:
        """Outstanding requests have other numbers from now on."""


class Unnumbered:
    """Of nodes that match no answers."""

    def outstanding(self, node: object) -> Mapping[int, str]:
        """None."""
        return {}

    def restart(self, node: object, number: int) -> None:
        """Nothing is numbered."""

    def rename(self, node: object, names: Mapping[int, int]) -> None:
        """Nothing is numbered."""


class Change(Protocol[N_contra]):
    """Changes a node."""

    def __call__(self, node: N_contra) -> None: ...


class Forget(Protocol[N_contra]):
    """Changes a node and its timers (name to due time) after a step."""

    def __call__(self, node: N_contra, timers: dict[TimerName, Time]) -> None: ...


class Lasting(Protocol[N_contra, Left]):
    """What outlives a process, or lies outside of it."""

    def remains(self, node: N_contra) -> Left:
        """A copy of it, as plain state."""

    def take_over(self, node: N_contra, name: str, remains: Mapping[str, Left]) -> None:
        """What a process of this name is to know of it that starts now, or that the operator tells something. The node
        is changed. ``remains``: process to what it holds, or held when it ended."""


@dataclass(frozen=True)
class NodeRules:
    """Of one system, by the nodes' classes.

    ``numberings``: how a client numbers its requests. ``clients``: nodes whose timers fire as often as those of
    clients. ``seen``: what the system's cluster looks at in a node when an event happens; never None. ``adopt``: called
    with a node that comes into the world. ``forget``: called after each step, takes away what makes no difference from
    then on. ``lasting``: nodes of servers whose end is not the end of all they hold.

    ``answering``: nodes that send nothing to a client but answers to its requests, and close none of its connections.
    ``constant``: requests that change nothing at the server and have the same answer at any time. ``housekeeping``:
    timers that change nothing while topics and brokers stay as they are, but that a request is on its way which is
    answered as the one before.
    """

    numberings: Mapping[type, Numbering[Any]]
    clients: tuple[type, ...]
    seen: Callable[[ExploredNode], Hashable]
    answering: tuple[type, ...] = ()
    constant: tuple[type, ...] = ()
    housekeeping: Callable[[TimerName], bool] = lambda timer: False
    adopt: Mapping[type, Change[Any]] = field(default_factory=dict)
    forget: Mapping[type, Forget[Any]] = field(default_factory=dict)
    lasting: Mapping[type, Lasting[Any, Any]] = field(default_factory=dict)
