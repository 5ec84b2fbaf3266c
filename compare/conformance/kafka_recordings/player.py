"""Plays recordings of real Kafka clusters: see `comparing` for what is compared, docs/closeness.md for the limits."""

from compare.conformance.cases import Line, MalformedCase, Played, Player
from compare.conformance.kafka_recordings.clients import why_not_played
from compare.conformance.kafka_recordings.comparing import compared
from compare.conformance.kafka_recordings.consistency import inconsistent
from compare.conformance.kafka_recordings.exchanging import exchanged, may_exchange
from compare.conformance.kafka_recordings.playing import play
from compare.conformance.kafka_recordings.reading import read, recognises
from compare.conformance.kafka_recordings.recorded import happened, without_restless
from compare.conformance.kafka_recordings.runs import run
from compare.conformance.kafka_recordings.scenario import plan
from compare.conformance.ranges import RUNS
from protocols.errors import UserError


def play_recording(line: Line) -> Played:
    """Play a recording `RUNS` times with different seeds. Raises `MalformedCase` for one that cannot be."""
    recording = read(line)
    why = why_not_played(recording)
    if why is not None:
        return Played(skipped=why)
    whole = happened(recording)
    try:
        prepared = plan(recording)
        runs = [run(prepared, number) for number in range(RUNS)]
        told = [(each, play(prepared, each)) for each in runs]
    except UserError as error:
        raise MalformedCase("members", "settings and steps that a Kafka cluster takes", str(error)) from None
    real = without_restless(whole, recording, prepared.clients)
    if may_exchange(prepared):
        told = [(each, exchanged(played, real)) for each, played in told]
    differences, measures = compared(prepared, real, told)
    return Played([*inconsistent(recording, whole), *differences], measures)


RECORDINGS = Player("recordings of Kafka clusters", recognises, play_recording)
