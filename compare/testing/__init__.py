"""Consumer groups in virtual time for tests: what the pytest fixtures hand out, importable without them.

Names are imported when they are first used, so that pytest starts as quickly as without this.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compare.testing.assertions import (
        assert_fair,
        assert_moves_at_most,
        assert_no_double_ownership,
        assert_no_gap,
        assert_no_idle_members,
        assert_optimal,
        assert_settles_within,
    )
    from compare.testing.clock import Clock
    from compare.testing.group import Group
    from compare.testing.handling import Crashed, Record, TimeIsUp
    from compare.testing.pair import GroupPair
    from compare.testing.standalone import kafka_group, play, rocketmq_group

__all__ = [
    "Clock",
    "Crashed",
    "Group",
    "GroupPair",
    "Record",
    "TimeIsUp",
    "assert_fair",
    "assert_moves_at_most",
    "assert_no_double_ownership",
    "assert_no_gap",
    "assert_no_idle_members",
    "assert_optimal",
    "assert_settles_within",
    "kafka_group",
    "play",
    "rocketmq_group",
]

_HOMES = {
    "Clock": "clock",
    "Crashed": "handling",
    "Group": "group",
    "GroupPair": "pair",
    "Record": "handling",
    "TimeIsUp": "handling",
    "kafka_group": "standalone",
    "play": "standalone",
    "rocketmq_group": "standalone",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'compare.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES.get(name, 'assertions')}", __name__), name)
