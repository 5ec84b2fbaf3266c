"""Plays traces of RocketMQ's own objects: `traces-*.jsonl.gz`, each of one component."""

from collections.abc import Callable, Mapping
from functools import partial

from compare.conformance.cases import Line, Player
from compare.conformance.rocketmq_traces.assignment import AskingClients
from compare.conformance.rocketmq_traces.brokers import Consumers, Locks, Routes
from compare.conformance.rocketmq_traces.group import WholeGroup
from compare.conformance.rocketmq_traces.offsets import Offsets, Starts, Store
from compare.conformance.rocketmq_traces.pop import OrderedPops, PoppedMessages
from compare.conformance.rocketmq_traces.rebalance import Clients, Messages
from compare.conformance.rocketmq_traces.steps import Component, play_steps

COMPONENTS: Mapping[str, type[Component]] = {
    "consumer_manager": Consumers,
    "offset_manager": Offsets,
    "lock_manager": Locks,
    "route_info_manager": Routes,
    "rebalance": Clients,
    "compute_pull_from_where": Starts,
    "offset_store": Store,
    "process_queue": Messages,
    "group": WholeGroup,
    "pop_assignment": AskingClients,
    "pop_messages": PoppedMessages,
    "pop_order": OrderedPops,
}
"""A trace's ``component`` to what of the model is behind it."""


def players() -> tuple[Player, ...]:
    """One player per component, and one for traces of components that nobody plays."""
    return (
        *(
            Player(f"RocketMQ {name} traces", _of(name), partial(play_steps, kind=kind))
            for name, kind in COMPONENTS.items()
        ),
        Player("RocketMQ traces", _is_trace),
    )


def _of(component: str) -> Callable[[Line], bool]:
    return lambda line: _is_trace(line) and line["component"] == component


def _is_trace(line: Line) -> bool:
    return "trace_id" in line and "component" in line
