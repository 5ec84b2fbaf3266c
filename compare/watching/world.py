"""The outside of `watch`: the clock, the threads in which clusters are read, and the signals that end it."""

import os
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

from compare.reading.gather import Gathered
from compare.reading.observed import Skipped
from compare.watching.polling import Failure, Listener, Source, Watch
from protocols import UserError

Read = Callable[[Source], Gathered]
"""Reads a cluster, which may take its time."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A cluster that has been read; ``began``: seconds since 1970."""

    source: Source
    began: float
    gathered: Gathered


class World(Protocol):
    """What the loop needs."""

    @property
    def is_stopped(self) -> bool:
        """Whether somebody wants it to end."""

    def now(self) -> float:
        """Seconds since 1970."""

    def begin(self, source: Source) -> None:
        """Read the cluster; `wait` hands out the result."""

    def wait(self, until: float | None) -> Sequence[Finished]:
        """What has been read, as soon as there is something; nothing at the time ``until``, and when it is to end."""


def run(watch: Watch, world: World, listeners: Sequence[Listener]) -> None:
    """Poll until all polls are done or the world is stopped. What was read before is told to every listener whole."""
    while not world.is_stopped and not watch.is_finished:
        for source in watch.due(world.now()):
            world.begin(source)
        for each in world.wait(watch.next_due()):
            found = watch.took(each.source, each.began, world.now(), each.gathered)
            for listener in listeners:
                if isinstance(found, Failure):
                    listener.failed(found)
                else:
                    listener.polled(found)


class RealWorld:
    """The machine's clock; each cluster is read in a thread of its own, so that a silent one keeps no other waiting.

    The main thread sleeps on a pipe that threads and signals write to: a signal ends the sleep at once.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._finished: deque[Finished] = deque()
        self._ear, self._bell = os.pipe()
        os.set_blocking(self._ear, False)
        os.set_blocking(self._bell, False)
        self._is_stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether Ctrl-C or SIGTERM came."""
        return self._is_stopped

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def begin(self, source: Source) -> None:
        """Read the cluster in a thread."""
        threading.Thread(target=self._work, args=(source,), name=f"read {source.name}", daemon=True).start()

    def wait(self, until: float | None) -> Sequence[Finished]:
        """See `World`."""
        left = None if until is None else max(0.0, until - self.now())
        if not self._finished and not self._is_stopped:
            select.select([self._ear], [], [], left)
        with suppress(BlockingIOError):
            while os.read(self._ear, 512):
                pass
        return [self._finished.popleft() for _ in range(len(self._finished))]

    def stop(self) -> None:
        """End the watching; may be called by a signal."""
        self._is_stopped = True
        self._ring()

    @contextmanager
    def hearing_signals(self) -> Iterator[None]:
        """While the body runs, Ctrl-C and SIGTERM stop the world; the second one ends the process at once."""
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def hear(number: int, frame: FrameType | None) -> None:
            signal.signal(number, signal.SIG_DFL)
            self.stop()

        for number, there in before.items():
            if there is not signal.SIG_IGN:
                signal.signal(number, hear)
        try:
            yield
        finally:
            for number, there in before.items():
                signal.signal(number, there)

    def _work(self, source: Source) -> None:
        began = self.now()
        try:
            gathered = self._read(source)
        except UserError as error:
            gathered = _nothing(source, str(error))
        except Exception as error:  # a thread that ends silently would end the watching of its cluster
            gathered = _nothing(source, f"{type(error).__name__}: {error}")
        self._finished.append(Finished(source, began, gathered))
        self._ring()

    def _ring(self) -> None:
        with suppress(BlockingIOError):  # a full pipe rings already
            os.write(self._bell, b"!")


def _nothing(source: Source, why: str) -> Gathered:
    return Gathered((), (Skipped(source.name, None, why),), False)
