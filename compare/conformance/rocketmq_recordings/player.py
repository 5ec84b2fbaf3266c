"""Plays recordings of real RocketMQ clusters: see `comparing` for what is compared, docs/closeness.md for limits."""

from compare.conformance.cases import Line, MalformedCase, Played, Player
from compare.conformance.ranges import RUNS
from compare.conformance.rocketmq_recordings.comparing import compared
from compare.conformance.rocketmq_recordings.consistency import inconsistent
from compare.conformance.rocketmq_recordings.playing import play
from compare.conformance.rocketmq_recordings.reading import read, recognises
from compare.conformance.rocketmq_recordings.recorded import happened
from compare.conformance.rocketmq_recordings.scenario import plan, run
from protocols.errors import UserError


def play_recording(line: Line, runs: int = RUNS) -> Played:
    """Play a recording so many times with different seeds. Raises `MalformedCase` for one that cannot be."""
    recording = read(line)
    real = happened(recording)
    try:
        prepared = plan(recording)
        told = [play(prepared, run(prepared, number), listen=listens(number)) for number in range(runs)]
    except UserError as error:
        raise MalformedCase("members", "settings and actions that a RocketMQ cluster takes", str(error)) from None
    differences, measures = compared(prepared, real, told)
    return Played([*inconsistent(recording), *differences], measures)


def listens(number: int) -> bool:
    """Whether requests are listened to in this run, which takes longer: in half of the runs of every sort."""
    return number % 4 < 2


RECORDINGS = Player("recordings of RocketMQ clusters", recognises, play_recording)
