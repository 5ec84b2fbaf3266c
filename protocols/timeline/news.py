"""Which facts are news: who owns what, a rebalance, a callback, a refused commit, a remark; what repeats is none."""

from collections.abc import Callable, Mapping
from typing import Any

from protocols.facts import Callback, Committed, Granted, Noted, Owns, RebalanceBegan, RebalanceEnded


def is_worth_telling(fact: Any) -> bool:
    """Whether the fact (one of `protocols.facts`) is worth telling. Changes of states are not, what they lead to is."""
    news = _NEWS.get(type(fact))
    return news is not None and news(fact)


_NEWS: Mapping[type, Callable[[Any], bool]] = {
    Owns: lambda fact: True,
    Granted: lambda fact: True,
    RebalanceBegan: lambda fact: True,
    RebalanceEnded: lambda fact: fact.member is None or fact.changed,
    Callback: lambda fact: True,
    Committed: lambda fact: bool(fact.error),
    Noted: lambda fact: True,
}
