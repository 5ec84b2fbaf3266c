"""Which member of a test's group a consumer is that the user's code makes."""

from typing import Protocol

from compare.testing.handling import HandlingGroup
from compare.testing.rocketmq.popping import Popping
from compare.testing.rocketmq.push_consumer import PushConsumer
from protocols.errors import UserError


class RocketMQGroup(HandlingGroup, Protocol):
    """A group with members of both lines of clients."""

    @property
    def popping(self) -> Popping:
        """What members have taken by POP."""

    def push_consumer(self, member: str, *, orderly: bool = False) -> PushConsumer:
        """A push consumer."""


class Naming:
    """The members of ``members``, in the order in which consumers are made, then ``c1``, ``c2``, ..."""

    def __init__(self, group: RocketMQGroup, members: tuple[str, ...]) -> None:
        self._group, self._members = group, list(members)
        self._made = 0

    def next(self, consumer_group: str) -> str:
        """The name of the next consumer's member; `UserError` for a consumer of another group."""
        if consumer_group != self._group.name:
            raise UserError(
                f"a consumer of group {consumer_group!r}, expected {self._group.name!r}: make the test's group with "
                f"name={consumer_group!r}"
            )
        if self._members:
            return self._members.pop(0)
        taken, number = {*self._group.known, *self._group.popping.reserved}, 1
        while f"c{number}" in taken:
            number += 1
        self._group.popping.reserved.add(f"c{number}")
        return f"c{number}"

    def count(self) -> int:
        """How many other clients were made, with this one."""
        self._made += 1
        return self._made


class OfGroup(Protocol):
    """The classes of a client that were made for one group: every object of them knows it."""

    @property
    def group(self) -> RocketMQGroup:
        """The group."""

    @property
    def naming(self) -> Naming:
        """Which members its consumers are."""
