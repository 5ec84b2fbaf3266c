"""From a strategy's name and settings, as users write them, to the strategy object of each member.

The strategies and their settings are those of `rocketmq_selfbalance.catalogue`; what a setting means is written in the
file of its strategy.
"""

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

from protocols.errors import StrategyError
from protocols.groups import Group
from protocols.strategies import Registry, StrategyRecord, never
from rocketmq_selfbalance.catalogue import CATALOGUE, CLIENTS
from rocketmq_selfbalance.custom_strategies import (
    AllocateFunction,
    as_strategy,
    check_custom,
    make_custom,
    setting_names,
)
from rocketmq_selfbalance.strategies import Strategy
from rocketmq_selfbalance.strategies.making import Make, OfMember, Settings, only, same

AnyStrategy: TypeAlias = str | Strategy | AllocateFunction
"""A strategy's name, a strategy object, or a user's function."""

C = TypeVar("C")

STRATEGIES: Registry[Make] = Registry("RocketMQ", CATALOGUE)
"""RocketMQ's strategies and those that users `register`."""


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
