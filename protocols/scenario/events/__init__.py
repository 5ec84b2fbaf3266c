"""The events of scenarios: what may happen, one file for each kind or small family of kinds.

A new kind is a class in a file of its own and a name in the list below. YAML, checks, descriptions, reference and
schema know it from there; the clusters that it may happen to apply it (`protocols.scenario.cluster_states`).
"""

from protocols.scenario.events.base import EVENT_KINDS, Event, MemberChange, register
from protocols.scenario.events.members import Crash, Hang, Join, Leave, Lose, Restart, Slow, StopPolling, Subscribe
from protocols.scenario.events.records import Commit, Poison, Produce, Reset
from protocols.scenario.events.rolling import Rolling
from protocols.scenario.events.servers import AddTopic, BrokerEvent, Configure, DeleteTopic, Disconnect, Network, Queues

for _kind in (
    Join,
    Leave,
    Crash,
    Lose,
    Hang,
    StopPolling,
    Slow,
    Restart,
    Rolling,
    Disconnect,
    Subscribe,
    Commit,
    Produce,
    Poison,
    Queues,
    AddTopic,
    DeleteTopic,
    BrokerEvent,
    Network,
    Reset,
    Configure,
):
    register(_kind)

__all__ = [
    "EVENT_KINDS",
    "AddTopic",
    "BrokerEvent",
    "Commit",
    "Configure",
    "Crash",
    "DeleteTopic",
    "Disconnect",
    "Event",
    "Hang",
    "Join",
    "Leave",
    "Lose",
    "MemberChange",
    "Network",
    "Poison",
    "Produce",
    "Queues",
    "Reset",
    "Restart",
    "Rolling",
    "Slow",
    "StopPolling",
    "Subscribe",
    "register",
]
