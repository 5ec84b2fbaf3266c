"""How the user's code is stopped, and that it does not live on: what stops it may be swallowed once, not for ever.

A loop with a bare ``except:`` catches everything that is raised into it. At its next call a trace function is set on
its frames, which raises again on the line that catches, and so out of whatever surrounds the call.
"""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType


class Crashed(BaseException):
    """Raised out of a consumer's call when its process was killed: nothing of the user's code runs any more.
    No `Exception`, so that code which catches those does not live on."""


class TimeIsUp(BaseException):
    """Raised out of a consumer's call when the time of `Group.run` is over; the consumer can still be closed."""


class Swallowed(BaseException):
    """The user's code has swallowed what stopped it, and has called again. `Group.run` makes an `AssertionError` of
    it."""


OURS = (str(Path(__file__).parent), contextlib.__file__)
"""Files of which no line is the user's."""
CLEANING_UP = 50
"""So many calls, other than those that read, the code may make once its time is up, to close what it has opened."""

CALLS_OF_CLOSED = 1000
"""So often in a row the code may call a consumer that is closed."""

_TRIES = 1000

Trace = Callable[[FrameType, str, object], object]


class Stopping:
    """What was raised out of the calls of one run of the user's code; ``base``: the frame that runs it."""

    def __init__(self, base: FrameType) -> None:
        self._base = base
        self.stop: BaseException | None = None
        self._member = ""
        self._calls = 0
        self._of_closed = 0
        self._tries = 0
        self._before: object = None
        self._traced: list[FrameType] = []

    def raised(self, error: BaseException, member: str) -> None:
        """This ends the user's code."""
        self.stop, self._member, self._calls = error, member, 0

    def check(self, member: str, *, reads: bool) -> None:
        """The code calls again: raise `Swallowed` where it ought to have ended."""
        stop = self.stop
        self._of_closed = 0
        if stop is None or _is_handled(stop) or (isinstance(stop, Crashed) and member != self._member):
            return
        self._calls += 1
        if isinstance(stop, TimeIsUp) and not reads and self._calls < CLEANING_UP:
            return
        self._throw()

    def closed(self, member: str, error: BaseException) -> None:
        """A call of a consumer that is closed was refused."""
        self._of_closed += 1
        if self._of_closed >= CALLS_OF_CLOSED:
            self.stop, self._member = error, member
            self._throw()

    def _throw(self) -> None:
        """Raise `Swallowed` out of the user's code, whatever it catches: the trace function raises it anew on the line
        that comes next; where an outer block catches that, too, the next try raises it a line later."""
        if not self._traced:
            self._before = sys.gettrace()
        told = self._told("")
        error, skip = Swallowed(told), self._tries
        self._tries += 1
        if self._tries > _TRIES:
            raise error

        def trace(frame: FrameType, event: str, given: object) -> Trace:
            nonlocal skip
            if event == "line":
                if skip == 0:
                    place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                    error.args = (self._told(f" at {place}, in {frame.f_code.co_name}()"),)
                    raise error
                skip -= 1
            return trace

        for frame in self._frames():
            frame.f_trace, frame.f_trace_lines = trace, True
            self._traced.append(frame)
        sys.settrace(lambda frame, event, given: None)
        raise error

    def _frames(self) -> list[FrameType]:
        """Those of the user's code, from the innermost on."""
        frame_types: list[FrameType] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame is not self._base:
            if not frame.f_code.co_filename.startswith(OURS):
                frame_types.append(frame)
            frame = frame.f_back
        return frame_types

    def _told(self, where: str) -> str:
        """What was swallowed, where, and what would be right."""
        stop = self.stop
        what = f"{type(stop).__name__}: {stop}" if str(stop) else type(stop).__name__
        why = "a process that has ended does not" if isinstance(stop, Crashed | TimeIsUp) else "it would for ever"
        return (
            f"{what}; the code of {self._member} catches this{where} and goes on: {why};"
            " expected code that catches only what it can deal with"
        )

    def over(self) -> None:
        """The code has ended: tracing does, too."""
        if self._traced:
            sys.settrace(self._before)  # type: ignore[arg-type]
            for frame in self._traced:
                frame.f_trace = None
            self._traced = []


def _is_handled(stop: BaseException) -> bool:
    """Whether the code cleans up while this is on its way out."""
    error = sys.exception()
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if error is stop:
            return True
        seen.add(id(error))
        error = error.__context__
    return False
