"""The assertions of `compare.testing.assertions` as methods."""

from abc import ABC, abstractmethod

from compare.testing import assertions, record_assertions
from compare.testing.handling import HandlingGroup
from compare.testing.record_assertions import CATCHING_UP_S


class Demands(ABC):
    """Of what a test can demand something: a group, or a pair of them (then both must hold).

    Each method fails with an `AssertionError` that tells what happened and why.
    """

    @property
    @abstractmethod
    def groups(self) -> tuple[HandlingGroup, ...]:
        """Who is judged."""

    def assert_fair(self, max_over_mean: float = 1.2) -> None:
        """See `compare.testing.assertions`, as for all that follow."""
        __tracebackhide__ = True
        assertions.assert_fair(self, max_over_mean)

    def assert_no_idle_members(self) -> None:
        """Every member that subscribes to something owns a queue."""
        __tracebackhide__ = True
        assertions.assert_no_idle_members(self)

    def assert_optimal(self) -> None:
        """No other allocation that the subscriptions allow is fairer."""
        __tracebackhide__ = True
        assertions.assert_optimal(self)

    def assert_no_double_ownership(self, longer_than: float = 0.0) -> None:
        """At no time two members believed to own the same queue, for longer than so many seconds."""
        __tracebackhide__ = True
        assertions.assert_no_double_ownership(self, longer_than)

    def assert_no_gap(self, longer_than: float = 0.0) -> None:
        """No queue was without an owner for longer than so many seconds, after its first one."""
        __tracebackhide__ = True
        assertions.assert_no_gap(self, longer_than)

    def assert_settles_within(self, seconds: float) -> None:
        """The group settles within so many seconds after the last event."""
        __tracebackhide__ = True
        assertions.assert_settles_within(self, seconds)

    def assert_moves_at_most(self, moves: int, since: float = 0.0) -> None:
        """At most so many queues went to another owner, from ``since`` (seconds) on."""
        __tracebackhide__ = True
        assertions.assert_moves_at_most(self, moves, since)

    def assert_nothing_lost(self) -> None:
        """Every record before the group's committed offset, or skipped by a reset position, was handled by a member."""
        __tracebackhide__ = True
        record_assertions.assert_nothing_lost(self)

    def assert_handled_once(self) -> None:
        """No record was handled more than once, by one member or by several."""
        __tracebackhide__ = True
        record_assertions.assert_handled_once(self)

    def assert_at_least_once(self, within: float = CATCHING_UP_S) -> None:
        """Every record that was written up to ``within`` seconds ago was handled at least once."""
        __tracebackhide__ = True
        record_assertions.assert_at_least_once(self, within)
