"""The kinds of recorded cases and who plays them. A kind whose player has no ``play`` counts as skipped."""

from compare.conformance import kafka_assignors, rocketmq_traces
from compare.conformance.cases import Line, Player
from compare.conformance.kafka_coordinator import COORDINATOR_TRACES
from compare.conformance.kafka_recordings import RECORDINGS
from compare.conformance.rocketmq_strategies import STRATEGY_CALLS
from compare.conformance.rocketmq_topics import STRATEGY_GROUPS


def _is_coordinator_trace(line: Line) -> bool:
    return "trace_id" in line and "protocol" in line


PLAYERS: tuple[Player, ...] = (
    kafka_assignors.player(),
    STRATEGY_CALLS,
    STRATEGY_GROUPS,
    COORDINATOR_TRACES,
    Player("Kafka coordinator traces of the consumer protocol", _is_coordinator_trace),
    *rocketmq_traces.players(),
    RECORDINGS,
    Player("recordings of RocketMQ clusters", lambda line: {"actions", "ownership", "final"} <= line.keys()),
)
"""A line is played by the first player that recognises it."""
