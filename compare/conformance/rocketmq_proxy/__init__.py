"""Recordings of RocketMQ's 5.x clients (gRPC) before a real proxy, replayed before this package's proxy: see `replay` for
how, `comparing` for what is compared."""

from compare.conformance.cases import Line, Played, Player
from compare.conformance.rocketmq_proxy.comparing import compared
from compare.conformance.rocketmq_proxy.reading import read, recognises
from compare.conformance.rocketmq_proxy.replay import Phases, Replay

_LITE = "LITE"
MOST_RUNS = 60
"""Of one recording, with other phases of what is periodic, until one is as recorded."""
_REVIVE = (
    *((0.0, 0.0), (700.0, 0.0), (0.0, 370.0), (0.0, 610.0), (500.0, 830.0), (200.0, 130.0)),
    *((300.0, 470.0), (900.0, 290.0), (650.0, 910.0), (100.0, 550.0), (400.0, 770.0)),
)
_SCAN = (0.0, 5_000.0, 2_500.0, 7_500.0, 9_900.0)
_RENEW = (0.0, 2_500.0, 1_200.0, 4_000.0)
"""Their lengths have no common divisor, so that they meet in all ways."""


def play(line: Line) -> Played:
    """Replay a story until it comes as recorded, or so many times; then the closest is told."""
    recording = read(line)
    if any(topic.type == _LITE for topic in recording.topology.topics.values()):
        return Played(skipped="lite topics are not modelled")
    best: Played | None = None
    for run in range(MOST_RUNS):
        phases = Phases(_REVIVE[run % len(_REVIVE)], _SCAN[run % len(_SCAN)], _RENEW[run % len(_RENEW)])
        replay = Replay(recording, phases)
        replay.run()
        differences, measures = compared(replay)
        if best is None or len(differences) < len(best.differences):
            best = Played(differences, measures)
        if not differences:
            break
    assert best is not None
    return best


PROXY_STORIES = Player("recordings of RocketMQ's 5.x clients", recognises, play)
