"""Steps of a state machine between the same two states: the first two are shown, the others counted."""

from collections.abc import Iterator

from protocols.engine.nodes import Time
from protocols.facts import Transition
from protocols.timeline.fact_descriptions import seconds


class RepeatedTransitions:
    """What a state machine did last, for each; to be asked of its steps in their order."""

    __slots__ = ("_counted", "_last")

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[Transition | None, Transition]] = {}
        self._counted: dict[tuple[str, str], tuple[int, Time]] = {}
        """Machine to how many of its steps were not shown since the last that was, and when it took the last one."""

    def is_repeat(self, now: Time, step: Transition) -> bool:
        """Whether this is the step before the last one again, and so is counted only."""
        machine = step.machine, step.of
        before, last = self._last.get(machine, (None, None))
        self._last[machine] = last, step
        if step != before:
            return False
        self._counted[machine] = self._counted.get(machine, (0, now))[0] + 1, now
        return True

    def counted(self, step: Transition) -> str | None:
        """The sentence about steps that were only counted, before another one is shown; None where none was."""
        count = self._counted.pop((step.machine, step.of), None)
        return None if count is None else _sentence(step.machine, step.of, *count)

    def rest(self) -> Iterator[str]:
        """The sentences that are left at the end."""
        for machine, count in self._counted.items():
            yield _sentence(*machine, *count)


def _sentence(machine: str, of: str, count: int, last: Time) -> str:
    steps = "1 more step" if count == 1 else f"{count:,} more steps"
    return f"{machine} {of}: the same transitions again, {steps}, the last at {seconds(last)}"
