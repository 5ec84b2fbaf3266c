"""Recordings of rebalances of real RocketMQ clusters, played through the model and compared with it: see `comparing`
for what is compared, docs/closeness.md for the limits."""

from compare.conformance.recordings import System
from compare.conformance.rocketmq_recordings.comparing import compared
from compare.conformance.rocketmq_recordings.happened import Happened, happened, inconsistent, play
from compare.conformance.rocketmq_recordings.reading import read, recognises
from compare.conformance.rocketmq_recordings.scenario import Plan, plan, run


def listens(number: int) -> bool:
    """Whether requests are listened to in this run, which takes longer: in half of the runs of every sort."""
    return number % 4 < 2


def _run(plan: Plan, number: int) -> Happened:
    """What happens in run ``number``."""
    return play(plan, run(plan, number), listen=listens(number))


ROCKETMQ = System(
    name="RocketMQ clusters",
    recognises=recognises,
    read=read,
    happened=happened,
    plan=plan,
    run=_run,
    compared=compared,
    inconsistent=inconsistent,
    takes="settings and actions",
)
