"""Checks of the exercises: right or not, with a hint, without showing how it is done.

What is right is computed by the engine or tried out, and written down nowhere.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compare.lessons.checks.kinds import Exercise, Misfit, Open, first_line
from protocols import UserError
from protocols.named_modules import lazy_names

if TYPE_CHECKING:
    from compare.lessons.checks import living, million, own_consumer, sharing, without_owners

__getattr__ = lazy_names(__name__)

_NOTEBOOKS = {
    "1": "sharing",
    "2": "living",
    "3": "sharing",
    "4": "sharing",
    "5": "living",
    "6": "sharing",
    "7": "living",
    "8": "million",
    "9": "own_consumer",
    "10": "without_owners",
}
"""Number of a notebook to the module with its exercises."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check says; ``right`` is None while there is no answer yet."""

    right: bool | None
    text: str

    def __repr__(self) -> str:
        return self.text


def check(exercise: str, answer: object) -> Verdict:
    """Check an answer; ``exercise`` is its number, such as ``"1.2"``. ``...`` stands for no answer yet.

    Whatever is wrong with an answer, the reader is told in a line and may go on.
    """
    exercises = _of_notebook(exercise)
    if exercise not in exercises:
        there = ", ".join(map(repr, exercises)) or f"'1.1' to '{len(_NOTEBOOKS)}.2'"
        return Verdict(False, f"There is no exercise {exercise!r}, expected one of {there}.")
    if answer is ...:
        return Verdict(None, f"Exercise {exercise} is open: put your answer in place of the three dots.")
    kind, hint_for, why = exercises[exercise]
    try:
        kind.demand(answer)
        hint = hint_for(answer)
    except Open:
        return Verdict(None, f"Exercise {exercise} is open: write the function.")
    except Misfit as misfit:
        hint = str(misfit)
    except UserError as error:
        hint = f"That cannot be: {first_line(error)}"
    if hint is None:
        return Verdict(True, f"Exercise {exercise}: right. {why}")
    return Verdict(False, f"Exercise {exercise}: not yet. {hint}")


def _of_notebook(exercise: object) -> Mapping[str, Exercise]:
    """The exercises of the notebook to which this one belongs; none where there is no such notebook."""
    notebook = str(exercise).split(".")[0]
    if notebook not in _NOTEBOOKS:
        return {}
    exercises: Mapping[str, Exercise] = getattr(sys.modules[__name__], _NOTEBOOKS[notebook]).EXERCISES
    return {number: exercise for number, exercise in exercises.items() if number.startswith(f"{notebook}.")}
