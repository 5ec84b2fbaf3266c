"""The double of confluent-kafka's consumer answers as the real one does, on librdkafka's own mock cluster.

Both answer in this run; nothing is recorded. The real answers are waited for, so all probes of a run ask at once.
"""

import signal
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.compare.testing.differential.again import answered
from tests.compare.testing.differential.all_probes import PROBES
from tests.compare.testing.differential.asking import RealAnswers, ask_alone
from tests.compare.testing.differential.probing import Probe, answer
from tests.compare.testing.differential.worlds import DoubleWorld

LONGEST_S: Final = 60.0

_LEAST_PROBES: Final = 500


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Iterator[RealAnswers]:
    """The real client's answer to every probe of this run."""
    wanted = [item.callspec.params.get("probe") for item in request.session.items if hasattr(item, "callspec")]
    answers = RealAnswers([each.name for each in wanted if isinstance(each, Probe) and not each.mock])
    yield answers
    answers.close()


def _marked(probe: Probe) -> Any:
    if probe.differs:
        return pytest.param(probe, id=probe.name, marks=pytest.mark.xfail(reason=probe.differs, strict=True))
    return pytest.param(probe, id=probe.name)


@pytest.mark.parametrize("probe", [_marked(each) for each in PROBES.values() if not each.mock])
def test_the_double_answers_as_the_real_client(probe: Probe, real: RealAnswers) -> None:
    expected = answer(probe, DoubleWorld(probe.name))
    found = answered(expected, lambda: real.result(probe.name, LONGEST_S), lambda: ask_alone(probe.name, LONGEST_S))
    assert expected == found


def test_the_whole_surface_is_probed() -> None:
    assert len([each for each in PROBES.values() if not each.mock and not each.differs]) >= _LEAST_PROBES


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
