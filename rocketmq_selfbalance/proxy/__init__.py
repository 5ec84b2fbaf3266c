"""RocketMQ's proxy for clients of the 5.x line: plain state and rules (spec grpc), without sockets."""

from rocketmq_selfbalance.proxy.node import NAME as NAME
from rocketmq_selfbalance.proxy.node import ProxyNode as ProxyNode
from rocketmq_selfbalance.proxy.settings import ProxySettings as ProxySettings
from rocketmq_selfbalance.proxy.state import Proxy as Proxy
