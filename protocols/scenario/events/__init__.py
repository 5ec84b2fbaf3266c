"""The events of scenarios: what may happen, one file for each kind or small family of kinds.

A new kind is a class in a file of its own and a name in the list below. YAML, checks, descriptions, reference and
schema know it from there; the clusters that it may happen to apply it (`protocols.scenario.cluster`).
"""

from protocols.scenario.events.base import Event, MemberChange
from protocols.scenario.events.broker import BrokerEvent
from protocols.scenario.events.catalogue import EVENT_KINDS, register
from protocols.scenario.events.commit import Commit
from protocols.scenario.events.configure import Configure
from protocols.scenario.events.connections import Disconnect, Network
from protocols.scenario.events.ends import Crash, Leave
from protocols.scenario.events.pauses import Hang, StopPolling
from protocols.scenario.events.poison import Poison
from protocols.scenario.events.production import Produce
from protocols.scenario.events.reset import Reset
from protocols.scenario.events.rolling import Rolling
from protocols.scenario.events.starts import Join, Restart
from protocols.scenario.events.subscription import Subscribe
from protocols.scenario.events.topics import AddTopic, DeleteTopic, Queues

for _kind in (
    Join,
    Leave,
    Crash,
    Hang,
    StopPolling,
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
    "MemberChange",
    "Network",
    "Poison",
    "Produce",
    "Queues",
    "Reset",
    "Restart",
    "Rolling",
    "StopPolling",
    "Subscribe",
    "register",
]
