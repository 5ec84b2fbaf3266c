"""What the explorer has to be told of a system's nodes; everything else it reads from them."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from protocols.engine.nodes import Time, TimerName


class Numbering(Protocol):
    """The numbers by which a client matches answers to its requests. A request's number is its first field."""

    def outstanding(self, node: Any) -> Mapping[int, str]:
        """Number to the peer of each request whose answer is waited for."""

    def restart(self, node: Any, number: int) -> None:
        """The next request has the number that follows this one."""

    def rename(self, node: Any, names: Mapping[int, int]) -> None:
        """Outstanding requests have other numbers from now on."""


class Unnumbered:
    """Of nodes that match no answers."""

    def outstanding(self, node: Any) -> Mapping[int, str]:
        """None."""
        return {}

    def restart(self, node: Any, number: int) -> None:
        """Nothing is numbered."""

    def rename(self, node: Any, names: Mapping[int, int]) -> None:
        """Nothing is numbered."""


class Change(Protocol):
    """Changes a node."""

    def __call__(self, node: Any) -> None: ...


class Forget(Protocol):
    """Changes a node and its timers (name to due time) after a step."""

    def __call__(self, node: Any, timers: dict[TimerName, Time]) -> None: ...


class Lasting(Protocol):
    """What outlives a process, or lies outside of it."""

    def remains(self, node: Any) -> Any:
        """A copy of it, as plain state."""

    def take_over(self, node: Any, name: str, remains: Mapping[str, Any]) -> None:
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

    numberings: Mapping[type, Numbering]
    clients: tuple[type, ...]
    seen: Callable[[Any], Hashable]
    answering: tuple[type, ...] = ()
    constant: tuple[type, ...] = ()
    housekeeping: Callable[[TimerName], bool] = lambda timer: False
    adopt: Mapping[type, Change] = field(default_factory=dict)
    forget: Mapping[type, Forget] = field(default_factory=dict)
    lasting: Mapping[type, Lasting] = field(default_factory=dict)
