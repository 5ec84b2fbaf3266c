"""What a client does in the background, while virtual time passes."""

from collections.abc import Callable

from compare.testing.clock import Action
from compare.testing.group_interface import GroupInterface
from protocols.engine.nodes import Time


class Background:
    """Of one client; times are milliseconds."""

    def __init__(self, group: GroupInterface) -> None:
        self._group = group
        self.latency: Time = sum(group.world.scenario.run.latency) / 2
        """How long every way takes: the mean of the group's latency."""
        self._times: list[Time] = []

    @property
    def now(self) -> Time:
        """The time."""
        return self._group.clock.time

    def at(self, time: Time, do: Action) -> None:
        """Something that happens later."""
        self._times.append(time)

        def due() -> None:
            self._times.remove(time)
            do()

        self._group.clock.put(time, due)

    def wait(self, until: Time, stop: Callable[[], bool]) -> None:
        """Let time pass, at most to the end of the test's ``group.run``."""
        clock = self._group.clock
        until = min(until, max(clock.limit, clock.time))
        while not stop() and clock.time < until:
            clock.run(min([until, *(each for each in self._times if each > clock.time)]), self._group.world)
