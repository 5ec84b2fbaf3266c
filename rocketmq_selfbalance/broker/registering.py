"""What a broker tells the name servers: all its topics again and again, changes at once, its leave (spec 1.1)."""

from typing import TYPE_CHECKING

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.broker.settings import BrokerSettings
from rocketmq_selfbalance.codes import MASTER_ID
from rocketmq_selfbalance.messages.nameserver import RegisterBroker, UnregisterBroker
from rocketmq_selfbalance.messages.topics import TopicConfig

if TYPE_CHECKING:
    from rocketmq_selfbalance.broker.node import Broker

REGISTER = "register"
"""Name of the timer."""

CLUSTER = "DefaultCluster"

SHORTEST_PERIOD_MS, LONGEST_PERIOD_MS = 10_000.0, 60_000.0
"""Between these the broker keeps the period of its registrations, whatever it is set to."""


def register(broker: "Broker", topics: tuple[TopicConfig, ...], out: Outbox) -> None:
    """Every name server is told of these topics."""
    name, version = broker.name, broker.disk.topics.version
    for name_server in broker.name_servers:
        out.send(name_server, RegisterBroker(0, CLUSTER, name, MASTER_ID, name, topics, version))


def register_again(broker: "Broker", now: Time, out: Outbox) -> None:
    """The period is over: every name server is told of all topics."""
    register(broker, broker.disk.topics.told(), out)
    out.set_timer(REGISTER, now + period(broker.settings))


def unregister(broker: "Broker", out: Outbox) -> None:
    """The broker takes leave of every name server."""
    for name_server in broker.name_servers:
        out.send(name_server, UnregisterBroker(0, CLUSTER, broker.name, MASTER_ID, broker.name))


def period(settings: BrokerSettings) -> Time:
    """How often all topics are told, in milliseconds."""
    return min(max(settings.register_name_server_period_ms, SHORTEST_PERIOD_MS), LONGEST_PERIOD_MS)
