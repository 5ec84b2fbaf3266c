"""Recordings of rebalances of real Kafka clusters, played through the model and compared with it: see `comparing` for
what is compared, docs/closeness.md for the limits."""

from compare.conformance.kafka_recordings.comparing import compared
from compare.conformance.kafka_recordings.happened import Happened, happened, inconsistent
from compare.conformance.kafka_recordings.playing import play
from compare.conformance.kafka_recordings.reading import read, recognises, why_not_played
from compare.conformance.kafka_recordings.scenario import Plan, Run, plan, run
from compare.conformance.recordings import System


def _run(plan: Plan, number: int) -> tuple[Run, Happened]:
    """Run ``number``, and what happened in it."""
    made = run(plan, number)
    return made, play(plan, made)


KAFKA = System(
    name="Kafka clusters",
    recognises=recognises,
    read=read,
    why_not_played=why_not_played,
    happened=happened,
    plan=plan,
    run=_run,
    compared=compared,
    inconsistent=inconsistent,
    takes="settings and steps",
)
