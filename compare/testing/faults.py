"""Errors that end a test whoever catches them: those inside our own code, and those of the test itself.

User's code stands between two of our frames: a listener that a double calls may call a group's method, a callback of
poll() may fail a test's assertion. Code under test catches exceptions, and so does RocketMQ's client around a listener.
A fault that is caught there would make a test green that has tested nothing, or give records again to correct code.
"""

import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dis import opmap
from operator import index
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final, TypeVar, cast

from protocols.errors import UserError

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])

_DOUBLES: Final = str(Path(__file__).parent)
_HOME: Final = Path(__file__).parents[2]
_OURS: Final = tuple(
    f"{_HOME / name}/" for name in ("compare", "equipoise", "kafka_coordinator", "protocols", "rocketmq_selfbalance")
)
_LIBRARIES: Final = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_RAISE: Final = opmap["RAISE_VARARGS"]
_NOTE: Final = "This is an error inside Equipoise, not of the code under test; please report it."

PENDING: Final[list[BaseException]] = []
"""Faults that the user's code may have caught; the next assertion, or the end of the test, raises the first."""


class NothingCame(RuntimeError):  # noqa: N818 - as `Crashed` and `TimeIsUp`
    """A call without a timeout waits for a record that never comes."""


_OF_USER: Final[set[CodeType]] = set()


def calls_user(function: F) -> F:
    """The function calls the user's code: what that raises is its own, whatever it is made of (a mock, a function in
    C)."""
    _OF_USER.add(cast(FunctionType, function).__code__)
    return function


@calls_user
def of_user(call: Callable[..., R], *arguments: object) -> R:
    """Call the user's code."""
    with _standing_in(True):
        return call(*arguments)


def of_test(call: Callable[[], R]) -> R:
    """Call what the test wants to happen: what it raises is a fault of the test, not one for the code under test."""
    with _standing_in(False):
        return call()


_CALLS: Final[list[bool]] = []
"""Calls that go on: whether each is one of the user's code."""


@contextmanager
def _standing_in(of_users: bool) -> Iterator[None]:
    _CALLS.append(of_users)
    try:
        yield
    finally:
        _CALLS.pop()


def may_be_caught() -> bool:
    """Whether the user's code goes on, which may catch what is raised into it."""
    return bool(_CALLS and _CALLS[-1])


def is_fault(error: BaseException) -> bool:
    """Whether the user's code must not live on with this: an assertion has failed, the test has misused this package,
    or the error has happened to our own code or to the test."""
    return isinstance(error, AssertionError | UserError | NothingCame) or is_inner(error)


def is_inner(error: BaseException) -> bool:
    """Whether the error has happened to our own code or to the test: where the frames of both end, and no ``raise``
    statement of a double, or of the test, says that the code under test is to get it. Ours is told to be ours."""
    step, ours, tested, is_meant = error.__traceback__, False, False, False
    while step is not None:
        code = step.tb_frame.f_code
        is_raised = code.co_code[step.tb_lasti] == _RAISE and not isinstance(error, AssertionError)
        if code in _OF_USER or code is of_test.__code__:
            ours, tested = False, code is of_test.__code__
        elif code.co_filename.startswith(_OURS):
            ours = True
            is_meant = is_raised and code.co_filename.startswith(_DOUBLES)
        else:
            ours = ours and code.co_filename.startswith(_LIBRARIES)
            is_meant = is_raised and not ours
        step = step.tb_next
    found = isinstance(error, Exception) and (tested or ours) and not is_meant
    if found and ours and not isinstance(error, UserError) and _NOTE not in getattr(error, "__notes__", ()):
        error.add_note(_NOTE)
    return found


@contextmanager
def as_the_client() -> Iterator[None]:
    """An argument that Python refuses in this block is refused alike by the client that a double stands for."""
    try:
        yield
    except (TypeError, AttributeError) as error:
        raise type(error)(*error.args) from None


def whole(given: object) -> int:
    """A whole number; `TypeError` for anything else."""
    with as_the_client():
        return index(given)  # type: ignore[arg-type]


def note(error: BaseException) -> None:
    """Keep a fault that somebody may catch."""
    if all(error is not each for each in PENDING):
        PENDING.append(error)


def raise_pending() -> None:
    """Raise the first fault that was kept, if there is any; all are told then."""
    if PENDING:
        error = PENDING[0]
        PENDING.clear()
        raise error
