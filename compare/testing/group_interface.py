"""What the parts of this package use of a group: `compare.testing.group.Group` has all of it, and knows the parts."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from compare.figures import Fairness
from compare.optima import Optimum
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
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def world(self) -> World: ...
    @property
    def records(self) -> Records: ...
    @property
    def members(self) -> Sequence[str]: ...
    @property
    def known(self) -> Collection[str]: ...
    @property
    def topics(self) -> Mapping[str, tuple[Queue, ...]]: ...
    @property
    def allocation(self) -> Allocation: ...
    @property
    def fairness(self) -> Fairness: ...
    @property
    def optimum(self) -> Optimum: ...
    @property
    def timeline(self) -> Timeline: ...
    def happen(self, **fields: object) -> object: ...
    def settles(self, within: float = ...) -> bool: ...
    def scenario_text(self) -> str: ...
    def failed(self) -> None: ...
