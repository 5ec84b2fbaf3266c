"""A served cluster without sockets: brokers that answer about records and topics, their controller, a clock by hand."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kafka_coordinator.wire import requests
from kafka_coordinator.wire.requests import Request
from protocols.engine.nodes import Message, Time, TimerName

BEGAN_MS = 1_700_000_000_000
CLIENT = "127.0.0.1:40000"

KINDS: Mapping[int, type[Request]] = {
    0: requests.Produce,
    1: requests.Fetch,
    2: requests.ListOffsets,
    19: requests.CreateTopics,
    20: requests.DeleteTopics,
    21: requests.DeleteRecords,
    22: requests.InitProducerId,
    23: requests.OffsetForLeaderEpoch,
    32: requests.DescribeConfigs,
    37: requests.CreatePartitions,
    44: requests.IncrementalAlterConfigs,
    60: requests.DescribeCluster,
    75: requests.DescribeTopicPartitions,
}


class Out:
    """A node's outbox: what it sends to nodes goes on, what it sends to clients is kept."""

    def __init__(self, world: "World", name: str) -> None:
        self.world, self.name = world, name

    def send(self, to: str, message: Message) -> None:
        if to in self.world.names:
            self.world.queue.append((to, self.name, message))
        else:
            self.world.told.append((to, message))

    def close(self, peer: str) -> None:
        self.world.closed.append(peer)

    def set_timer(self, name: TimerName, at: Time) -> None:
        self.world.timers[self.name, name] = at

    def cancel_timer(self, name: TimerName) -> None:
        self.world.timers.pop((self.name, name), None)

    def observe(self, fact: tuple[Any, ...]) -> None:
        pass

    def choose(self, label: str, options: Any) -> Any:
        return options[0]

    def new_id(self, prefix: str) -> str:
        self.world.ids += 1
        return str(UUID(int=self.world.ids << 64))
