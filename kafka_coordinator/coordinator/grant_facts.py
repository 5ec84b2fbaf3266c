"""The facts about grants that the coordinator lets the observer see (`protocols.facts`); the group does not change.

A member's name in facts is the client id that its JoinGroup gave. Where several members of a group have one name (a
member that was killed and started again, until its old session ends), the name has what any of them has.
"""

from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Group
from protocols.engine.nodes import Outbox
from protocols.facts import Granted, RebalanceEnded
from protocols.queues import Queue, sort_queues
from protocols.quick_records import quickly_made

_granted = quickly_made(Granted)


def observe_grants(core: Core, group: Group, out: Outbox) -> None:
    """The generation has its assignment: who has what from now on, and that the rebalance is over."""
    granted: dict[str, tuple[Queue, ...]] = {}
    for member in group.ordered():
        queues = core.queues_of(member.assignment)
        name = member.client_id
        granted[name] = sort_queues({*granted[name], *queues}) if name in granted else queues
    before = group.granted
    changed = group.changed
    for name, queues in granted.items():
        changed = changed or before.get(name, ()) != queues
        out.observe(_granted((group.id, name, queues, group.generation)))
    group.granted = {name: queues for name, queues in granted.items() if queues}
    group.changed = False
    out.observe(RebalanceEnded(group.id, group.generation, changed))


def observe_removed(core: Core, group: Group, names: list[str], out: Outbox) -> None:
    """Members of these names have been removed: their grants end at once, unless another member has the name."""
    for name in names:
        before = group.granted.get(name)
        if not before:
            continue
        left: set[Queue] = set()
        if name in group.names:
            for member in group.members.values():
                if member.client_id == name:
                    left.update(core.queues_of(member.assignment))
        queues = sort_queues(left)
        if queues != before:
            group.changed = True
            group.granted[name] = queues
            out.observe(Granted(group.id, name, queues, group.generation))
        if not queues:
            del group.granted[name]


def observe_emptied(group: Group, out: Outbox) -> None:
    """The generation without members is complete."""
    changed, group.changed = group.changed, False
    out.observe(RebalanceEnded(group.id, group.generation, changed))
