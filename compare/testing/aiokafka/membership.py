"""The consumer's own task: it joins and rejoins in the background, and awaits the user's listener there.

As aiokafka's coordinator does it: the assignment stays what it was until the new one arrives; nobody is told of lost
partitions but as revoked ones; who fetches nothing for ``max_poll_interval_ms`` leaves the group and rejoins when the
user's code fetches again.
"""

import inspect
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import inf
from typing import Any

from compare.testing.aiokafka.classes import TopicPartition
from compare.testing.aiokafka.waiting import Waiting
from compare.testing.handling import Crashed
from compare.testing.kafka.node import Partition
from compare.testing.kafka.reader import Reader
from compare.testing.virtual_loop import VirtualLoop
from kafka_coordinator.consumer.callbacks import ASSIGNED
from kafka_coordinator.consumer.commands import BeginPoll, EndPoll, ListenerReturned, PollExpired
from kafka_coordinator.consumer.state import ListenerCall
from protocols.engine.nodes import Time

_LOG = logging.getLogger("aiokafka.consumer.group_coordinator")


def as_set(partitions: Iterable[Partition]) -> set[Any]:
    """The partitions as the user's code gets them."""
    return {TopicPartition(*each) for each in partitions}


class Membership:
    """Of one consumer that subscribes to something."""

    def __init__(
        self, loop: VirtualLoop, reader: Reader, waiting: Waiting, settings: Mapping[str, object], idle_ms: Time
    ) -> None:
        self._loop, self._reader, self._waiting, self._settings = loop, reader, waiting, settings
        self._idle_ms = idle_ms
        self.fields: dict[str, object] = {}
        """What a scenario says of the member beside its settings."""
        self.listener: Any = None
        self.has_assignment = False
        """Whether there is an assignment of the present subscription."""
        self.rebalancing = True
        """Whether the assignment is about to change: nothing is fetched meanwhile."""
        self.fetching = 0
        """How many of the user's coroutines wait for records."""
        self.fetched_at: Time = loop.group.clock.time
        """When the last of them stopped waiting."""
        self.closing = False
        self._subscription: dict[str, object] | None = None
        self._is_new = False
        self._expired = False
        self._left = False

    def subscribe(self, how: dict[str, object], listener: Any) -> None:
        """Another subscription, from now on."""
        self._subscription, self.listener, self._is_new = how, listener, True
        self.has_assignment, self.rebalancing = False, True
        self._reader.take_over(())

    def unsubscribe(self) -> None:
        """None any more; the listener is not told."""
        self.listener, self._is_new = None, False
        self.has_assignment, self.rebalancing = False, True
        if self._subscription is not None and self._reader.node is not None:
            self._loop.group.happen(subscribe={self._reader.name: []})
            while self._call() is not None:
                self._reader.tell(ListenerReturned())
        self._subscription = None
        self._reader.take_over(())

    async def live(self) -> None:
        """The task: until the consumer is closed, or its process is killed."""
        with suppress(Crashed):
            await self._live()

    async def _live(self) -> None:
        while not self.closing:
            await self._waiting.until(self._has_work, next_due=self._idle_until, counts=False)
            if self.closing:
                return
            if self._is_new:
                await self._join()
            elif self._call() is not None:
                await self._answer()
            elif self._expired and self.fetching:
                self._come_back()
            elif not self._expired and self._is_idle():
                self._expire()

    def _has_work(self) -> bool:
        comes_back = self._expired and bool(self.fetching)
        return self.closing or self._is_new or self._call() is not None or comes_back or self._is_idle()

    def _call(self) -> ListenerCall | None:
        reader = self._reader
        return None if reader.node is None or not reader.is_alive else reader.state.user.listener_call

    async def _join(self) -> None:
        self._is_new = False
        assert self._subscription is not None
        if self._reader.node is None or not self._reader.state.subscription.owned:
            await self._told("on_partitions_revoked", set())
        if self._is_new or self.closing or self._subscription is None:
            return
        if self._reader.node is None:
            self._reader.begin(self._subscription, self._settings, **self.fields)
        elif "pattern" in self._subscription:
            raise NotImplementedError("a pattern can only be subscribed to at first")
        else:
            topics = list(self._subscription["subscribe"])  # type: ignore[call-overload]
            self._loop.group.happen(subscribe={self._reader.name: topics})
        self._reader.tell(BeginPoll())

    async def _answer(self) -> None:
        """The client's listener was called: so is the user's."""
        called = self._call()
        assert called is not None
        self._reader.tell(BeginPoll())  # heartbeats go on, whatever the listener does
        if called.kind == ASSIGNED:
            self._reader.take_over(self._reader.state.subscription.owned)
            self.has_assignment, self.rebalancing = True, False
            await self._told("on_partitions_assigned", as_set(self._reader.read))
        else:
            self.rebalancing = True
            await self._told("on_partitions_revoked", as_set(called.partitions))
            if self._expired:
                await self._waiting.until(lambda: bool(self.fetching) or self.closing, counts=False)
                self._expired = False
        if not self.closing and self._reader.is_alive and self._call() is called:
            self._reader.tell(ListenerReturned())

    async def _told(self, method: str, partitions: set[Any]) -> None:
        if self.listener is None:
            return
        try:
            result = getattr(self.listener, method)(partitions)
            if inspect.iscoroutine(result):
                await result
        except Exception:
            _LOG.exception("User provided listener %s failed %s", self.listener, method)

    # Who fetches nothing for too long.

    def _idle_until(self) -> Time:
        is_member = self._reader.node is not None and bool(self._reader.state.membership.member_id)
        counts = is_member and not self.fetching and not self._expired and self._subscription is not None
        return self.fetched_at + self._idle_ms if counts else inf

    def _is_idle(self) -> bool:
        return self._loop.group.clock.time >= self._idle_until()

    def _expire(self) -> None:
        """The client leaves; it rejoins when the user's code fetches again."""
        self._expired = True
        if not self._reader.state.subscription.owned:
            self._left = True
            self._reader.tell(EndPoll())
        self._reader.tell(PollExpired())

    def _come_back(self) -> None:
        self._expired = False
        if self._left:
            self._left = False
            self._reader.tell(BeginPoll())

    async def leave(self) -> None:
        """Commit, where the client does so by itself, and leave; the listener is not called."""
        self.closing = True
        node = self._reader.node
        if node is None or node.is_over or not self._reader.is_alive:
            return
        self._loop.group.happen(leave=self._reader.name)
        until = self._loop.group.clock.time + 2 * self._reader.state.config.settings.close_timeout_ms
        while not node.is_over and self._loop.group.clock.time < until:
            if self._call() is not None:
                self._reader.tell(ListenerReturned())
            await self._waiting.until(lambda: node.is_over or self._call() is not None, until=until)
