"""What real Java clients did before a real RocketMQ (recorded), they do before served clusters.

What they did here has the form of a recording, and the same rules hold for it as for the recordings
(`compare.conformance.rocketmq_recordings.comparing`): who owns what in the end, and which queues never had an owner, is
equal to one and the same run of the model; times, moves, records and the order of every member's requests lie within
what many runs reach. Members that start at once come in an order that no script can set: the runs are those of the
recorded scenario, and those of the same one with the times at which members began here. What all of them end with is,
besides, equal to what was recorded of the real cluster. (Members that disagree about the strategy or the topics end
with one of several results, by who was first.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import pytest

from compare.conformance.cases import Difference, Measure
from compare.conformance.recordings import RUNS
from compare.conformance.rocketmq_recordings import listens
from compare.conformance.rocketmq_recordings.comparing import compared, exact
from compare.conformance.rocketmq_recordings.happened import Happened, happened
from compare.conformance.rocketmq_recordings.happened import play as play_model
from compare.conformance.rocketmq_recordings.reading import read
from compare.conformance.rocketmq_recordings.scenario import Plan, plan, run
from tests.compare.conformance.rocketmq_recordings import TRACES, recorded
from tests.slow import real_rocketmq
from tests.slow.java import UnavailableError
from tests.slow.java_members import Program
from tests.slow.served_rocketmq_recordings import SOURCE, Played, play

pytestmark = pytest.mark.slow

NAMES: Final = sorted(path.stem for path in TRACES.glob("*.json"))
AT_ONCE: Final = 10
"""Recordings that are played side by side, those of like length together."""
AGAIN: Final = 2
"""So often one that differs is played again, alone: side by side on a busy machine threads wake late, and who is first
of a client's own two threads decides what it does (docs/serving-rocketmq.md)."""


class Stored(NamedTuple):
    plan: Plan
    real: Happened


@dataclass
class Served:
    """What happened in each recording that was played."""

    stored: Mapping[str, Stored]
    program: Program
    found: dict[str, Played]

    def play(self, names: Sequence[str]) -> None:
        """Play these side by side; what happened takes the place of what was there."""
        self.found.update(zip(names, play([self.stored[name].plan for name in names], self.program), strict=True))


@pytest.fixture(scope="module")
def stored() -> Mapping[str, Stored]:
    recordings = {name: read(recorded(name)) for name in NAMES}
    return {name: Stored(plan(each), happened(each)) for name, each in recordings.items()}


@pytest.fixture(scope="module")
def served(stored: Mapping[str, Stored], tmp_path_factory: pytest.TempPathFactory) -> Served:
    try:
        jars = real_rocketmq.released()
        program = Program.of(SOURCE, jars, tmp_path_factory.mktemp("java"))
    except UnavailableError as reason:
        pytest.skip(str(reason))
    by_length = sorted(stored, key=lambda name: stored[name].plan.recording.length_ms)
    served = Served(stored, program, {})
    for first in range(0, len(by_length), AT_ONCE):
        served.play(by_length[first : first + AT_ONCE])
    return served


@pytest.mark.parametrize("name", NAMES)
def test_clients_do_what_they_did_before_a_real_cluster(
    name: str, stored: Mapping[str, Stored], served: Served
) -> None:
    differences, measures, runs = _judged(stored[name], served.found[name])
    for _ in range(AGAIN if differences else 0):
        served.play([name])
        differences, measures, runs = _judged(stored[name], served.found[name])
        if not differences:
            break
    assert differences == []
    told, real = served.found[name], stored[name].real
    own_plan = plan(told.recording)
    assert len(measures) > len(told.recording.members) * 5
    ends = [exact(own_plan, each.ownership) for each in runs]
    found, recorded_ends = (exact(own_plan, each.ownership) for each in (told.happened, real))
    certain = {field for field in found if all(each[field] == ends[0][field] for each in ends)}
    assert {field: found[field] for field in certain} == {field: recorded_ends[field] for field in certain}


def _judged(stored: Stored, told: Played) -> tuple[list[Difference], list[Measure], list[Happened]]:
    """What differs from the model, all that was measured, and the model's runs: those of the recorded script and those
    of the one that was played."""
    own_plan = plan(told.recording)
    runs = [
        play_model(each, run(each, number), listen=listens(number))
        for each in (stored.plan, own_plan)
        for number in range(RUNS)
    ]
    return *compared(own_plan, told.happened, runs), runs
