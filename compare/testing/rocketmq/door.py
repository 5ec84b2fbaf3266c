"""`Group`'s clients of RocketMQ."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, cast

from compare.testing.rocketmq.popping import Popping
from compare.testing.rocketmq.push_consumer import PushConsumer
from protocols.errors import UserError
from protocols.java import Queue

if TYPE_CHECKING:
    from compare.testing.rocketmq.naming import RocketMQGroup
    from compare.testing.rocketmq.popping import Popping
    from compare.testing.rocketmq.push_consumer import PushConsumer
    from compare.testing.rocketmq.v5.clients import Clients


class RocketMQDoor(ABC):
    """What a RocketMQ group gives to user's code. Each raises `UserError` in a group of Kafka."""

    system: str

    @property
    @abstractmethod
    def label(self) -> str:
        """System and strategy."""

    def push_consumer(self, member: str, *, orderly: bool = False) -> "PushConsumer":
        """A RocketMQ push consumer for the user's own listener; it joins as ``member`` when it is started. ``orderly``:
        the listener is an orderly one, which has a queue's records one after the other under the broker's lock."""
        from compare.testing.rocketmq.push_consumer import PushConsumer

        group = self._rocketmq(f"push consumer, expected consumer({member!r})")
        return group.handling.made(PushConsumer(group, member, orderly=orderly))

    def rocketmq_v5(self, *members: str, fifo: bool = False, retry_max_times: int | None = None) -> "Clients":
        """RocketMQ's 5.x Python client (``from rocketmq import SimpleConsumer, PushConsumer, Producer``) for this
        group: see `compare.testing.rocketmq.v5.clients`. Consumers become ``members`` in the order in which they are
        made, then ``c1``, ``c2``, ... ``fifo``: the group consumes in order; ``retry_max_times``: so often a record
        comes again before it goes to the dead letters, 16 if nobody says otherwise."""
        from compare.testing.rocketmq.v5.clients import Clients

        popping = self.popping
        popping.fifo = popping.fifo or fifo
        if retry_max_times is not None:
            popping.retry_max_times = retry_max_times
        return Clients(self._rocketmq(""), members)

    @cached_property
    def popping(self) -> "Popping":
        """What members have taken by POP, RocketMQ's way of giving out single messages
        (`compare.testing.rocketmq.popping`)."""
        from compare.testing.rocketmq.popping import Popping

        return Popping(self._rocketmq("POP, expected a RocketMQ group"))

    def popped(self, message: object) -> tuple[str, tuple[Queue, int]] | None:
        """See `compare.testing.rocketmq.popping.Popping.watched`."""
        return self.popping.watched(message) if "popping" in self.__dict__ else None

    def _rocketmq(self, what: str) -> "RocketMQGroup":
        if self.system != "rocketmq":
            raise UserError(f"{self.label} has no {what}")
        return cast("RocketMQGroup", self)
