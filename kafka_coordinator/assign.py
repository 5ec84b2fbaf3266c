"""The Python door to Kafka's assignors: a strategy's name and a group in, an `Allocation` out.

The strategies and their settings are those of `kafka_coordinator.catalogue`: ``generation`` (1) is that of the claims
in ``previous``; ``topic_ids`` maps a topic to its 128-bit id, as a number or as Kafka prints it. Answers of `uniform`
depend on topic ids; a topic that is given none gets one made from its name, the same in every run.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from kafka_coordinator.assignors.inputs import AssignorError
from kafka_coordinator.assignors.translation import Assignor, Owned, Strategy
from kafka_coordinator.catalogue import CATALOGUE, CLASSIC, OWN
from protocols.errors import StrategyError
from protocols.groups import Allocation, Group
from protocols.strategies import Registry, StrategyRecord, never

STRATEGIES: Registry[Assignor] = Registry("Kafka", CATALOGUE)
"""Kafka's strategies, our own, and those that users `register`."""

for _record in OWN:
    STRATEGIES.register(_record)

S = TypeVar("S")


def assign(
    name: str | Strategy, group: Group, previous: Owned | None = None, settings: Mapping[str, object] | None = None
) -> Allocation:
    """What the strategy gives to each member of the group.

    ``name``: one of `STRATEGIES`, or a strategy itself. ``previous``: what members owned before (an
    `Allocation`); who has left the group since counts no more. Partition k of a topic is the k-th queue that the
    group writes for it. Partitions that cooperative-sticky holds back for a round are in `Allocation.withheld`; those
    that ``previous`` names and their topic no longer has may be handed out by it and by sticky, as the released
    assignors do, and are in `Allocation.vanished` then.
    Raises `StrategyError` for an unknown strategy or setting, and where the real assignor would throw.
    """
    strategy = STRATEGIES[name].implementation.strategy if isinstance(name, str) else name
    label = name if isinstance(name, str) else getattr(strategy, "__name__", repr(strategy))
    run = _ready(label, strategy, group, previous, settings or {})
    try:
        answer = run()
    except AssignorError as error:
        raise StrategyError(f"{label}: the released assignor throws {error.error} for this group") from None
    if isinstance(answer, Allocation) and answer.group is group:
        return answer
    if not isinstance(answer, Mapping):
        raise StrategyError(f"{label} returned {answer!r}, expected an Allocation or a mapping of member to queues")
    return Allocation(group, answer, getattr(answer, "withheld", None), getattr(answer, "vanished", ()))


def register(name: str, strategy: S) -> S:
    """Make a strategy of one's own known to `assign` under ``name``, and return it.

    It is a function ``(group, previous)`` that returns an `Allocation` or a mapping of member id to queues of the
    group; keyword parameters after these two are its settings. Or it is a class that is made anew for every
    `assign`, with the settings as its parameters, and is called with ``(group, previous)``, or has a method
    ``assign`` that is. ``previous`` is None or as given to `assign`. Raises `StrategyError` for a name that is
    taken or for what cannot be called.
    """
    # Not `callable`: that is true of every class, whatever its objects can do.
    if not {"assign", "__call__"}.intersection(dir(strategy)):
        raise StrategyError(
            f"strategy {name!r} is {strategy!r}, expected a function (group, previous) -> allocation,"
            " or a class that can be called so"
        )
    record = StrategyRecord(name, Assignor(strategy), "Registered by a user.", CLASSIC, by_default=never)  # type: ignore[arg-type]
    STRATEGIES.register(record)
    return strategy


def _ready(
    label: str, strategy: Strategy, group: Group, previous: Owned | None, settings: Mapping[str, object]
) -> Callable[[], object]:
    """The strategy with everything it is called with; `StrategyError` for settings that it does not have."""
    if isinstance(strategy, type):
        _check_settings(label, strategy, (), settings)
        made = strategy(**settings)
        return partial(getattr(made, "assign", made), group, previous)
    run = getattr(strategy, "assign", strategy)
    _check_settings(label, run, (group, previous), settings)
    return partial(run, group, previous, **settings)


def _check_settings(label: str, run: Strategy, given: tuple[object, ...], settings: Mapping[str, object]) -> None:
    signature = inspect.signature(run)
    try:
        signature.bind(*given, **settings)
    except TypeError as error:
        named = [
            parameter.name
            for parameter in list(signature.parameters.values())[len(given) :]
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ]
        unknown = [setting for setting in settings if setting not in named]
        if not unknown:
            raise StrategyError(f"{label} cannot be called so: {error}") from None
        expected = f"expected one of {', '.join(named)}" if named else "it has none"
        raise StrategyError(f"unknown setting {unknown[0]!r} of {label}, {expected}") from None
