"""Join the offset tables of one group, cut names completed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from compare.reading.rocketmq.facts import BrokerLag, Progress, Running
from compare.reading.rocketmq.truncated_names import FullNames, complete_queues
from protocols import Queue
from rocketmq_selfbalance.codes import RETRY_PREFIX

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Names:
    """Topics and brokers known in full: those of the group itself, and those of all routes."""

    topics: FullNames
    brokers: FullNames
    route_topics: FullNames
    route_brokers: FullNames

    @classmethod
    def of_group(
        cls,
        group: str,
        subscribed: Iterable[str],
        asked: Iterable[Running],
        route_topics: FullNames,
        route_brokers: FullNames,
    ) -> "Names":
        """The names that the group's own sources have in full, beside those of the routes."""
        owned = [queue for running in asked for queue in running.owned or ()]
        return cls(
            FullNames([*subscribed, *(queue.topic for queue in owned), RETRY_PREFIX + group]),
            FullNames(queue.broker for queue in owned),
            route_topics,
            route_brokers,
        )

    def completed(self, told: Mapping[Queue, Value], topic_width: int, broker_width: int) -> Mapping[Queue, Value]:
        """What is told of queues, under their full names; the group's own sources know best."""
        told = complete_queues(told, self.topics, self.brokers, topic_width, broker_width)
        return complete_queues(told, self.route_topics, self.route_brokers, topic_width, broker_width)


@dataclass(frozen=True, slots=True)
class Table:
    """All ``consumerProgress -g`` of a group in one; a later one overrides. See `Progress` for the fields.

    ``moved``: queues that two of them show for different members.
    """

    lag: Mapping[Queue, int]
    shown: Mapping[Queue, str | None] | None
    complete: bool
    moved: int


def join_tables(tables: Iterable[Progress], names: Names) -> Table:
    """The tables in one; empty where there are none."""
    lag: dict[Queue, int] = {}
    shown: dict[Queue, str | None] | None = None
    complete = True
    moved: set[Queue] = set()
    for table in tables:
        told = names.completed(table.lag, table.topic_width, table.broker_width)
        # Two names that are completed to one would hide each other.
        complete = complete and table.complete and len(told) == len(table.lag)
        lag.update(told)
        if table.shown is not None:
            shows = names.completed(table.shown, table.topic_width, table.broker_width)
            before = {} if shown is None else shown
            moved.update(
                queue
                for queue, address in shows.items()
                if address and before.get(queue, address) not in (address, None)
            )
            shown = {**before, **shows}
    return Table(lag, shown, complete, len(moved))


def lag_elsewhere(stats: Iterable[BrokerLag], names: Names) -> dict[Queue, int]:
    """What brokers tell of the group's lag."""
    found: dict[Queue, int] = {}
    for each in stats:
        found.update(names.completed(each.lag, each.topic_width, each.broker_width))
    return found
