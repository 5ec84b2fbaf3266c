"""What a member sees of its group, which may differ from what is there and from what others see (spec 7.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from protocols.errors import GroupError
from protocols.groups import Group, QueueCount
from protocols.java import Queue, sort_queues, sorted_as_java

MemberIds: TypeAlias = Sequence[str]
"""Client ids as a broker lists them: an id that two connections have is there twice."""


@dataclass(frozen=True, slots=True)
class View:
    """What one member sees. What is left out it sees as the group has it.

    ``members``: the client ids that brokers list, or topic to these (a client asks a broker anew for each topic);
    an empty list is a broker that knows no member, which the client takes for a failure.
    ``topics``: topic to its queues in the member's cached route, given as a number, as a number per broker, or
    one by one; None where the route is unknown. Without a member list or a route nothing changes at the member.
    """

    members: MemberIds | Mapping[str, MemberIds] | None = None
    topics: Mapping[str, QueueCount | Sequence[Queue] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for listed in self.members.values() if isinstance(self.members, Mapping) else (self.members or (),):
            if isinstance(listed, str) or not all(isinstance(cid, str) for cid in listed):
                raise GroupError(f"view: members is {listed!r}, expected a list of client ids")


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Both lists of a strategy call, sorted as clients sort them. No queues (None) or ids: the member cannot tell.

    Compared and hashed as an object: members who see a topic alike share one.
    """

    queues: tuple[Queue, ...] | None
    cids: tuple[str, ...]


def seen_by_all(group: Group) -> dict[str, Seen]:
    """Topic to what members see who see the group as it is.

    Every connection of the group is in the member list, whatever it subscribes to (spec 7.6).
    """
    cids = tuple(sorted_as_java(member.allocation_id for member in group.members))
    return {topic: Seen(sort_queues(queues), cids) for topic, queues in group.topics.items()}


def seen_through(view: View, everyone: Mapping[str, Seen]) -> dict[str, Seen]:
    """Topic to what a member with this view sees."""
    of_topics: Mapping[str, MemberIds] = view.members if isinstance(view.members, Mapping) else {}
    of_all = None if view.members is None or isinstance(view.members, Mapping) else tuple(sorted_as_java(view.members))
    found = dict(everyone)
    for topic, usual in everyone.items():
        queues, cids = usual.queues, usual.cids
        if topic in view.topics:
            queues = _queues(topic, view.topics[topic])
        if topic in of_topics:
            cids = tuple(sorted_as_java(of_topics[topic]))
        elif of_all is not None:
            cids = of_all
        if queues is not usual.queues or cids is not usual.cids:
            found[topic] = Seen(queues, cids)
    return found


def _queues(topic: str, given: QueueCount | Sequence[Queue] | None) -> tuple[Queue, ...] | None:
    if given is None:
        return None
    if isinstance(given, int | Mapping):
        return sort_queues(Group.of({topic: given}, members={}).topics[topic])
    for queue in given:
        if not isinstance(queue, Queue) or queue.topic != topic:
            raise GroupError(f"view: {queue!r} is no queue of topic {topic!r}")
    return sort_queues(set(given))
