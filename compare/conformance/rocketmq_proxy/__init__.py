"""Recordings of RocketMQ's 5.x clients (gRPC) before a real proxy, replayed before this package's proxy: `replay` says
how, `comparing` what is compared."""

from random import Random

from compare.conformance.cases import Difference, Line, Measure, Played
from compare.conformance.recordings import closest
from compare.conformance.rocketmq_proxy.comparing import compared
from compare.conformance.rocketmq_proxy.parts import Phases
from compare.conformance.rocketmq_proxy.reading import read
from compare.conformance.rocketmq_proxy.reading import recognises as recognises
from compare.conformance.rocketmq_proxy.replay import REVIVE_QUEUES, Replay

_LITE = "LITE"
MOST_RUNS = 100
"""Of one recording, with other phases of what is periodic, until one is as recorded."""
_ROUND_MS, _SCAN_MS, _RENEW_MS = 8_000, 10_000, 5_000
"""The longest round of a thread that brings records back, and the proxy's periods."""


def _phases(run: int) -> Phases:
    """Those of this run: the first has none."""
    if run == 0:
        return Phases()
    thrown = Random(run)
    revive = [float(thrown.randrange(_ROUND_MS)) for _ in range(REVIVE_QUEUES)]
    return Phases(revive, float(thrown.randrange(_SCAN_MS)), float(thrown.randrange(_RENEW_MS)))


def play(line: Line) -> Played:
    """Replay a story until it comes as recorded, or so many times; then the closest is told."""
    recording = read(line)
    if any(topic.type == _LITE for topic in recording.topology.topics.values()):
        return Played(skipped="lite topics are not modelled")

    def replayed(number: int) -> tuple[list[Difference], list[Measure]]:
        replay = Replay(recording, _phases(number))
        replay.run()
        return compared(replay)

    return closest(MOST_RUNS, replayed)
