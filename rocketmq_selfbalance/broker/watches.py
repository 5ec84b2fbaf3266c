"""Pulls that found nothing and that their clients hold themselves (see `PullMessage.watch`)."""

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeAlias

from protocols.engine.nodes import Time
from protocols.queues import Queue
from rocketmq_selfbalance.codes import PULL_NOT_FOUND
from rocketmq_selfbalance.messages.pulling import PullAnswer, PullMessage

_SLACK = 2
"""A watch is over when its client has not pulled again for so many times the hold time: it has given the queue up."""


Watched: TypeAlias = tuple[str, Queue]
"""What a pull is about: group and queue."""


class Watches:
    """Client to its pulls, one per group and queue."""

    __slots__ = ("_of", "by_sender")

    def __init__(self) -> None:
        self.by_sender: dict[str, dict[tuple[str, Queue], tuple[Time, PullMessage]]] = {}
        """Client to (group, queue) to when the pull came, and the pull."""
        self._of: dict[str, tuple[object, dict[Watched, Any]]] = {}
        """What `of` was asked and has told, while it holds."""

    def seen(self, now: Time, sender: str, message: PullMessage, answer: PullAnswer) -> None:
        """A pull was answered: from now on it is watched, or not any more."""
        key = message.group, message.queue
        self._of.pop(sender, None)
        if message.watch and answer.code == PULL_NOT_FOUND:
            self.by_sender.setdefault(sender, {})[key] = now, message
        elif sender in self.by_sender:
            self.by_sender[sender].pop(key, None)

    def of(self, sender: str, told: object) -> Mapping[Watched, Any]:
        """All that the client has watched, to ``told``: what it told of itself."""
        known, found = self._of.get(sender, (None, {}))
        if known is not told:
            found = dict.fromkeys(self.by_sender.get(sender, {}), told)
            self._of[sender] = told, found
        return found

    def passed(self, now: Time, sender: str, group: str, queue: Queue) -> None:
        """The client has pulled what it watches again and again, the last time now."""
        watched = self.by_sender[sender]
        watched[group, queue] = now, watched[group, queue][1]

    def on(self, now: Time, topic: str, number: int | None) -> Iterator[tuple[str, PullMessage]]:
        """Who watches the topic (or one queue of it), with its pull, in the order in which they came."""
        for sender, message in self._present(now):
            if message.queue.topic == topic and number in (None, message.queue.number):
                yield sender, message

    def _present(self, now: Time) -> Iterator[tuple[str, PullMessage]]:
        for sender, watched in self.by_sender.items():
            for came, message in watched.values():
                if now <= came + _SLACK * message.suspend_ms:
                    yield sender, message

    def forget(self, sender: str) -> None:
        """The client's connection has ended."""
        self.by_sender.pop(sender, None)
        self._of.pop(sender, None)

    def copy(self) -> Self:
        """An independent copy."""
        twin = type(self)()
        twin.by_sender = {sender: dict(watched) for sender, watched in self.by_sender.items()}
        return twin

    def key(self, now: Time) -> tuple[Any, ...]:
        """Who watches what, as plain tuples. A later pull may go by a later version of the subscription."""
        present = self._present(now)
        return tuple((sender, message._replace(subscription_version=0.0)[1:]) for sender, message in present)
