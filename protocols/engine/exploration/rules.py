"""States as values: what equal states have in common (`Keys`), and times that say nothing of how long a story took.

The explorer compares whole nodes, field by field, so that no field is forgotten; but for those that a class declares as
`protocols.node_state.Apart`.

What the explorer has to be told of a system's nodes; everything else it reads from them.

Numbers of requests, given so that they say nothing of how many requests there were before.

A new request gets the smallest number of its kind that is free: no request that is waited for has it, and none that
was given up while its answer may still come.

How a property watches: what it remembers of each process, and when that is a violation.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from operator import is_
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, TypeVar
from zlib import crc32

from protocols.engine.nodes import ExploredNode, Message, Node, Time, TimerName
from protocols.java import Queue
from protocols.node_state import NodeState, fields_of

ATOMS = (int, str, bytes, bool, type(None), float, FunctionType, BuiltinFunctionType, type, Enum)
"""Values that stand for themselves."""


class Keys:
    """Objects to hashable values that are equal exactly where the objects are: the same classes with the same fields,
    mappings and lists in the same order. Frozen dataclasses (settings) are looked at once."""

    def __init__(self) -> None:
        self._frozen: dict[int, tuple[object, Hashable]] = {}

    def key(self, value: object) -> Hashable:
        """The value that stands for this object. Raises `TypeError` for one that is not plain state."""
        kind = type(value)
        way = _WAYS.get(kind) or _way(kind)
        if way is _ATOM:
            return value
        if way is tuple:
            inner = tuple(self._keys(value))  # type: ignore[arg-type]
            return inner if kind is tuple else (kind.__name__, inner)
        if way is list:
            return ("list", *self._keys(value))  # type: ignore[arg-type]
        if way is dict:
            return ("dict", *zip(self._keys(value), self._keys(value.values()), strict=True))  # type: ignore[arg-type, attr-defined]
        if way is frozenset:
            return ("set", frozenset(map(self.key, value)))  # type: ignore[call-overload]
        if way is _FROZEN:
            return self._once(value)
        return (kind.__name__, *self._keys([getattr(value, name) for name in _telling(kind)]))

    def _keys(self, values: Iterable[object]) -> list[Hashable]:
        # Most of a node is plain: a call for each would take most of the time.
        return [each if type(each) in _PLAIN else self.key(each) for each in values]

    def _once(self, value: object) -> Hashable:
        known = self._frozen.get(id(value))
        if known is None:
            if isinstance(value, MappingProxyType):
                hashable: Hashable = self.key(dict(value))
            else:
                kind = type(value)
                hashable = (kind.__name__, *[self.key(getattr(value, name)) for name in fields_of(kind)])
            known = self._frozen[id(value)] = value, hashable  # held, so that no other object has its id
        return known[1]


_UNTIMED = frozenset((int, str, bool, bytes, type(None)))
_PLAIN = _UNTIMED | {float}


def _telling(kind: type) -> tuple[str, ...]:
    """The fields that tell states apart."""
    known = _TELLING.get(kind)
    if known is None:
        apart = kind.apart if issubclass(kind, NodeState) else ()
        known = _TELLING[kind] = tuple([name for name in fields_of(kind) if name not in apart])
    return known


_TELLING: dict[type, tuple[str, ...]] = {}


_ATOM, _FROZEN, _STATE = "atom", "frozen", "state"

_WAYS: dict[type, object] = {}
"""How a class of values is compared: one of the three above, or the built-in class that it is one of."""


def _way(kind: type) -> object:
    way: object = _STATE
    if issubclass(kind, ATOMS):
        way = _ATOM
    elif issubclass(kind, MappingProxyType) or (is_dataclass(kind) and bool(kind.__dataclass_params__.frozen)):  # type: ignore[attr-defined]
        way = _FROZEN
    elif issubclass(kind, set | frozenset):
        way = frozenset
    else:
        way = next((built_in for built_in in (tuple, list, dict) if issubclass(kind, built_in)), _STATE)
    _WAYS[kind] = way
    return way


def floats_of(value: object, found: set[float]) -> None:
    """Collect all floats inside of a state."""
    map_times(value, lambda each: found.add(each) or each)  # type: ignore[func-returns-value]


def map_times(value: object, change: Callable[[float], float]) -> object:
    """Replace each float inside of a node's own objects, in place; what is frozen stays. Returns the value, changed."""
    kind = type(value)
    if kind is float and isinstance(value, float):
        return change(value)
    way = _WAYS.get(kind) or _way(kind)
    if isinstance(value, tuple):
        inner = [each if type(each) in _UNTIMED else map_times(each, change) for each in value]
        if all(map(is_, inner, value)):
            return value
        return tuple(inner) if kind is tuple else tuple.__new__(type(value), inner)
    if isinstance(value, list):
        value[:] = [each if type(each) in _UNTIMED else map_times(each, change) for each in value]
    elif isinstance(value, dict):
        for name, each in value.items():
            if type(each) not in _UNTIMED:
                value[name] = map_times(each, change)
    elif way is _STATE:
        for name in _telling(kind):
            before = getattr(value, name)
            if type(before) not in _UNTIMED and (after := map_times(before, change)) is not before:
                setattr(value, name, after)
    return value


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
    answered as the one before. ``shares``: what the strategy of each group gives its members (group to member to
    queues) where these nodes run; None where the system says nothing of it.
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
    shares: Callable[[Mapping[str, Node], Time], Mapping[str, Mapping[str, tuple[Queue, ...]]]] | None = None


