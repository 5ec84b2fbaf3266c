"""What a strategy is: a client's question about one topic, and its answer (spec 4.2).

Queues are positions in the list that was handed over, so that a queue listed twice stays two; records appear
only in `Strategy.allocate`, which is what clients call and what users write.

Here are also the checks that every strategy but CONFIG makes first (spec 4.4), how a strategy fails, and how strategies
are made from settings as users write them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from protocols.errors import StrategyError
from protocols.groups import Group
from protocols.java import Queue

Positions: TypeAlias = Sequence[int]
"""Positions in the list of all queues, in the order in which the strategy returns them."""


Mqs: TypeAlias = Sequence[Queue] | None
Cids: TypeAlias = Sequence[str] | None
"""``mqAll`` and ``cidAll``, None for Java's null."""


class Strategy(Protocol):
    """A strategy object with its settings, as each client has one."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """What its ``getName()`` returns."""

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Mqs, cid_all: Cids
    ) -> Sequence[Queue] | None:
        """The queues of one topic that the client ``current_cid`` takes; None stands for Java's null.

        Clients hand over ``mq_all`` and ``cid_all`` sorted. Raises `AllocationError` where the real one throws.
        """


@runtime_checkable
class PositionStrategy(Strategy, Protocol):
    """A strategy that picks from the queues it is given. All of RocketMQ's do, except CONFIG."""

    __slots__ = ()

    def allocate(self, consumer_group: str | None, current_cid: str | None, mq_all: Mqs, cid_all: Cids) -> list[Queue]:
        return queues_at(self.positions(current_cid, mq_all, cid_all), mq_all)

    def positions(self, current_cid: str | None, mq_all: Mqs, cid_all: Cids) -> Positions:
        """`allocate` in positions."""

    def positions_of_all(self, mq_all: Mqs, cid_all: Cids) -> Mapping[str, Positions]:
        """`positions` of every (not empty) id of ``cid_all`` at once, at about the price of one client.

        Raises `AllocationError` where one of the clients meets it; the others may not, so then ask each.
        """


def queues_at(positions: Positions, mq_all: Mqs) -> list[Queue]:
    return [mq_all[position] for position in positions] if mq_all else []


Settings: TypeAlias = Mapping[str, object]

OfMember: TypeAlias = Callable[[str], Strategy]
"""Member id to the strategy object that this member runs."""

Make: TypeAlias = Callable[[Settings, Group], OfMember]
"""From settings and the group to the strategies of its members. Raises `StrategyError` for a setting that cannot be."""


def same(strategy: Strategy) -> OfMember:
    return lambda member: strategy


def only(names: Iterable[str], settings: Settings) -> dict[str, Any]:
    return {name: settings[name] for name in names if name in settings}


def wrong(setting: str, value: object, expected: str) -> StrategyError:
    return StrategyError(f"setting {setting} is {value!r}, expected {expected}")


class AllocationError(Exception):
    """The real strategy throws here: ``type`` is the exception's simple Java name.

    ``message`` is its text, None where the text is the JVM's own. A client that meets one logs it and keeps
    what it owned of the topic (spec 4.2).
    """

    def __init__(self, type: str, message: str | None = None) -> None:
        super().__init__(type if message is None else f"{type}: {message}")
        self.type, self.message = type, message


class Inputs(NamedTuple):
    """What passed the checks; ``own_index`` is the first position of ``current_cid`` in ``cid_all``."""

    current_cid: str
    mq_all: Sequence[Queue]
    cid_all: Sequence[str]
    own_index: int


def check(current_cid: str | None, mq_all: Mqs, cid_all: Cids) -> Inputs | None:
    """The checks in their order; None if the own id is not in ``cid_all``: the client then owns nothing."""
    if not current_cid:
        raise illegal_argument("currentCID is empty")
    mq_all, cid_all = check_lists(mq_all, cid_all)
    if current_cid not in cid_all:
        return None
    return Inputs(current_cid, mq_all, cid_all, cid_all.index(current_cid))


def check_lists(mq_all: Mqs, cid_all: Cids) -> tuple[Sequence[Queue], Sequence[str]]:
    """Those of the checks that do not depend on who asks."""
    if not mq_all:
        raise illegal_argument("mqAll is null or mqAll empty")
    if not cid_all:
        raise illegal_argument("cidAll is null or cidAll empty")
    return mq_all, cid_all


def illegal_argument(message: str) -> AllocationError:
    return AllocationError("IllegalArgumentException", message)


def first_indexes(cid_all: Sequence[str]) -> dict[str, int]:
    """Each client id that may ask (every one but the empty text) to its first position."""
    found: dict[str, int] = {}
    for index, cid in enumerate(cid_all):
        if cid:
            found.setdefault(cid, index)
    return found
