"""Plays traces of RocketMQ's own objects: `traces-*.jsonl.gz`, one file of this package per component."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from compare.conformance.cases import Difference, Line, Player
from compare.conformance.rocketmq_traces import (
    compute_pull_from_where,
    consumer_manager,
    group,
    lock_manager,
    offset_manager,
    offset_store,
    process_queue,
    rebalance,
    route_info,
)

Play: TypeAlias = Callable[[Line], list[Difference]]

COMPONENTS: Mapping[str, Play] = {
    "consumer_manager": consumer_manager.play,
    "offset_manager": offset_manager.play,
    "lock_manager": lock_manager.play,
    "route_info_manager": route_info.play,
    "rebalance": rebalance.play,
    "compute_pull_from_where": compute_pull_from_where.play,
    "offset_store": offset_store.play,
    "process_queue": process_queue.play,
    "group": group.play,
}
"""A trace's ``component`` to who plays it."""


def players() -> tuple[Player, ...]:
    """One player per component, and one for traces of components that nobody plays."""
    return (
        *(Player(f"RocketMQ {name} traces", _of(name), play) for name, play in COMPONENTS.items()),
        Player("RocketMQ traces", _is_trace),
    )


def _of(component: str) -> Callable[[Line], bool]:
    return lambda line: _is_trace(line) and line["component"] == component


def _is_trace(line: Line) -> bool:
    return "trace_id" in line and "component" in line