N = TypeVar("N")

FRESH: Final = 1 << 24
"""While a step runs, requests are numbered from here on."""

SLOTS: Final = 16
"""Requests of one kind that a client can have under way at once."""

GivenUp = tuple[tuple[int, str], ...]
"""Number and peer of requests that are not waited for any more though their answers may come, sorted."""


def renumbered(
    numbering: Numbering[N],
    node: N,
    before: Mapping[int, str],
    given_up: GivenUp,
    sent: Sequence[tuple[str, Message | None]],
    answered: int | None,
    lost: str | None,
) -> tuple[GivenUp, list[tuple[str, Message | None]]]:
    """Give the requests of a step their numbers: in the node, which is changed, and in what it sent (None: it closed
    the connection). ``before``: the requests that were waited for before the step; ``answered``: which of them has its
    answer; ``lost``: the peer whose connection has ended."""
    numbering.restart(node, 0)
    after = numbering.outstanding(node)
    closed = {lost, *(peer for peer, message in sent if message is None)}
    left = {
        number: peer
        for number, peer in (*given_up, *before.items())
        if number not in after and number != answered and peer not in closed
    }
    names = _names(after, left, sent)
    numbering.rename(node, names)
    return tuple(sorted(left.items())), [(to, _renumbered(message, names)) for to, message in sent]


def _names(
    after: Mapping[int, str], left: Mapping[int, str], sent: Sequence[tuple[str, Message | None]]
) -> dict[int, int]:
    """Fresh numbers of requests that wait for their answers to those that they get."""
    kinds = {message[0]: type(message).__name__ for _, message in sent if message}
    used = {*left, *after}
    names: dict[int, int] = {}
    for number in after:
        if number > FRESH:
            names[number] = _free(kinds.get(number, ""), used)
            used.add(names[number])
    return names


def _renumbered(message: Message | None, names: Mapping[int, int]) -> Message | None:
    """With its number after the step; 0 for one that nobody waits for."""
    if not message or not isinstance(message[0], int) or message[0] <= FRESH:
        return message
    renumbered: Message = tuple.__new__(type(message), (names.get(message[0], 0), *message[1:]))
    return renumbered


def _free(kind: str, used: set[int]) -> int:
    """The smallest number of this kind that is not used."""
    number = 1 + crc32(kind.encode()) % (1 << 16) * SLOTS
    while number in used:
        number += 1
    return number


class BrokenInvariant(NamedTuple):
    """A fact that the explorer tells of a process whose node raised in a step: what never may be in the model is."""

    why: str


class Ended(NamedTuple):
    """A fact that only watches are told: the process of a server has ended."""


class Watch(Protocol):
    """A property of reachable states. It is told the facts of each process in their order (`protocols.facts`) and
    remembers a hashable value per process; only from these it says whether a state violates it. So what it remembers is
    part of the state, and should be no more than it needs."""

    @property
    def name(self) -> str:
        """As the user asks for it."""
        ...

    @property
    def nothing(self) -> Hashable:
        """What it remembers of a process that told nothing."""
        ...

    def remember(self, before: Any, fact: tuple[object, ...]) -> Hashable:
        """What it remembers of a process after this fact of its."""
        ...

    def is_violated(self, remembered: Sequence[Any]) -> bool:
        """Whether the property does not hold where it remembers this of the processes (those that ever ran)."""
        ...
