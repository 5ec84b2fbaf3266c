"""What is recorded, kept in its file while clients are served, so that it survives whatever ends the process.

A forked child writes it, of what was there when it was forked: the clients of this process do not wait for it.
"""

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

LOG = logging.getLogger("equipoise.serving")

EVERY_S = 2.0
_SHARE = 10
"""A child that takes long comes so many times its time later again."""
_FIRST_FILE = 3
"""Number of the first file that is no standard stream."""


class Keeper:
    """Lets ``write`` write a file every few seconds, in a child process, where ``state`` says another thing than at the
    last time. To be made in a running event loop; nothing happens where the system has no fork."""

    def __init__(self, write: Callable[[], None], state: Callable[[], object]) -> None:
        self._write, self._state = write, state
        self._loop = asyncio.get_running_loop()
        self._last: object = None
        self._child = 0
        self._began = self._not_before = 0.0
        self._timer = self._loop.call_later(EVERY_S, self._look) if hasattr(os, "fork") else None

    def close(self) -> None:
        """Nothing is written any more when this returns."""
        if self._timer is not None:
            self._timer.cancel()
        if self._child:
            os.waitpid(self._child, 0)
            self._child = 0

    def _look(self) -> None:
        self._timer = self._loop.call_later(EVERY_S, self._look)
        now = self._loop.time()
        if self._child:
            ended, status = os.waitpid(self._child, os.WNOHANG)
            if not ended:
                return
            self._child = 0
            self._not_before = now + _SHARE * (now - self._began - EVERY_S)
            if status:
                LOG.warning("--record: what was recorded until now could not be kept")
        state = self._state()
        if state == self._last or now < self._not_before:
            return
        self._last, self._began = state, now
        self._child = os.fork() or self._in_child()

    def _in_child(self) -> int:
        """Write, and end: without the sockets, the signals and the cleaning up of the process that serves."""
        status = 1
        try:
            gc.disable()  # what it would free may belong to threads that are not here
            signal.set_wakeup_fd(-1)
            for each in (signal.SIGINT, signal.SIGTERM):
                signal.signal(each, signal.SIG_IGN)  # it ends by itself, and leaves no half file
            os.closerange(_FIRST_FILE, os.sysconf("SC_OPEN_MAX"))
            self._write()
            status = 0
        finally:
            os._exit(status)


def can_be_kept(path: Path) -> bool:
    """Whether the file may be written again and again: not a pipe or a device."""
    return path.is_file() or not path.exists()
