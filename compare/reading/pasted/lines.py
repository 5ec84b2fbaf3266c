"""Lines on their way from the file to the readers: the text may change, the place in the file does not."""

from collections.abc import Sequence
from typing import NamedTuple


class Line(NamedTuple):
    """A line's text, and the number (from 1) of the file's line that it begins in."""

    number: int
    text: str


Lines = Sequence[Line]
