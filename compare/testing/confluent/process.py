"""The process in which the user's code runs: what becomes of its consumers becomes of its producers, too."""

from typing import Protocol


class Lives(Protocol):
    """A consumer of the process."""

    member: str

    @property
    def is_alive(self) -> bool:
        """Whether it was not killed."""

    def wake(self) -> None:
        """Let time pass until it goes on, where it was stopped."""


class Process:
    """A process is killed when the last of its consumers is; one without consumers lives."""

    def __init__(self) -> None:
        self.consumers: list[Lives] = []
        self.member = ""
        """The member whose code runs in it: its latest consumer."""

    def add(self, consumer: Lives) -> None:
        """A consumer is made in it."""
        self.consumers.append(consumer)
        self.member = consumer.member

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return not self.consumers or any(each.is_alive for each in self.consumers)

    def wake(self) -> None:
        """Let time pass until it goes on, where it was stopped."""
        for each in self.consumers:
            if each.is_alive:
                each.wake()
