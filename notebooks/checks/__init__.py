"""Checks of the exercises: right or not, with a hint, without showing how it is done.

What is right is computed by the engine or tried out, and written down nowhere.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_NOTEBOOKS = {
    "1": "groups",
    "2": "kafka",
    "3": "rocketmq",
    "4": "strategies",
    "5": "progress",
    "6": "fairness",
    "7": "production",
    "8": "million",
    "9": "own_consumer",
}
"""Number of a notebook to the module with its exercises."""


class Open(Exception):  # noqa: N818
    """Raised by a check that finds a function of the reader's still to be written."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check says; ``right`` is None while there is no answer yet."""

    right: bool | None
    text: str

    def __repr__(self) -> str:
        return self.text


def check(exercise: str, answer: Any) -> Verdict:
    """Check an answer; ``exercise`` is its number, such as ``"1.2"``. ``...`` stands for no answer yet."""
    if answer is ...:
        return Verdict(None, f"Exercise {exercise} is open: put your answer in place of the three dots.")
    module = import_module(f"checks.{_NOTEBOOKS[exercise.split('.')[0]]}")
    hint_for: Callable[[Any], str | None]
    hint_for, why = module.EXERCISES[exercise]
    try:
        hint = hint_for(answer)
    except Open:
        return Verdict(None, f"Exercise {exercise} is open: write the function.")
    except Exception as error:
        # The reader's own code or value: whatever it does wrong, the reader is told and may go on.
        return Verdict(False, f"Exercise {exercise}: not yet. {type(error).__name__}: {error}")
    if hint is None:
        return Verdict(True, f"Exercise {exercise}: right. {why}")
    return Verdict(False, f"Exercise {exercise}: not yet. {hint}")
