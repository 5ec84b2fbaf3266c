"""The kinds of recorded cases and who plays them, over many files.

Each kind of recording (answers of a strategy, traces of a coordinator, rebalances and outages of clusters) has one
player. A file names its kind, so that recordings of your own need no option. Recordings of clusters take seconds
each and are played side by side on the processors there are; the order of the results is that of the files.
"""

import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from compare.conformance import recordings, rocketmq_traces
from compare.conformance.broker_failures.kafka import KAFKA_BROKERS
from compare.conformance.broker_failures.rocketmq import ROCKETMQ_BROKERS
from compare.conformance.cases import FileResult, Player, play_file
from compare.conformance.kafka_assignors import ASSIGNOR_VECTORS
from compare.conformance.kafka_coordinator import COORDINATOR_TRACES
from compare.conformance.kafka_recordings import KAFKA
from compare.conformance.kafka_share_partitions import SHARE_PARTITION_TRACES
from compare.conformance.rocketmq_pop import ASSIGNMENTS
from compare.conformance.rocketmq_popping import POPPING_STORIES
from compare.conformance.rocketmq_recordings import ROCKETMQ
from compare.conformance.rocketmq_strategies import STRATEGY_CALLS, STRATEGY_GROUPS
from compare.conformance.served import lines_or_traces
from compare.process_pool import process_pool
from protocols.errors import UserError

PLAYERS: tuple[Player, ...] = (
    ASSIGNOR_VECTORS,
    STRATEGY_CALLS,
    STRATEGY_GROUPS,
    ASSIGNMENTS,
    COORDINATOR_TRACES,
    SHARE_PARTITION_TRACES,
    *rocketmq_traces.players(),
    *POPPING_STORIES,
    recordings.player(KAFKA),
    recordings.player(ROCKETMQ),
    recordings.player(KAFKA_BROKERS),
    recordings.player(ROCKETMQ_BROKERS),
)
"""A line is played by the first player that recognises it."""


def play_files(
    files: Sequence[Path], consumed: Callable[[Path], Callable[[int], None]], processes: int | None = None
) -> Generator[FileResult | UserError, None, None]:
    """What came of each file, in their order; the error where a file cannot be read.

    ``consumed(path)`` is told how many bytes of the file have been played. ``processes``: at most so many for
    recordings, else as many as there are processors; one plays them here.
    """
    recordings = [path for path in files if path.suffix == ".json"]
    workers = min(processes or os.cpu_count() or 1, len(recordings))
    if workers <= 1:
        for path in files:
            yield _play(path, consumed(path))
        return
    with process_pool(workers) as executor:
        under_way = {path: executor.submit(_play, path) for path in recordings}
        for path in files:
            tell = consumed(path)
            if path in under_way:
                yield under_way[path].result()
                tell(path.stat().st_size)
            else:
                yield _play(path, tell)


def _play(path: Path, consumed: Callable[[int], None] = lambda position: None) -> FileResult | UserError:
    try:
        return play_file(path, PLAYERS, str(path), consumed, lines_or_traces)
    except UserError as error:
        return error
