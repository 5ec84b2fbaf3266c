"""A broker as a node: each of its events goes to the module that does what RocketMQ's broker does on it (spec 2).

- `pulls`: ``PullMessageProcessor``, ``PullRequestHoldService``
- `requests`: ``ClientManageProcessor``, ``ConsumerManageProcessor``; `sent_back`: ``SendMessageProcessor``
- `administration`: ``AdminBrokerProcessor``; `topic_changes`: ``TopicConfigManager``
- `connections`: ``ClientHousekeepingService``; `notifying`: ``DefaultConsumerIdsChangeListener``
- `registering`: ``BrokerOuterAPI``; `persisting`: ``ConsumerOffsetManager``; `delivering`: ``ScheduleMessageService``

`state` holds what they work on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.node_state import NodeState
from rocketmq_selfbalance.broker import administration, connections, pulls, requests, sent_back
from rocketmq_selfbalance.broker import administration as topic_changes
from rocketmq_selfbalance.broker import connections as notifying
from rocketmq_selfbalance.broker import connections as persisting
from rocketmq_selfbalance.broker import connections as registering
from rocketmq_selfbalance.broker import requests as delivering
from rocketmq_selfbalance.broker.connections import FLUSH, IDLE, NOTIFY, REGISTER, SCAN
from rocketmq_selfbalance.broker.requests import DELIVER
from rocketmq_selfbalance.broker.state import Broker, Handler
from rocketmq_selfbalance.messages.offsets import PullMessage


@dataclass(slots=True, eq=False)
class BrokerNode(NodeState):
    """A running broker: entry points around its state. A broker that starts again is a new node on the same disk."""

    state: Broker

    def start(self, now: Time, out: Outbox) -> None:
        broker = self.state
        settings, disk = broker.settings, broker.disk
        broker.offsets.load(disk.offsets)
        disk.store.running = True
        for config in disk.topics.configs.values():
            topic_changes.open_queues(broker, now, config)
        registering.register(broker, disk.topics.to_register(), out)
        out.set_timer(REGISTER, now + settings.register_first_ms)
        out.set_timer(SCAN, now + settings.scan_channels_first_ms)
        out.set_timer(FLUSH, now + settings.flush_first_ms)
        if not settings.real_time_notify_consumer_change:
            out.set_timer(NOTIFY, now + settings.collected_notify_first_ms)
        delivering.schedule_next(broker, now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        broker = self.state
        broker.busy(now, sender)
        handle = _COMMANDS[type(message)] if sender == OPERATOR else _REQUESTS[type(message)]
        handle(broker, now, sender, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if isinstance(timer, tuple):
            if timer[0] == IDLE:
                connections.idle_due(self.state, now, timer[1], out)
            else:
                pulls.held_due(self.state, now, timer, out)
        else:
            _TIMERS[timer](self.state, now, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        connections.connected(self.state, now, peer, out)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        connections.closed(self.state, now, peer, out)


_TIMERS: Mapping[str, Callable[[Broker, Time, Outbox], None]] = {
    REGISTER: registering.register_again,
    SCAN: connections.scan,
    FLUSH: persisting.persist_again,
    NOTIFY: notifying.notify_collected,
    DELIVER: delivering.deliver,
}

_REQUESTS: Mapping[type[Message], Handler] = {
    PullMessage: pulls.pull,
    **requests.REQUESTS,
    **sent_back.REQUESTS,
}

_COMMANDS: Mapping[type[Message], Handler] = administration.COMMANDS
