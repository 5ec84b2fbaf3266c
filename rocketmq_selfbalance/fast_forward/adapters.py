"""What knows a node from outside: whether it is quiescent, and how it is moved on (the promises: `contract`)."""

from typing import TypeAlias

from protocols.engine.nodes import Node
from rocketmq_selfbalance.broker import BrokerNode
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.fast_forward.broker import BrokerAdapter
from rocketmq_selfbalance.fast_forward.client import ClientAdapter
from rocketmq_selfbalance.fast_forward.name_server import NameServerAdapter
from rocketmq_selfbalance.nameserver import NameServer

Adapter: TypeAlias = NameServerAdapter | BrokerAdapter | ClientAdapter
"""Of one node, for as long as the node's process runs."""


def adapter_of(node: Node) -> Adapter | None:
    """Its adapter; a node without one is never quiescent."""
    if isinstance(node, Client):
        return ClientAdapter(node)
    if isinstance(node, BrokerNode):
        return BrokerAdapter(node)
    return NameServerAdapter(node) if isinstance(node, NameServer) else None
