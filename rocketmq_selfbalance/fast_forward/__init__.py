"""Which of RocketMQ's nodes are quiescent, and how they are moved on over skipped times
(`protocols.engine.fast_forward`)."""

from typing import Final

from protocols.engine.fast_forward.adapters import Adapters
from rocketmq_selfbalance.broker import BrokerNode
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.fast_forward.broker import BrokerAdapter
from rocketmq_selfbalance.fast_forward.client import ClientAdapter
from rocketmq_selfbalance.fast_forward.name_server import NameServerAdapter
from rocketmq_selfbalance.nameserver import NameServer

ADAPTERS: Final[Adapters] = {NameServer: NameServerAdapter, BrokerNode: BrokerAdapter, Client: ClientAdapter}

LEAST_EVENTS: Final = 2000
"""A look at a small group costs what a hundred events do: a twentieth of these."""
