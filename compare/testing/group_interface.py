"""What the parts of this package use of a group: `compare.testing.group.Group` has all of it, and knows the parts."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from compare.figures import Fairness
from compare.optimum import Optimum
from compare.testing.clock import Clock
from compare.testing.plans import Plan
from compare.testing.records import Records
from compare.testing.world import World
from protocols import Allocation, Queue
from protocols.timeline import Timeline


class GroupInterface(Protocol):
    """One group in virtual time, as assertions, user's code and failure reports see it."""

    system: str
    clock: Clock
    plan: Plan
    printed: object
    """How far it had lived when hypothesis printed its scenario; None where it has not."""

    @property
    def name(self) -> str:
        """The group's name."""

    @property
    def label(self) -> str:
        """System and strategy."""

    @property
    def world(self) -> World:
        """Where it lives."""

    @property
    def records(self) -> Records:
        """What stands in the records."""

    @property
    def members(self) -> Sequence[str]:
        """Those alive, hung ones among them."""

    @property
    def known(self) -> Collection[str]:
        """The members that are there or ever were."""

    @property
    def topics(self) -> Mapping[str, tuple[Queue, ...]]:
        """Topic to the queues that it has now."""

    @property
    def allocation(self) -> Allocation:
        """Who believes to own what now."""

    @property
    def fairness(self) -> Fairness:
        """How fair the allocation is now."""

    @property
    def optimum(self) -> Optimum:
        """The fairest allocation there could be now."""

    @property
    def timeline(self) -> Timeline:
        """Everything so far."""

    def popped(self, message: object) -> tuple[str, tuple[Queue, int]] | None:
        """Member, queue and offset of a message that was taken by POP, which has been handled; None for any other."""

    def happen(self, **fields: object) -> object:
        """Something happens now."""

    def settles(self, within: float = ...) -> bool:
        """Let time pass until nothing changes any more; whether it has settled."""

    def scenario_text(self) -> str:
        """What has happened so far as the text of a scenario file."""

    def failed(self) -> None:
        """An assertion is about to fail."""
