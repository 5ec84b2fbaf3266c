"""How many records the members of a variant can handle."""

from collections.abc import Mapping
from math import inf

from compare.scenarios.ending import Ending
from compare.scenarios.variants import Variant
from protocols.scenario.groups import MemberPart
from protocols.scenario.systems import split_system
from protocols.scenario.topology import MemberKey

THREADS = "consumeThreadMax"
"""RocketMQ's setting of a push consumer's pool."""

PUSH_THREADS = 20
"""Its default (spec rocketmq 6.5)."""

KIND, PUSH = "consumer", "push"
"""The setting that says which of RocketMQ's consumers a member is, and the one with a pool."""


def records_per_second(variant: Variant, ending: Ending) -> dict[MemberKey, float]:
    """Each member that is there at the end to the records that its code handles per second at most; infinite where
    handling takes no time."""
    return {
        key: inf if part.handle <= 0 else threads_of(variant, part) * 1000 / part.handle
        for key, part in ending.members.items()
    }


def threads_of(variant: Variant, part: MemberPart) -> int:
    """How many threads of the member handle records at once."""
    settings: Mapping[str, object] = {**variant.part.settings, **part.settings}
    if part.threads is not None:
        return part.threads
    if split_system(variant.part.system)[0] != "rocketmq" or settings.get(KIND, PUSH) != PUSH:
        return 1
    given = settings.get(THREADS, PUSH_THREADS)
    return given if isinstance(given, int) else PUSH_THREADS
