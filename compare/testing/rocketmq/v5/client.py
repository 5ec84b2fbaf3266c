"""What producers and consumers of the 5.x client have in common."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import ClassVar, TypeVar

from compare.testing.rocketmq.naming import OfGroup
from compare.testing.rocketmq.v5.doubles import NAME
from compare.testing.rocketmq.v5.types import illegal_argument
from protocols.engine.randomness import digest
from protocols.java import Queue

R = TypeVar("R")


class Client:
    """A client that is started and shut down."""

    clients: ClassVar[OfGroup]
    """Whose class this is."""
    kind: ClassVar[str] = ""

    def __init__(self, client_configuration: object, topics: Iterable[str] | None) -> None:
        if client_configuration is None:
            raise illegal_argument("clientConfiguration should not be null.")
        self.client_configuration = client_configuration
        self.topics = {topic for topic in topics or () if NAME.match(topic)}
        self.is_running = False
        self._had_shutdown = False
        self.client_id = f"equipoise@{digest(self.kind, self.clients.naming.count(), size=6).hex()}"

    def __str__(self) -> str:
        return f"{self.kind}, client_id:{self.client_id}"

    def startup(self) -> None:
        """Start; nothing happens where it runs already."""
        if self._had_shutdown:
            raise Exception(f"{self} had shutdown, can't startup again.")
        self._start()
        self.is_running = True

    def _start(self) -> None:
        """What else happens then."""

    def shutdown(self) -> None:
        """Stop for good; nothing happens where it does not run."""
        if self.is_running:
            self._stop()
            self.topics.clear()
            self._had_shutdown, self.is_running = True, False

    def _stop(self) -> None:
        """What else happens then."""

    def _route(self, topic: str) -> Sequence[Queue]:
        """The topic's queues."""
        queues = self.clients.group.popping.queues(topic)
        if not queues:
            raise Exception(f"failed to fetch topic:{topic} route.")
        self.topics.add(topic)
        return queues


def completed(call: Callable[[], R]) -> Future[R]:
    """A future that is done: virtual time passes only in calls, so that the call is made at once."""
    future: Future[R] = Future()
    try:
        future.set_result(call())
    except Exception as error:
        future.set_exception(error)
    return future
