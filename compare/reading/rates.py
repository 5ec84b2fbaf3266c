"""Rates of queues from where they ended at two readings: records per second that were written in between."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from compare.reading import kafka_live, rocketmq_live
from compare.reading.gather import Gathered, gather
from compare.reading.observed import ObservedGroup


def with_rates(before: Sequence[ObservedGroup], after: Sequence[ObservedGroup], seconds: float) -> list[ObservedGroup]:
    """The groups of the later reading with the rate of each queue whose end both tell.

    A queue that ends earlier than before was made anew: its rate is not known. ``seconds``: between the readings.
    """
    ends = {(group.system, group.sources, group.name): group.ends for group in before}
    found = []
    for group in after:
        earlier = ends.get((group.system, group.sources, group.name), {})
        rates = {
            queue: (end - earlier[queue]) / seconds
            for queue, end in group.ends.items()
            if queue in earlier and end >= earlier[queue]
        }
        found.append(replace(group, rates=rates))
    return found


def gather_rated(
    arguments: Sequence[str],
    progress: Callable[[str], None],
    command_config: Path | None,
    timeout_s: float,
    over_s: float | None,
    ask_brokers: bool = False,
) -> Gathered:
    """`gather`, and once more after so many seconds what is a running cluster, so that its queues have rates.

    Text tells no times: its queues have none. Without ``over_s`` nobody asked for rates, and all is read once.
    """
    live = [each for each in arguments if each.startswith((kafka_live.SCHEME, rocketmq_live.SCHEME))]
    rest = [each for each in arguments if each not in live]
    if over_s is None or not live:
        return gather(arguments, progress, command_config, timeout_s, ask_brokers=ask_brokers)
    config = command_config if any(each.startswith(kafka_live.SCHEME) for each in live) else None
    began = time.monotonic()
    first = gather(live, progress, config, timeout_s)
    time.sleep(max(0.0, over_s - (time.monotonic() - began)))
    again = time.monotonic()
    second = gather(live, progress, config, timeout_s, ask_brokers=ask_brokers)
    text = gather(rest, progress, None if live else command_config, timeout_s)
    rated = with_rates(first.groups, second.groups, again - began)
    return Gathered((*text.groups, *rated), (*text.skipped, *second.skipped), text.was_read or second.was_read)
