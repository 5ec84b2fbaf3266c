"""From a strategy's name and settings, as users write them, to the strategy object of each member.

The strategies and their settings are those of `rocketmq_selfbalance.catalogue`, and those that users write: a plain
function, or a class with ``allocate``. What a setting means is written in the file of its strategy.

Why each member gets an object of its own: in RocketMQ no coordinator assigns; every client runs its own strategy with
its own settings on its own view of members and queues. Members whose settings differ share wrongly, and the model can
only show that if it does not make one strategy for the whole group.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from protocols.errors import StrategyError
from protocols.groups import Group
from protocols.java import Queue
from protocols.strategies import Registry, StrategyRecord, never
from rocketmq_selfbalance.catalogue import CATALOGUE, CLIENTS, OWN
from rocketmq_selfbalance.strategies import ByConfig, PositionStrategy, Strategy
from rocketmq_selfbalance.strategies.interface import Make, OfMember, Settings, only, same

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


AnyStrategy: TypeAlias = str | Strategy | AllocateFunction
"""A strategy's name, a strategy object, or a user's function."""

C = TypeVar("C")

STRATEGIES: Registry[Make] = Registry("RocketMQ", CATALOGUE)
"""RocketMQ's strategies, our own, and those that users `register`."""

for _record in OWN:
    STRATEGIES.register(_record)


def register(name: str, strategy: C) -> C:
    """Make a strategy of one's own known to `allocate` under ``name``, and return it.

    It is a function ``(consumer_group, current_cid, mq_all, cid_all) -> queues``, as a RocketMQ client calls it
    for one topic with both lists sorted, or a class (or an object) with such a method ``allocate``. The
    parameters with which a class is made are its settings. Raises `StrategyError` for a name that is taken.
    """
    check_custom(name, strategy)
    known = setting_names(strategy)

    def make(settings: Settings, group: Group) -> OfMember:
        return same(make_custom(name, strategy, only(known, settings)))

    STRATEGIES.register(StrategyRecord(name, make, "Registered by a user.", CLIENTS, settings=known, by_default=never))
    return strategy


def strategies_of(
    group: Group, name: AnyStrategy, settings: Settings, others: Mapping[str, AnyStrategy]
) -> list[Strategy]:
    """The strategy object of each member, in the group's order; members with equal ones share it.

    ``others``: member id to the strategy of members that do not run ``name``. A strategy is a name, or an object
    (or a function) that has its settings already. Raises `StrategyError` for unknown names or settings,
    `GroupError` for members that the group lacks.
    """
    for member_id in others:
        group.member(member_id)
    chosen = [others.get(member.id, name) for member in group.members]
    names = list(dict.fromkeys(each for each in (name, *chosen) if isinstance(each, str)))
    known = dict.fromkeys(setting for each in names for setting in STRATEGIES[each].settings)
    for setting in settings:
        if setting not in known:
            expected = f"expected one of {', '.join(known)}" if known else "it has none"
            raise StrategyError(f"unknown setting {setting!r} of {', '.join(names) or 'a strategy object'}, {expected}")
    by_name = {each: STRATEGIES[each].implementation(settings, group) for each in names}
    unnamed = {id(each): each for each in chosen if not isinstance(each, str)}
    objects = {number: as_strategy(each) for number, each in unnamed.items()}
    return [
        by_name[each](member.id) if isinstance(each, str) else objects[id(each)]
        for member, each in zip(group.members, chosen, strict=True)
    ]
