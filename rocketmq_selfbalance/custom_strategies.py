"""Strategies that users write: a plain function, or a class with ``allocate``."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from protocols.errors import StrategyError
from protocols.java import Queue
from rocketmq_selfbalance.strategies import ByConfig, PositionStrategy, Strategy

AllocateFunction: TypeAlias = Callable[[str, str, Sequence[Queue], Sequence[str]], Sequence[Queue] | None]
"""(consumer group, own client id, all queues of the topic, all client ids; both sorted) to the own queues."""


@dataclass(frozen=True, slots=True)
class CustomStrategy:
    """A user's function as a strategy, with its answers checked.

    `StrategyError` if it returns anything but queues out of those it was given, or None. An `AllocationError`
    that it raises is the exception of a real strategy; anything else it raises is the user's to see.
    """

    name: str
    function: Callable[..., object]

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[Queue] | None,
        cid_all: Sequence[str] | None,
    ) -> Sequence[Queue] | None:
        """See `Strategy.allocate`."""
        answer = self.function(consumer_group, current_cid, mq_all, cid_all)
        if answer is None:
            return None
        if not isinstance(answer, Sequence | set | frozenset) or isinstance(answer, str):
            raise StrategyError(f"strategy {self.name} returned {answer!r} for {current_cid!r}, expected queues")
        given = set(mq_all or ())
        for queue in answer:
            if not isinstance(queue, Queue) or queue not in given:
                raise StrategyError(
                    f"strategy {self.name} returned {queue!r} for {current_cid!r},"
                    " expected queues out of the list it was given"
                )
        return tuple(answer)


def setting_names(strategy: object) -> tuple[str, ...]:
    """The settings of a user's class: the parameters it is made with. Others have none."""
    if not isinstance(strategy, type):
        return ()
    return tuple(inspect.signature(strategy).parameters)


def make_custom(name: str, strategy: Any, settings: dict[str, object]) -> Strategy:
    """A user's class, object or function as a strategy. Ours, and others that answer in positions, stay as they are."""
    if isinstance(strategy, type):
        try:
            inspect.signature(strategy).bind(**settings)
        except TypeError as error:
            raise StrategyError(f"strategy {name} cannot be made from its settings: {error}") from None
        strategy = strategy(**settings)
    if isinstance(strategy, PositionStrategy | ByConfig | CustomStrategy):
        return strategy
    return CustomStrategy(name, getattr(strategy, "allocate", strategy))


def as_strategy(strategy: Strategy | AllocateFunction) -> Strategy:
    """`make_custom` for what was not registered, and so has no name but its own."""
    name = getattr(strategy, "__name__", type(strategy).__name__)
    check_custom(name, strategy)
    return make_custom(name, strategy, {})


def check_custom(name: str, strategy: object) -> None:
    """Raise `StrategyError` for what can be no strategy."""
    if not callable(getattr(strategy, "allocate", None if isinstance(strategy, type) else strategy)):
        raise StrategyError(
            f"strategy {name!r} is {strategy!r}, expected a function (consumer_group, current_cid, mq_all, cid_all)"
            " -> queues, or a class with such a method named allocate"
        )
