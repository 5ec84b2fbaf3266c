"""The assertions of `compare.testing.assertions` and `compare.testing.record_assertions` as methods."""

from abc import ABC, abstractmethod

from compare.figures import Fairness, fairness
from compare.optima import Optimum, optimum
from compare.testing import assertions, record_assertions
from compare.testing.handling import HandlingGroup
from compare.testing.settling import single_owner
from protocols import Allocation, Queue
from protocols.timeline import Timeline
from protocols.timeline.story import story


class Demands(ABC):
    """Of what a test can demand something: a group, or a pair of them (then both must hold).

    Each method fails with an `AssertionError` that tells what happened and why.
    """

    @property
    @abstractmethod
    def groups(self) -> tuple[HandlingGroup, ...]:
        """Who is judged."""

    assert_fair = assertions.assert_fair
    assert_no_idle_members = assertions.assert_no_idle_members
    assert_optimal = assertions.assert_optimal
    assert_no_double_ownership = assertions.assert_no_double_ownership
    assert_no_gap = assertions.assert_no_gap
    assert_settles_within = assertions.assert_settles_within
    assert_moves_at_most = assertions.assert_moves_at_most
    assert_nothing_lost = record_assertions.assert_nothing_lost
    assert_handled_once = record_assertions.assert_handled_once
    assert_at_least_once = record_assertions.assert_at_least_once


class OneGroup(Demands):
    """What can be asked of one group, simulated or real."""

    @property
    @abstractmethod
    def allocation(self) -> Allocation:
        """Who believes to own what now: every member alive, and the queues that there are."""

    @property
    @abstractmethod
    def timeline(self) -> Timeline:
        """Everything so far (`protocols.timeline`): times in it are milliseconds since the beginning."""

    def owners(self) -> dict[str, tuple[Queue, ...]]:
        """Every member alive to the queues that it believes to own now, sorted; idle ones have none."""
        return dict(self.allocation)

    def owner(self, topic: str, number: int, broker: str | None = None) -> str | None:
        """Who owns a queue now; None where nobody does. `UserError` where there is no such queue, `AssertionError`
        where several own it."""
        return single_owner(self.allocation, topic, number, broker)

    @property
    def fairness(self) -> Fairness:
        """How fair the allocation is now."""
        return fairness(self.allocation)

    @property
    def optimum(self) -> Optimum:
        """The fairest allocation there could be now, with the fewest moves from the present one."""
        allocation = self.allocation
        return optimum(allocation.group, allocation)

    def story(self) -> str:
        """Everything so far, a line each."""
        return story(self.timeline)
