"""Processes that work side by side, and end with us."""

import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children


@contextmanager
def side_by_side(workers: int) -> Iterator[ProcessPoolExecutor]:
    """An executor with so many processes. Where the block is left early (an error, Ctrl-C), they end at once, whatever
    they are at; nobody would wait for the rest of a long run that nobody wants any more."""
    others = set(active_children())
    executor = ProcessPoolExecutor(workers, initializer=_leave_interrupts_to_us)
    try:
        yield executor
    except BaseException:
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _leave_interrupts_to_us() -> None:
    """A terminal's Ctrl-C reaches every process; one that takes it for the failure of a run goes on with the next."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
