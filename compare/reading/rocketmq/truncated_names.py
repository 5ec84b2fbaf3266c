"""Complete names that a view cut to its column's width, from sources that have them in full."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import TypeVar

from protocols import Queue

Value = TypeVar("Value")


class FullNames:
    """Names known in full."""

    def __init__(self, names: Iterable[str]) -> None:
        self._sorted = sorted(set(names))

    def longer(self, cut: str) -> str | None:
        """The one longer name that begins like ``cut``; None if there is none or several."""
        at = bisect_right(self._sorted, cut)
        found = [name for name in self._sorted[at : at + 2] if name.startswith(cut)]
        return found[0] if len(found) == 1 else None

    def complete(self, cut: str) -> str | None:
        """`longer`, but None if ``cut`` itself is a full name."""
        at = bisect_right(self._sorted, cut)
        return None if at and self._sorted[at - 1] == cut else self.longer(cut)

    def of_width(self, name: str, width: int) -> str:
        """``name``, completed if it is as long as the column and so may be cut."""
        return name if len(name) < width else self.complete(name) or name


def complete_queues(
    told: Mapping[Queue, Value], topics: FullNames, brokers: FullNames, topic_width: int, broker_width: int
) -> Mapping[Queue, Value]:
    """What is told of queues, under their full names."""
    if not any(len(topic) >= topic_width or len(broker) >= broker_width for topic, broker, _ in told):
        return told
    return {
        Queue(
            topics.of_width(queue.topic, topic_width), brokers.of_width(queue.broker, broker_width), queue.number
        ): value
        for queue, value in told.items()
    }
