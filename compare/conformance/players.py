"""The kinds of recorded cases and who plays them. A kind whose player has no ``play`` counts as skipped."""

from compare.conformance import kafka_assignors
from compare.conformance.cases import Line, Player
from compare.conformance.rocketmq_strategies import STRATEGY_CALLS
from compare.conformance.rocketmq_topics import STRATEGY_GROUPS


def _is_coordinator_trace(line: Line) -> bool:
    return "trace_id" in line and "protocol" in line


def _is_rocketmq_trace(line: Line) -> bool:
    return "trace_id" in line and "component" in line


PLAYERS: tuple[Player, ...] = (
    kafka_assignors.player(),
    STRATEGY_CALLS,
    STRATEGY_GROUPS,
    Player("Kafka coordinator traces", _is_coordinator_trace),
    Player("RocketMQ traces", _is_rocketmq_trace),
    Player("recordings of Kafka clusters", lambda line: {"events", "per_partition", "group"} <= line.keys()),
    Player("recordings of RocketMQ clusters", lambda line: {"actions", "ownership", "final"} <= line.keys()),
)
"""A line is played by the first player that recognises it."""
