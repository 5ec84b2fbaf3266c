"""Processes that work side by side, and end with us: by an error, Ctrl-C, SIGTERM, and our death by whatever else.

The standard library's executor leaves workers behind when its owner is killed, and pickles the whole work with each
task. Here every worker is given the work once and watches for our end.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, parent_process
from multiprocessing.connection import wait
from typing import Any

from protocols.errors import UserError

_work: Callable[[Any], object]
"""In a worker: what `worked` calls."""


@contextmanager
def process_pool(workers: int, work: Callable[[Any], object] = bool) -> Iterator[ProcessPoolExecutor]:
    """An executor with so many processes, each of which is given ``work`` once. What is submitted (`worked`) should be
    small: what a pipe does not hold is waited for, though its reader has ended.

    Where the block is left early (an error, Ctrl-C), they end at once, whatever they are at; nobody would wait for the
    rest of a long run that nobody wants any more. `UserError` where one of them was ended from outside, for want of
    memory as a rule."""
    others = set(active_children())
    executor = ProcessPoolExecutor(workers, initializer=_belong_to_us, initargs=(work,))
    try:
        yield executor
    except BaseException as error:
        for child in set(active_children()) - others:
            child.terminate()
        if isinstance(error, BrokenProcessPool):
            killed = f"one of {workers} parallel processes was killed, expected enough memory for all of them"
            raise UserError(killed) from None
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def worked(given: Any) -> Any:
    """In a worker: what its ``work`` makes of it."""
    return _work(given)


def _belong_to_us(work: Callable[[Any], object]) -> None:
    global _work
    _work = work
    # A terminal's Ctrl-C reaches every process; one that takes it for the failure of a run goes on with the next.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()


def _end_with_parent() -> None:
    """A process that waits for work never hears of its parent's death: its siblings hold the same pipe open."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
