"""The double of kafka-python's KafkaConsumer answers as kafka-python does, on librdkafka's own mock cluster.

Both answer in this run; nothing is recorded. The real answers are waited for, so many probes ask at once.
"""

import logging
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

import pytest
from confluent_kafka import Producer

pytest.importorskip("kafka")

from tests.compare.testing.differential.again import answered
from tests.compare.testing.differential.mock_cluster import MockCluster
from tests.compare.testing.python_clients.kp_probes import PROBES
from tests.compare.testing.python_clients.kp_worlds import DoubleWorld, RealWorld, answer

_LEAST_PROBES: Final = 60
_AT_ONCE: Final = 16
_LONGEST_S: Final = 60.0


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Any]]]:
    """Name of every probe of this run to the real client's answer."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore", DeprecationWarning)
    cluster = MockCluster()
    producer = Producer({"bootstrap.servers": cluster.address, "linger.ms": 0, "log_level": 0})
    wanted = [item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield {
            name: pool.submit(lambda name=name: answer(PROBES[name], RealWorld(name, cluster, producer)))
            for name in PROBES
            if name in wanted
        }
    producer.flush(1)
    cluster.close()


@pytest.mark.parametrize("name", PROBES)
def test_the_double_answers_as_kafka_python(name: str, real: dict[str, Future[Any]]) -> None:
    expected = answer(PROBES[name], DoubleWorld(name))
    assert expected == answered(expected, lambda: real[name].result(_LONGEST_S), lambda: _alone(name))


def _alone(name: str) -> Any:
    """The real client's answer on a cluster of its own."""
    cluster = MockCluster()
    try:
        writer = Producer({"bootstrap.servers": cluster.address, "linger.ms": 0, "log_level": 0})
        return answer(PROBES[name], RealWorld(name, cluster, writer))
    finally:
        cluster.close()


def test_the_whole_surface_is_probed() -> None:
    assert len(PROBES) >= _LEAST_PROBES
