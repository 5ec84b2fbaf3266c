"""Consumer groups in virtual time for tests: what the pytest fixtures hand out, importable without them.

Names are imported when they are first used, so that pytest starts as quickly as without this.
"""

import importlib
from typing import TYPE_CHECKING

from compare.testing import removed as removed

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
    from compare.testing.brokers import KafkaBroker, RealGroup, RocketMQBrokers
    from compare.testing.clock import Clock
    from compare.testing.group import Group
    from compare.testing.handled_records import Record
    from compare.testing.record_assertions import assert_at_least_once, assert_handled_once, assert_nothing_lost
    from compare.testing.standalone import GroupPair, kafka_group, play, rocketmq_group
    from compare.testing.stopping import Crashed, TimeIsUp

__all__ = [
    "Clock",
    "Crashed",
    "Group",
    "GroupPair",
    "KafkaBroker",
    "RealGroup",
    "Record",
    "RocketMQBrokers",
    "TimeIsUp",
    "assert_at_least_once",
    "assert_fair",
    "assert_handled_once",
    "assert_moves_at_most",
    "assert_no_double_ownership",
    "assert_no_gap",
    "assert_no_idle_members",
    "assert_nothing_lost",
    "assert_optimal",
    "assert_settles_within",
    "kafka_group",
    "play",
    "rocketmq_group",
]

_HOMES = {
    "Clock": "clock",
    "Crashed": "stopping",
    "Group": "group",
    "GroupPair": "standalone",
    "KafkaBroker": "brokers",
    "RealGroup": "brokers",
    "Record": "handled_records",
    "RocketMQBrokers": "brokers",
    "TimeIsUp": "stopping",
    "assert_at_least_once": "record_assertions",
    "assert_handled_once": "record_assertions",
    "assert_nothing_lost": "record_assertions",
    "kafka_group": "standalone",
    "play": "standalone",
    "rocketmq_group": "standalone",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'compare.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES.get(name, 'assertions')}", __name__), name)
