"""What kind of answer an exercise asks for, and one plain line where a reader's answer is of another kind."""

import copy
import inspect
import reprlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

R = TypeVar("R")
_LONGEST_LINE = 200


class Open(Exception):  # noqa: N818
    """A function of the reader's is still to be written."""


class Misfit(Exception):  # noqa: N818
    """An answer, or what the reader's function gives, is not what is asked for; the text says in a line what is."""


@dataclass(frozen=True, slots=True)
class Kind:
    """``asked``: in words, with an article; ``fits``: whether a value is of this kind, for any value at all."""

    asked: str
    fits: Callable[[object], bool]

    def demand(self, value: object, so_far: str = "") -> None:
        """Raises `Misfit` for a value of another kind; ``so_far`` says where it came from."""
        if not self.fits(value):
            found = so_far or f"This is {_told(value)}."
            raise Misfit(f"{found} {self.asked[0].upper()}{self.asked[1:]} is asked for.")


class Exercise(NamedTuple):
    """``hint``: from an answer of this kind to a hint, None where it is right; ``why``: what to say then."""

    kind: Kind
    hint: Callable[[Any], str | None]
    why: str


def is_whole(value: object, least: float = float("-inf"), most: float = float("inf")) -> bool:
    """A whole number (True and False are none) within these bounds."""
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most


def is_text(value: object) -> bool:
    return isinstance(value, str)


def whole(asked: str = "a whole number", least: float = float("-inf"), most: float = float("inf")) -> Kind:
    return Kind(asked, lambda value: is_whole(value, least, most))


def number(asked: str = "a number") -> Kind:
    return Kind(asked, lambda value: isinstance(value, Real) and not isinstance(value, bool))


def several(asked: str, fits: Callable[[object], bool]) -> Kind:
    """A list, set, tuple or the like whose elements fit; a text and a mapping are none."""
    return Kind(asked, lambda value: is_several(value, fits))


def is_several(value: object, fits: Callable[[object], bool]) -> bool:
    if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
        return False
    return all(fits(each) for each in value)


def mapping(asked: str, fits: Callable[[object], bool]) -> Kind:
    """A mapping from texts to values that fit."""
    return Kind(
        asked, lambda value: isinstance(value, Mapping) and all(is_text(key) and fits(value[key]) for key in value)
    )


EVENTS = several(
    'a list of events, such as [{"at": "30s", "leave": "c2"}],',
    lambda event: isinstance(event, Mapping) and all(is_text(field) for field in event),
)
"""As a scenario has them."""


TOPICS = mapping(
    "a mapping from each topic to its number of queues, from 1 to 1000,",
    lambda queues: is_whole(queues, least=1, most=1000),
)


def function(*arguments: str) -> Kind:
    """A function that can be called with these."""
    return Kind(f"a function that takes {' and '.join(arguments)}", lambda value: _takes(value, len(arguments)))


def called(answer: Callable[..., R], *arguments: object, gives: Kind) -> R:
    """What the reader's function makes of these. `Open` where it is still to be written; `Misfit` where it raises or
    returns something of another kind."""
    given = ", ".join(reprlib.repr(argument) for argument in arguments)
    found = lived_through(lambda: answer(*copy.deepcopy(arguments)), f"With {given} it")
    gives.demand(found, f"With {given} it returns {_told(found)}.")
    return found


def lived_through(code: Callable[[], R], who: str) -> R:
    """What the reader's code returns, whatever that is; `Open` and `Misfit` as in `called`."""
    try:
        found = code()
    except Exception as error:
        raise Misfit(f"{who} raises {type(error).__name__}: {first_line(error)}") from None
    if found is ...:
        raise Open
    return found


def first_line(error: Exception) -> str:
    """The first line that an error's text has, not too long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return "without a text"
    return lines[0] if len(lines[0]) <= _LONGEST_LINE else f"{lines[0][:_LONGEST_LINE]} ..."


def _takes(value: object, count: int) -> bool:
    if not callable(value):
        return False
    try:
        inspect.signature(value).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        return True  # one of Python's own that does not tell
    return True


def _told(value: object) -> str:
    if callable(value):
        return "a function" if inspect.isroutine(value) else f"something of type {type(value).__name__}"
    shown = " ".join(reprlib.repr(value).split())
    return f"something of type {type(value).__name__}" if shown.startswith("<") else shown
