"""Programs of `examples/classic-bugs` with the real client, on librdkafka's mock cluster: a process that ends without
a commit, and a second one, lose and repeat the same records as the double's stories tell."""

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from compare.testing import kafka_group
from tests.compare.testing.differential.worlds import MockCluster

SHOP = Path(__file__).parents[4] / "examples" / "classic-bugs"
RECORDS, KILLED_AT = 12, 7
"""Of one partition; and the record at which the first process ends."""


class Killed(BaseException):
    """The process ends here: nothing more of it runs."""


class Bounded:
    """A real consumer whose program ends when no record came for a while; ``stop_before``: the program is killed before
    the commit with this number."""

    def __init__(self, consumer: Any, stop_before: int = 0) -> None:
        self._consumer, self._commits, self._stop_before = consumer, 0, stop_before
        self._until = time.monotonic() + 10

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def poll(self, timeout: float) -> Any:
        message = self._consumer.poll(0.2)
        if message is not None and not message.error():
            self._until = time.monotonic() + 1
        if time.monotonic() > self._until:
            raise Killed
        return message

    def commit(self, *args: Any, **kwargs: Any) -> Any:
        self._commits += 1
        if self._commits == self._stop_before:
            raise Killed
        return self._consumer.commit(*args, **kwargs)


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    made = MockCluster()
    yield made
    made.close()


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    monkeypatch.syspath_prepend(str(SHOP))
    yield lambda name: importlib.import_module(f"shop.{name}")
    for name in [each for each in sys.modules if each.partition(".")[0] == "shop"]:
        del sys.modules[name]


def _real(cluster: MockCluster, name: str, program: Any, config: dict[str, Any], how: str) -> list[int]:
    """The offsets that two real processes have handled, one after the other; the first is killed at `KILLED_AT`."""
    cluster.create_topic(name, 1)
    producer = Producer({"bootstrap.servers": cluster.address})
    for _ in range(RECORDS):
        producer.produce(name, b"order", partition=0)
    producer.flush(10)
    handled: list[int] = []
    begun = 0

    def handle(message: Any) -> None:
        if how == "in the handler" and message.offset() == KILLED_AT and begun == 1:
            raise Killed
        handled.append(message.offset())

    for number in (1, 2):
        given = {**config, "bootstrap.servers": cluster.address, "group.id": name, "session.timeout.ms": 6000}
        consumer = Consumer(given)
        begun = number
        subscribe = consumer.subscribe
        stop = KILLED_AT + 1 if how == "before the commit" and number == 1 else 0
        bounded = Bounded(consumer, stop)
        bounded.subscribe = lambda topics, subscribe=subscribe, **more: subscribe([name], **more)  # type: ignore[attr-defined]
        try:
            program(bounded, handle)
        except Killed:
            consumer.close()  # without a commit; its threads would go on with their heartbeats else
    return handled


def _double(program: Any, config: dict[str, Any], how: str) -> list[int]:
    """The same with the double."""
    group = kafka_group(topics={"orders": 1}, produce=0).produce("orders", RECORDS)
    handled: list[int] = []

    def handle(message: Any) -> None:
        if how == "in the handler" and message.offset() == KILLED_AT and message.handed_to == "c1":
            raise Killed
        handled.append(message.offset())
        if how == "before the commit" and message.offset() == KILLED_AT and message.handed_to == "c1":
            group.interrupt(lambda: group.crash("c1"), before_call=1)

    for member in ("c1", "c2"):
        consumer = group.consumer(member, config)
        try:
            group.run(lambda consumer=consumer: program(consumer, handle), seconds=120)  # type: ignore[misc]
        except Killed:
            group.crash(member)
    return handled


@pytest.mark.parametrize(
    ("version", "how"), [("buggy", "in the handler"), ("mended", "in the handler"), ("mended", "before the commit")]
)
def test_commits_before_or_after_handling(
    cluster: MockCluster, shop: Callable[[str], Any], version: str, how: str
) -> None:
    module = shop("commit_before_handling")
    program = getattr(module, version)
    name = f"{version}-{how.split()[0]}"
    real = _real(cluster, name, program, module.CONFIG, how)
    assert real == _double(program, module.CONFIG, how)
    lost, twice = set(range(RECORDS)) - set(real), len(real) - len(set(real))
    expected = ({KILLED_AT}, 0) if version == "buggy" else (set(), 1 if how == "before the commit" else 0)
    assert (lost, twice) == expected


@pytest.mark.parametrize("version", ["buggy", "mended"])
def test_a_position_that_is_said_in_on_assign(cluster: MockCluster, shop: Callable[[str], Any], version: str) -> None:
    module = shop("seek_in_the_wrong_callback")
    runs = []
    for judge in ("real", "double"):
        offsets: dict[int, int] = {}

        def program(consumer: Any, handle: Any, offsets: dict[int, int] = offsets) -> None:
            getattr(module, version)(consumer, handle, offsets)

        if judge == "real":
            runs.append(_real(cluster, f"seek-{version}", program, module.CONFIG, "in the handler"))
        else:
            runs.append(_double(program, module.CONFIG, "in the handler"))
    assert runs[0] == runs[1]
    assert len(runs[0]) - len(set(runs[0])) == (KILLED_AT if version == "buggy" else 0)
