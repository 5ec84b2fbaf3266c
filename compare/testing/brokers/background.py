"""A served cluster in a thread of its own, beside a test."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event as Flag
from threading import Thread
from typing import Literal, ParamSpec, TypeVar

from compare.serving.cluster import Served, start
from protocols.engine.interference import Hold, Interference, Matches
from protocols.engine.nodes import Time
from protocols.engine.turns import LoopThread
from protocols.scenario.events import BrokerEvent, Event

P = ParamSpec("P")
T = TypeVar("T")


class Background:
    """One cluster; it runs from here to `close`."""

    def __init__(
        self,
        system: str,
        brokers: Sequence[str] = (),
        topics: Mapping[str, Mapping[str, int]] = {},
        settings: Mapping[str, object] = {},
        port: int = 0,
        version: str | None = None,
    ) -> None:
        self._loop = LoopThread(f"equipoise-{system}")
        self._loop.__enter__()
        try:
            started = start(
                system,
                port=port,
                settings=settings,
                brokers=brokers or None,
                topics=topics,
                version=version,
            )
            self.served: Served = self._loop.run(started)
        except BaseException:
            self._loop.__exit__(None, None, None)
            raise
        self.interference = self.call(Interference, self.served.world)
        self._is_open = True

    @property
    def now(self) -> Time:
        """Milliseconds since the cluster began."""
        return self.call(self.served.world.tell_time)

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call it in the servers' thread."""
        return self._loop.call(function, *args, **kwargs)

    def apply(self, event: Event) -> None:
        """An event of servers or topics happens now."""
        self._loop.run(self.served.apply(event))

    @contextmanager
    def hold(self, matches: Matches, until: Flag | float | None) -> Generator[Hold, None, None]:
        """Keep matching requests from the servers: to the end of the ``with`` block, or until a `threading.Event` is
        set or so many seconds have passed."""
        rule, over = self.call(self.interference.hold, matches), Flag()

        def release() -> None:
            if isinstance(until, Flag):
                while not (until.wait(0.02) or over.is_set()):
                    pass
            else:
                over.wait(until)
            self.call(self.interference.release, rule)

        thread = None if until is None else Thread(target=release, daemon=True)
        if thread is not None:
            thread.start()
        try:
            yield rule
        finally:
            over.set()
            if thread is None:
                self.call(self.interference.release, rule)
            else:
                thread.join()

    def look(self) -> None:
        """Notice who has joined and left."""
        self.call(partial(self.served.history.look, self.served.world.now))

    def broker(self, name: str, does: Literal["stop", "kill", "return"]) -> None:
        """A broker stops, dies, or starts at its port."""
        self.apply(BrokerEvent(at=0.0, broker=name, does=does))

    def close(self, server: str) -> None:
        """End the servers and their thread; nothing happens where that is done already. Raises `AssertionError` where
        one of them (``server`` says what it is) failed: that is a fault of this package."""
        failures = list(self.served.world.failures)
        if self._is_open:
            self._is_open = False
            self._loop.run(self.served.world.close())
            self._loop.__exit__(None, None, None)
        if failures:
            raise AssertionError(f"{server} failed: {failures[0]!r}") from failures[0]
