"""How an assertion about a group fails: when, in which system, what, and the lines that say why."""

from collections.abc import Sequence

from compare.testing import sentences
from compare.testing.group_interface import GroupInterface

MOST_LINES = 8


def fail(group: GroupInterface, what: str, more: Sequence[str] = (), *, most: int = MOST_LINES) -> None:
    """Raise the `AssertionError`; beyond ``most`` lines of ``more`` the rest is counted."""
    __tracebackhide__ = True
    group.failed()
    told = f"{group.system} at {sentences.moment(group.clock.time)}: {what}"
    raise AssertionError(f"{told}\n{sentences.first_lines(more, most)}" if more else told)
