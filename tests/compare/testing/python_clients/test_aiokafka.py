"""The double of AIOKafkaConsumer answers as aiokafka does, on librdkafka's own mock cluster.

Both answer in this run; nothing is recorded. The real probes wait for each other in one event loop.
"""

import asyncio
import logging
from typing import Any, Final

import pytest
from confluent_kafka import Producer

pytest.importorskip("aiokafka")

from tests.compare.testing.differential.again import answered
from tests.compare.testing.differential.mock_cluster import MockCluster
from tests.compare.testing.python_clients.aio_probes import PROBES
from tests.compare.testing.python_clients.aio_worlds import DoubleWorld, RealWorld, answer

_LEAST_PROBES: Final = 60
_AT_ONCE: Final = 60
_LONGEST: Final = "too-slow"
_TOO_BUSY: Final = ("raises", "TimeoutError", "")


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Name of every probe of this run to the real client's answer."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    wanted = [item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")]
    found = _asked(sorted((name for name in PROBES if name in wanted), key=lambda name: name != _LONGEST), _AT_ONCE)
    again = [name for name, answered in found.items() if answered == _TOO_BUSY]
    return {**found, **_asked(again, 4)}


def _asked(names: list[str], at_once: int) -> dict[str, Any]:
    """The real client's answers, on a cluster of their own."""
    cluster = MockCluster()
    producer = Producer({"bootstrap.servers": cluster.address, "linger.ms": 0, "log_level": 0})

    async def ask() -> dict[str, Any]:
        turns = asyncio.Semaphore(at_once)

        async def one(name: str) -> tuple[str, Any]:
            async with turns:
                return name, await answer(PROBES[name], RealWorld(name, cluster, producer))

        return dict(await asyncio.gather(*[one(name) for name in names]))

    found = asyncio.run(ask())
    producer.flush(1)
    cluster.close()
    return found


@pytest.mark.parametrize("name", PROBES)
def test_the_double_answers_as_aiokafka(name: str, real: dict[str, Any]) -> None:
    world = DoubleWorld(name)
    expected = world.group.run(answer(PROBES[name], world))
    assert expected == answered(expected, lambda: real[name], lambda: _asked([name], 1)[name])


def test_the_whole_surface_is_probed() -> None:
    assert len(PROBES) >= _LEAST_PROBES
