"""RocketMQ's proxy for clients of the 5.x line: plain state and rules (spec grpc), without sockets."""

from rocketmq_selfbalance.proxy.definitions import ClientType as ClientType
from rocketmq_selfbalance.proxy.definitions import Code as Code
from rocketmq_selfbalance.proxy.definitions import Settings as Settings
from rocketmq_selfbalance.proxy.definitions import Status as Status
from rocketmq_selfbalance.proxy.json_form import from_json as from_json
from rocketmq_selfbalance.proxy.node import NAME as NAME
from rocketmq_selfbalance.proxy.node import ProxyNode as ProxyNode
from rocketmq_selfbalance.proxy.requests import METHODS as METHODS
from rocketmq_selfbalance.proxy.requests import Answered as Answered
from rocketmq_selfbalance.proxy.requests import Call as Call
from rocketmq_selfbalance.proxy.requests import Cancelled as Cancelled
from rocketmq_selfbalance.proxy.requests import StreamClosed as StreamClosed
from rocketmq_selfbalance.proxy.requests import StreamRefused as StreamRefused
from rocketmq_selfbalance.proxy.requests import Telemetry as Telemetry
from rocketmq_selfbalance.proxy.requests import TelemetryCommand as TelemetryCommand
from rocketmq_selfbalance.proxy.requests import Told as Told
from rocketmq_selfbalance.proxy.settings import ProxySettings as ProxySettings
from rocketmq_selfbalance.proxy.settings import renamed as renamed
from rocketmq_selfbalance.proxy.state import Proxy as Proxy
