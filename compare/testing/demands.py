"""The assertions of `compare.testing.assertions` and `compare.testing.record_assertions` as methods."""

from abc import ABC, abstractmethod

from compare.testing import assertions, record_assertions
from compare.testing.handling import HandlingGroup


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
