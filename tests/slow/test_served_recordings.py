"""What real Java clients did before a real Kafka (recorded), they do before served brokers.

The same rules hold as for the model. What must be equal (generations and their members, every member's callbacks with
their partitions and generations, the owners of each partition one after another, the group's description) is equal to
the recording. What depends on the phase of heartbeats and on a busy machine lies where the recording has to lie: in
the range of many runs of the same scenario, widened as there.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from compare.conformance.kafka_recordings import playing
from compare.conformance.kafka_recordings.comparing import compared, exact
from compare.conformance.kafka_recordings.happened import Happened, happened
from compare.conformance.kafka_recordings.reading import read
from compare.conformance.kafka_recordings.scenario import Plan, plan, run
from compare.conformance.recordings import RUNS
from tests.compare.conformance.kafka_recordings import recorded
from tests.slow.java import UnavailableError
from tests.slow.java_members import Program
from tests.slow.real_kafka import VERSION
from tests.slow.served_recordings import play

pytestmark = pytest.mark.slow

CLASSIC = (
    "join-java-range",
    "join-java-coop",
    "leave-java-range",
    "leave-java-coop",
    "crash-java-range",
    "hang-java-coop",
    "static-java-range-close",
    "static-java-coop-quick",
    "grow-java-range",
    "subscribe-java-range",
    "subscribe-java-coop",
)
CONSUMER = ("join-java-848", "join-java-848-hb1s")
"""Of these only epochs, owners and descriptions are compared: members ask for their partitions in phases of their own,
so that what they are told may come in one step or in two, sooner or later. Where several members start at once, the
epochs depend on which of them comes first, which no script can set: those recordings are left out."""
SCENARIOS = (*CLASSIC, *CONSUMER)


class Stored(NamedTuple):
    plan: Plan
    real: Happened


@pytest.fixture(scope="module")
def stored() -> Mapping[str, Stored]:
    recordings = {name: read(recorded(name)) for name in SCENARIOS}
    return {name: Stored(plan(each), happened(each)) for name, each in recordings.items()}


@pytest.fixture(scope="module")
def served(stored: Mapping[str, Stored], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Happened]:
    try:
        program = Program.compiled(VERSION, tmp_path_factory.mktemp("java"))
    except UnavailableError as reason:
        pytest.skip(str(reason))
    return play([each.plan for each in stored.values()], program)


@pytest.mark.parametrize("name", CLASSIC)
def test_clients_do_what_they_did_before_a_real_cluster(
    name: str, stored: Mapping[str, Stored], served: Mapping[str, Happened]
) -> None:
    plan, real = stored[name]
    assert exact(plan, served[name], real) == exact(plan, real, real)


@pytest.mark.parametrize("name", CONSUMER)
def test_partitions_have_the_same_owners_under_the_consumer_protocol(
    name: str, stored: Mapping[str, Stored], served: Mapping[str, Happened]
) -> None:
    plan, real = stored[name]
    found, told = (
        {field: value for field, value in exact(plan, each, real).items() if not field.startswith("callbacks.")}
        for each in (served[name], real)
    )
    assert found == told


@pytest.mark.parametrize("name", CLASSIC)
def test_what_took_time_lies_where_the_recording_has_to_lie(
    name: str, stored: Mapping[str, Stored], served: Mapping[str, Happened]
) -> None:
    plan = stored[name].plan
    runs = [run(plan, number) for number in range(RUNS)]
    differences, measures = compared(plan, served[name], [(each, playing.play(plan, each)) for each in runs])
    assert differences == []
    assert len(measures) > len(plan.partitions) * 5
