"""The kinds of recorded cases and who plays them. A kind whose player has no ``play`` counts as skipped."""

from compare.conformance import kafka_assignors, kafka_recordings, rocketmq_recordings, rocketmq_traces
from compare.conformance.cases import Player
from compare.conformance.kafka_coordinator import COORDINATOR_TRACES
from compare.conformance.rocketmq_strategies import STRATEGY_CALLS
from compare.conformance.rocketmq_topics import STRATEGY_GROUPS

PLAYERS: tuple[Player, ...] = (
    kafka_assignors.player(),
    STRATEGY_CALLS,
    STRATEGY_GROUPS,
    COORDINATOR_TRACES,
    *rocketmq_traces.players(),
    kafka_recordings.RECORDINGS,
    rocketmq_recordings.RECORDINGS,
)
"""A line is played by the first player that recognises it."""
