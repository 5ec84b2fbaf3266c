"""Which facts a reader wants to see: who owns what, a rebalance, a callback, a refused commit, a remark. What only
repeats what was known is not significant."""

from collections.abc import Callable, Mapping
from typing import Any

from protocols.facts import (
    Callback,
    Committed,
    Granted,
    Noted,
    Owns,
    PassedOver,
    RebalanceBegan,
    RebalanceEnded,
    TimedOut,
)


def is_significant(fact: object) -> bool:
    """Whether the fact (one of `protocols.facts`) is significant. A step of a state machine is not."""
    rule = _RULES.get(type(fact))
    return rule is not None and rule(fact)


_RULES: Mapping[type, Callable[[Any], bool]] = {
    Owns: lambda fact: True,
    Granted: lambda fact: True,
    RebalanceBegan: lambda fact: True,
    RebalanceEnded: lambda fact: fact.member is None or fact.changed,
    Callback: lambda fact: True,
    Committed: lambda fact: bool(fact.error),
    TimedOut: lambda fact: True,
    PassedOver: lambda fact: True,
    Noted: lambda fact: True,
}
