"""RocketMQ on real connections: name server and brokers of the simulation before clients that nobody here wrote.

- `cluster`: a name server and brokers on ports of one process
- `conversation`: frames to messages and back; `requests` and `answers` are its two directions
- `rehearsal`: the proxy of clients of the 5.x line without connections, in virtual time
- `virtual`: name server and brokers in virtual time, to which clients' bytes are given
- `name_server`, `broker`: the simulation's nodes with what only real clients ask of them
- `stored_messages`, `served`: records with their contents; `sending`, `pulling`: what is done with them
- `offset_views`, `config_views`: what tools ask; `ownership`: what is concluded about who reads which queue
"""

from typing import TYPE_CHECKING

from protocols.named_modules import lazy_names

if TYPE_CHECKING:
    from rocketmq_selfbalance.remoting import ONEWAY, Frame, FrameError, decode, encode, length_of
    from rocketmq_selfbalance.wire.cluster import RocketMQCluster
    from rocketmq_selfbalance.wire.messages import Pulled, SendMessage
    from rocketmq_selfbalance.wire.orders import KINDS
    from rocketmq_selfbalance.wire.refusals import (
        ERRORS,
        NO_LOCK,
        REQUESTS,
        code_of,
        groups_of,
        kind_of,
        plain,
        queue_of,
        refusal,
    )
    from rocketmq_selfbalance.wire.rehearsal import Rehearsal, subscription_group
    from rocketmq_selfbalance.wire.stored_messages import properties_text
    from rocketmq_selfbalance.wire.virtual import VirtualCluster

__getattr__ = lazy_names(__name__)
