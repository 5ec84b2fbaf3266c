"""SIGTERM, taken like Ctrl-C: what is finished is told, what was started ends, and the exit code says who ended us."""

import os
import signal
import threading
from types import FrameType

EXIT_CODE = 128 + signal.SIGTERM
"""What shells report of a command that SIGTERM ended."""


class Terminated(KeyboardInterrupt):
    """SIGTERM has come. Whoever tells what is finished after Ctrl-C does so now."""


def hear_sigterm() -> None:
    """From now on SIGTERM raises `Terminated` in the main thread; a second one ends the process at once.

    Nothing changes where SIGTERM is ignored or somebody else's already.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        started_by = os.getpid()

        def end(number: int, frame: FrameType | None) -> None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if os.getpid() != started_by:
                # A child that was forked and does not listen for itself yet has nothing to tell.
                os._exit(EXIT_CODE)
            raise Terminated

        signal.signal(signal.SIGTERM, end)
