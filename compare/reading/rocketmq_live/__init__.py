"""Read the consumer groups of a running RocketMQ cluster through its remoting protocol.

What name server, brokers and clients answer becomes the same facts that mqadmin's text becomes, and
`compare.reading.rocketmq.join` makes groups of both: who owns what is decided in one place.
"""

from compare.reading.rocketmq_live.client import SCHEME
from compare.reading.rocketmq_live.fetch import observe

__all__ = ["SCHEME", "observe"]
