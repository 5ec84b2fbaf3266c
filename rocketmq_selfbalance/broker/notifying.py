"""A broker tells everybody in a group that its members or topics have changed: RocketMQ's
``DefaultConsumerIdsChangeListener`` and ``Broker2Client.notifyConsumerIdsChanged`` (spec 2.3)."""

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.broker.consumers import CHANGE, ConsumerEvent
from rocketmq_selfbalance.broker.state import Broker
from rocketmq_selfbalance.messages.membership import NotifyConsumerIdsChanged

NOTIFY = "notify"
"""Name of the timer, where changes are collected."""


def handle(broker: Broker, now: Time, events: tuple[ConsumerEvent, ...], out: Outbox) -> None:
    """Notify the channels that a CHANGE among the events names, now or with the next collection."""
    settings = broker.settings
    for event in events:
        if event.kind != CHANGE or not settings.notify_consumer_ids_changed_enable:
            continue
        if not settings.real_time_notify_consumer_change:
            broker.changed_groups[event.group] = None
            continue
        _notify(broker, now, event.group, event.channels, out)


def notify_collected(broker: Broker, now: Time, out: Outbox) -> None:
    """The time of a collection has come: notify the groups that have changed since the last one."""
    changed, broker.changed_groups = broker.changed_groups, {}
    for name in changed:
        group = broker.consumers.groups.get(name)
        if group is not None:
            _notify(broker, now, name, tuple(group.channels), out)
    out.set_timer(NOTIFY, now + broker.settings.collected_notify_interval_ms)


def _notify(broker: Broker, now: Time, group: str, channels: tuple[str, ...], out: Outbox) -> None:
    notice = NotifyConsumerIdsChanged(0, group)
    for channel in channels:
        broker.push(now, channel, notice, out)
