"""How far runs are that are under way, here or in other processes: the share of their simulated time that has passed.

Whoever runs a simulation cannot be asked meanwhile, and stopping it now and then would change what it does next to
quiet time. So a thread beside it reads its clock, which changes nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

Clock = Callable[[], float]
"""The share of a run's simulated time that has passed, 0 to 1."""

LOOKS_EVERY_S = 0.5


class Reached:
    """Of the runs of several packs, whichever process has them."""

    def __init__(self, packs: int) -> None:
        from multiprocessing.sharedctypes import RawArray

        self._runs = RawArray("d", packs)

    @property
    def runs(self) -> float:
        """Runs of packs that are under way, those that are finished and the shares of the others."""
        return float(sum(self._runs))

    def is_done(self, pack: int) -> None:
        """The results of the pack are there: others count its runs."""
        self._runs[pack] = 0.0

    @contextmanager
    def following(self, pack: int) -> Iterator[Callable[[Clock], None]]:
        """Hands out a function that is told the clock of each run of the pack as it begins. Clocks of earlier runs are
        let go: with each goes all that its run has left behind."""
        latest: tuple[int, Clock] = -1, lambda: 1.0
        ended = Event()

        def begins(clock: Clock) -> None:
            nonlocal latest
            latest = latest[0] + 1, clock

        def look() -> None:
            while not ended.wait(LOOKS_EVERY_S):
                before, clock = latest
                self._runs[pack] = before + clock()

        thread = Thread(target=look, name="follow-the-clock", daemon=True)
        thread.start()
        try:
            yield begins
        finally:
            ended.set()
            thread.join()
