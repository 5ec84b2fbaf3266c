"""Plays traces of RocketMQ's own objects: `traces-*.jsonl.gz`, each of one component."""

from collections.abc import Callable, Mapping
from functools import partial

from compare.conformance.cases import Line, Player
from compare.conformance.rocketmq_traces.brokers import Consumers, Locks, Routes
from compare.conformance.rocketmq_traces.group import WholeGroup
from compare.conformance.rocketmq_traces.offsets import Offsets, Starts, Store
from compare.conformance.rocketmq_traces.rebalance import Clients, Messages
from compare.conformance.rocketmq_traces.steps import Component, play_steps
from compare.json_types import Json
from rocketmq_selfbalance.cluster import Version

COMPONENTS: Mapping[str, Callable[[Mapping[str, Json], Version], Component]] = {
    "consumer_manager": Consumers,
    "offset_manager": Offsets,
    "lock_manager": lambda config, version: Locks(config),
    "route_info_manager": lambda config, version: Routes(config),
    "rebalance": Clients,
    "compute_pull_from_where": Starts,
    "offset_store": Store,
    "process_queue": lambda config, version: Messages(config),
    "group": WholeGroup,
}
"""A trace's ``component`` to what of the model is behind it, made from the trace's config for the version."""


def players() -> tuple[Player, ...]:
    """One player per component, and one for traces of components that nobody plays."""
    return (
        *(
            Player(f"RocketMQ {name} traces", _of(name), partial(play_steps, make=make))
            for name, make in COMPONENTS.items()
        ),
        Player("RocketMQ traces", _is_trace),
    )


def _of(component: str) -> Callable[[Line], bool]:
    return lambda line: _is_trace(line) and line["component"] == component


def _is_trace(line: Line) -> bool:
    return "trace_id" in line and "component" in line
