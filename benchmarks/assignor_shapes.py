"""The groups that the assignor benchmark hands to everybody: Equipoise, the Python clients, the released jars."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from kafka_coordinator import assign
from protocols import Allocation, Group

LEAVER = 33


@dataclass(frozen=True)
class Shape:
    """``skipping``: member m leaves out every topic t with (t + m) % 5 == 0. ``one_left``: all owned what
    `sticky` gave them, then one member left."""

    members: int
    topics: int
    partitions: int
    skipping: bool = False
    one_left: bool = False

    def __str__(self) -> str:
        subscriptions = "every fifth topic skipped" if self.skipping else "equal subscriptions"
        return f"{subscriptions}, {'one left' if self.one_left else 'fresh'}"

    @property
    def size(self) -> str:
        return f"{self.members} x {self.topics} x {self.partitions}"

    @cached_property
    def topic_names(self) -> list[str]:
        return [f"topic-{number:03d}" for number in range(self.topics)]

    @cached_property
    def full_group(self) -> Group:
        members = {
            f"member-{member:04d}": [
                name for topic, name in enumerate(self.topic_names) if not self.skipping or (topic + member) % 5
            ]
            for member in range(self.members)
        }
        return Group.of(dict.fromkeys(self.topic_names, self.partitions), members)

    @cached_property
    def group(self) -> Group:
        return self.full_group.without(f"member-{LEAVER:04d}") if self.one_left else self.full_group

    @cached_property
    def previous(self) -> Allocation | None:
        return assign("sticky", self.full_group) if self.one_left else None

    def subscriptions(self) -> Iterator[tuple[str, list[str], dict[str, list[int]]]]:
        """Per member: id, topics, and what it owned before, by topic."""
        for member in self.group.members:
            owned: dict[str, list[int]] = {}
            for queue in self.previous[member.id] if self.previous is not None else ():
                owned.setdefault(queue.topic, []).append(queue.number)
            yield member.id, list(member.subscription), owned


@dataclass(frozen=True)
class Measured:
    """Best wall milliseconds, and the sizes of the answer: least, most and all partitions of a member."""

    milliseconds: float
    sizes: tuple[int, int, int]


def sizes(loads: list[int]) -> tuple[int, int, int]:
    """Least, most and total of the members' loads."""
    return min(loads), max(loads), sum(loads)
