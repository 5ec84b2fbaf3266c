"""One case over a table: every row is tried, and the rows that fail are named together."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest


def rows(names: str | tuple[str, ...], table: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As ``pytest.mark.parametrize`` reads them, but one case. Fixtures are made once, for all rows; a row that needs
    one of its own, or a process of its own, is a case of its own."""
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = list(table)
    assert listed, "a table without rows tests nothing"

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        others = [parameter for parameter in signature.parameters.values() if parameter.name not in fields]

        @wraps(test)
        def every_row(**fixtures: Any) -> None:
            failed = []
            for row in listed:
                values = (row,) if len(fields) == 1 else row
                try:
                    test(**dict(zip(fields, values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    failed.append((row, error))
            if failed:
                told = "\n".join(f"{row!r}: {type(error).__name__}: {error}" for row, error in failed)
                raise AssertionError(f"{len(failed)} of {len(listed)} rows fail:\n{told}") from failed[0][1]

        every_row.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return every_row

    return decorated
