"""The double of confluent-kafka's consumer answers as the real one does, on librdkafka's own mock cluster.

Both answer in this run; nothing is recorded. The real answers are waited for, so all probes of a run ask at once.
"""

import logging
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from tests.compare.testing.differential import (
    calls,
    classes,
    configurations,
    producers,
    stories_of_assigning,
    stories_of_clients,
    stories_of_commits,
    stories_of_reading,
    stories_of_transactions,
)
from tests.compare.testing.differential.again import answered
from tests.compare.testing.differential.mock_cluster import MockCluster
from tests.compare.testing.differential.probing import PROBES, Probe, answer
from tests.compare.testing.differential.worlds import DoubleWorld, RealWorld

MODULES: Final = (
    calls,
    classes,
    configurations,
    producers,
    stories_of_assigning,
    stories_of_clients,
    stories_of_commits,
    stories_of_reading,
    stories_of_transactions,
)
AT_ONCE: Final = 16
LONGEST_S: Final = 60.0

_LEAST_PROBES: Final = 500


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Any]]]:
    """Name of every probe of this run to the real client's answer."""
    logging.getLogger().setLevel(logging.ERROR)
    cluster = MockCluster()
    producer = Producer({"bootstrap.servers": cluster.address, "linger.ms": 0, "log_level": 0})
    wanted = [item.callspec.params.get("probe") for item in request.session.items if hasattr(item, "callspec")]
    probes = [each for each in wanted if isinstance(each, Probe) and not each.mock]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {each.name: pool.submit(_real_answer, each, cluster, producer) for each in probes}
    producer.flush(1)
    del producer
    cluster.close()


def _real_answer(probe: Probe, cluster: MockCluster, producer: Producer) -> Any:
    return _alone(probe, producer) if probe.alone else answer(probe, RealWorld(probe.name, cluster, producer))


def _alone(probe: Probe, producer: Producer | None = None) -> Any:
    """The real client's answer on a cluster of its own."""
    own = MockCluster()
    writer = producer or Producer({"bootstrap.servers": own.address, "linger.ms": 0, "log_level": 0})
    try:
        return answer(probe, RealWorld(probe.name, own, writer))
    finally:
        own.close()


def _marked(probe: Probe) -> Any:
    if probe.differs:
        return pytest.param(probe, id=probe.name, marks=pytest.mark.xfail(reason=probe.differs, strict=True))
    return pytest.param(probe, id=probe.name)


@pytest.mark.parametrize("probe", [_marked(each) for each in PROBES.values() if not each.mock])
def test_the_double_answers_as_the_real_client(probe: Probe, real: dict[str, Future[Any]]) -> None:
    expected = answer(probe, DoubleWorld(probe.name))
    assert expected == answered(expected, lambda: real[probe.name].result(LONGEST_S), lambda: _alone(probe))


def test_the_whole_surface_is_probed() -> None:
    assert len([each for each in PROBES.values() if not each.mock and not each.differs]) >= _LEAST_PROBES
