"""Runs of ``rocketmq:POP``, one each, without jitter."""

from collections.abc import Mapping, Sequence
from typing import Any

from compare.running.run_variant import RunResult, run_variant
from compare.running.systems import scenario
from compare.running.variants import variants_of

Groups = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Group to its members' fields."""


def run(
    groups: Groups,
    events: Sequence[Mapping[str, Any]],
    settings: Mapping[str, object] | None,
    *,
    queues: object,
    brokers: Sequence[str],
    produce: str,
    lasts: str,
) -> RunResult:
    """The topic is ``orders``; ``settings`` are the variant's."""
    given = scenario(
        name="pop",
        brokers=list(brokers),
        topics={"orders": {"queues": queues}},
        groups={name: {"members": dict(members)} for name, members in groups.items()},
        load={"produce": produce},
        run={"for": lasts},
        events=list(events),
        systems=[{"system": "rocketmq:POP", "settings": dict(settings or {})}],
    )
    (variant,) = variants_of(given)
    return run_variant(variant)
