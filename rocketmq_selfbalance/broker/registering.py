"""A broker registers with the name servers: all its topics at the start and every period, changes at once, and takes
leave at the end (``BrokerController.registerBrokerAll``, ``BrokerOuterAPI.registerBrokerAll``) (spec 1.1)."""

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.broker.settings import BrokerSettings
from rocketmq_selfbalance.broker.state import Broker
from rocketmq_selfbalance.codes import MASTER_ID
from rocketmq_selfbalance.messages.nameserver import RegisterBroker, UnregisterBroker
from rocketmq_selfbalance.messages.topics import TopicConfig

REGISTER = "register"
"""Name of the timer."""

CLUSTER = "DefaultCluster"

SHORTEST_PERIOD_MS, LONGEST_PERIOD_MS = 10_000.0, 60_000.0
"""Between these the broker keeps the period of its registrations, whatever it is set to."""


def register(broker: Broker, topics: tuple[TopicConfig, ...], out: Outbox) -> None:
    """Register these topics with every name server."""
    name, version = broker.name, broker.disk.topics.version
    for name_server in broker.name_servers:
        out.send(name_server, RegisterBroker(0, CLUSTER, name, MASTER_ID, name, topics, version))


def register_again(broker: Broker, now: Time, out: Outbox) -> None:
    """The period is over: register all topics with every name server."""
    register(broker, broker.disk.topics.to_register(), out)
    out.set_timer(REGISTER, now + period(broker.settings))


def unregister(broker: Broker, out: Outbox) -> None:
    """The broker takes leave of every name server."""
    for name_server in broker.name_servers:
        out.send(name_server, UnregisterBroker(0, CLUSTER, broker.name, MASTER_ID, broker.name))


def period(settings: BrokerSettings) -> Time:
    """How often all topics are registered, in milliseconds."""
    return min(max(settings.register_name_server_period_ms, SHORTEST_PERIOD_MS), LONGEST_PERIOD_MS)
