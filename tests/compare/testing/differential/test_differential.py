"""The doubles of confluent-kafka's clients answer as the real ones do, on librdkafka's own mock cluster: to every
probe, and to random sequences of calls.

Both answer in this run; nothing is recorded. The real answers are waited for, so all probes of a run ask at once.
"""

import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, Final

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, OFFSET_STORED, Producer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compare.testing.differential.asking import TIMES, RealAnswers, answered, ask_alone
from tests.compare.testing.differential.probing import PROBES, Probe, answer, told
from tests.compare.testing.differential.worlds import DoubleWorld, MockCluster, RealWorld, World

LONGEST_S: Final = 60.0

_LEAST_PROBES: Final = 500


def _rooms() -> dict[str, list[Probe]]:
    """The probes that the mock cluster can answer, by the module that holds them."""
    rooms: dict[str, list[Probe]] = {}
    for probe in PROBES.values():
        if not probe.mock:
            rooms.setdefault(probe.run.__module__.rpartition(".")[2], []).append(probe)
    return rooms


ROOMS: Final = _rooms()


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Iterator[RealAnswers]:
    """The real client's answer to every probe of this run."""
    rooms = [item.callspec.params.get("room") for item in request.session.items if hasattr(item, "callspec")]
    answers = RealAnswers([probe.name for room in rooms if isinstance(room, str) for probe in ROOMS.get(room, ())])
    yield answers
    answers.close()


@pytest.mark.parametrize("room", ROOMS)
def test_the_double_answers_as_the_real_client(room: str, real: RealAnswers, subtests: pytest.Subtests) -> None:
    for probe in ROOMS[room]:
        with subtests.test(probe.name):
            expected = answer(probe, DoubleWorld(probe.name))
            again = partial(ask_alone, probe.name, LONGEST_S)
            answer_there = answered(expected, partial(real.result, probe.name, LONGEST_S), again)
            assert expected == answer_there


def test_the_whole_surface_is_probed() -> None:
    assert len([each for each in PROBES.values() if not each.mock]) >= _LEAST_PROBES


def test_what_a_crashed_process_has_not_answered_is_asked_again() -> None:
    names = ["joined-position", "joined-consume-too-many"]
    answers = RealAnswers(names)
    try:
        while answers.process is None:
            time.sleep(0.01)
        answers.process.send_signal(signal.SIGSEGV)
        assert [answers.result(name, LONGEST_S) for name in names] == [ask_alone(name, LONGEST_S) for name in names]
    finally:
        answers.close()


# Random sequences of calls.

RECORDS: Final = 4
_POLLS: Final = 12
"""How often a sequence polls for a record before it takes it that none comes."""

_ANSWER_S: Final = 0.1

Step = Callable[[World, Any, int], Any]


def _settled(call: Step) -> Step:
    """The call, and time for its answer: what the real client does if the next call overtakes it, chance decides."""

    def made(world: World, consumer: Any, k: int) -> Any:
        call(world, consumer, k)
        world.wait(_ANSWER_S)

    return made


STEPS: Final[dict[str, Step]] = {
    "read": lambda w, c, k: [
        (each.partition(), each.offset(), each.value())
        for each in w.until(c, lambda message: message is not None, polls=_POLLS)
    ],
    "seek": lambda w, c, k: c.seek(w.partition(0, k)),
    "seek to the beginning": _settled(lambda w, c, k: c.seek(w.partition(0, OFFSET_BEGINNING))),
    "seek to the end": _settled(lambda w, c, k: c.seek(w.partition(0, OFFSET_END))),
    "commit": lambda w, c, k: c.commit(asynchronous=False),
    "commit an offset": lambda w, c, k: c.commit(offsets=[w.partition(0, k)], asynchronous=False),
    "committed": lambda w, c, k: [each.offset for each in c.committed([w.partition(0), w.partition(1)], timeout=5)],
    "position": lambda w, c, k: c.position([w.partition(0)]),
    "pause": lambda w, c, k: c.pause([w.partition(0)]),
    "resume": lambda w, c, k: c.resume([w.partition(0)]),
    "assign": _settled(lambda w, c, k: c.assign([w.partition(0, k)])),
    "assign both": _settled(lambda w, c, k: c.assign([w.partition(0), w.partition(1)])),
    "assign the other": _settled(lambda w, c, k: c.assign([w.partition(1, 0)])),
    "assign nothing": lambda w, c, k: c.assign([]),
    "unassign": lambda w, c, k: c.unassign(),
    "assign one more": _settled(lambda w, c, k: c.incremental_assign([w.partition(k % 2, k)])),
    "assign one less": lambda w, c, k: c.incremental_unassign([w.partition(k % 2)]),
    "seek to no offset": _settled(lambda w, c, k: c.seek(w.partition(0, OFFSET_INVALID))),
    "seek to a committed offset": lambda w, c, k: c.seek(w.partition(0, OFFSET_STORED)),
    "ends": lambda w, c, k: c.get_watermark_offsets(w.partition(0), timeout=5),
    "assignment": lambda w, c, k: [(each.topic, each.partition) for each in c.assignment()],
}


@pytest.fixture(scope="module")
def broker() -> Iterator[tuple[MockCluster, Producer, Iterator[int]]]:
    """A mock cluster, who writes to it, and numbers for the worlds that share it."""
    cluster = MockCluster()
    producer = Producer({"bootstrap.servers": cluster.address, "linger.ms": 0, "log_level": 0})
    yield cluster, producer, count()
    producer.flush(1)
    del producer
    cluster.close()


def _answers(world: World, steps: list[tuple[str, int]]) -> list[Any]:
    try:
        world.produce(0, RECORDS)
        consumer = world.consumer()
        consumer.assign([world.partition(0, 0)])
        return [told(lambda name=name, k=k: STEPS[name](world, consumer, k)) for name, k in steps]
    finally:
        world.close()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, RECORDS - 1)), min_size=2, max_size=8))
def test_a_sequence_of_calls_is_answered_alike(
    broker: tuple[MockCluster, Producer, Iterator[int]], steps: list[tuple[str, int]]
) -> None:
    cluster, producer, numbers = broker
    for _ in range(1 + TIMES):
        name = f"sequence-{next(numbers)}"
        double, real = _answers(DoubleWorld(name), steps), _answers(RealWorld(name, cluster, producer), steps)
        if double == real:
            break
    assert double == real
