"""Answers that a reader sees only after a click: the output of a cell, folded.

An HTML ``<details>`` is folded wherever a notebook is shown; how a cell's metadata asks for that differs from one
program to the next, and some ignore it.
"""

import sys
from base64 import b64encode
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from types import TracebackType
from typing import Final

from compare.showing.pictures.charts import Picture

_SUMMARY: Final = "The answer (open it when you have written down your prediction)"


class Folded:
    """Texts and pictures, one below the other. As a context it folds what is printed inside."""

    def __init__(self, *parts: str | Picture) -> None:
        self._parts = parts
        self._printed = StringIO()
        self._redirected: redirect_stdout[StringIO] | None = None

    def __enter__(self) -> None:
        self._redirected = redirect_stdout(self._printed)
        self._redirected.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        assert self._redirected is not None
        self._redirected.__exit__(kind, error, where)
        self._parts = (*self._parts, self._printed.getvalue().rstrip("\n"))
        # As a cell shows its last value: Jupyter by the richest form, plain Python by its words.
        sys.displayhook(self)

    def _repr_html_(self) -> str:
        shown = "\n".join(map(_html, self._parts))
        return f"<details>\n<summary>{_SUMMARY}</summary>\n{shown}\n</details>"

    def __repr__(self) -> str:
        return "\n".join(map(str, self._parts))


def folded(*parts: str | Picture) -> Folded:
    """Fold these texts and pictures; ``with folded():`` folds what is printed."""
    return Folded(*parts)


def _html(part: str | Picture) -> str:
    """An image rather than SVG inside of the page, which viewers remove; its words stand in where they remove both."""
    if isinstance(part, Picture):
        data = b64encode(part.svg.encode()).decode("ascii")
        return f'<img alt="{escape(part.words)}" src="data:image/svg+xml;base64,{data}"/>'
    return f"<pre>{escape(part)}</pre>"
