"""Who owns which queues."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Self

from protocols.errors import GroupError
from protocols.groups import Group
from protocols.queues import Queue, sort_queues


class Allocation(Mapping[str, tuple[Queue, ...]]):
    """Members (every one of the group, idle ones too) to their queues, each a sorted tuple. Immutable.

    Queues with several owners or none can be represented, because RocketMQ has them, and Kafka's sticky assignors
    make them: see `double_owned`, `unowned`, and `check`. ``withheld`` maps queues that a cooperative assignor holds
    back in this round to the member who gets them in the next. ``gone``: queues that the group's topics no longer
    have, which may be owned all the same, because these assignors hand such queues out: see `vanished`. Raises
    `GroupError` for a member that the group lacks, and for any other queue that it lacks.
    """

    def __init__(
        self,
        group: Group,
        owned: Mapping[str, Iterable[Queue]],
        withheld: Mapping[Queue, str] | None = None,
        gone: Iterable[Queue] = (),
    ) -> None:
        self.group = group
        self.withheld: Mapping[Queue, str] = dict(withheld or {})
        for id in owned:
            group.member(id)
        self._owned = {each.id: sort_queues(owned.get(each.id, ())) for each in group.members}
        lacking = self._owned_queues.difference(group.queues)
        unknown = lacking.difference(gone)
        if unknown:
            raise GroupError(f"{sort_queues(unknown)[0]} is no queue of the group's topics")
        self.vanished = sort_queues(lacking)

    vanished: tuple[Queue, ...]
    """Queues that somebody owns and the group's topics do not have, sorted. They count in no figure."""

    @classmethod
    def trusted(
        cls,
        group: Group,
        owned: Mapping[str, tuple[Queue, ...]],
        withheld: Mapping[Queue, str] | None = None,
        gone: Iterable[Queue] = (),
    ) -> Self:
        """Made without any check, for strategies whose answer is right by construction.

        ``owned`` holds every member, in the group's order, with a sorted tuple of the group's own queues, and of those
        that are ``gone``.
        """
        made = cls.__new__(cls)
        made.group, made._owned, made.withheld = group, dict(owned), dict(withheld or {})
        gone = list(gone)
        made.vanished = sort_queues(made._owned_queues.intersection(gone)) if gone else ()
        return made

    def __getitem__(self, member: str) -> tuple[Queue, ...]:
        return self._owned[member]

    def __iter__(self) -> Iterator[str]:
        return iter(self._owned)

    def __len__(self) -> int:
        return len(self._owned)

    def __repr__(self) -> str:
        return f"Allocation({self._owned!r})"

    def __eq__(self, other: object) -> bool:
        return self._owned == other._owned if isinstance(other, Allocation) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def _owned_queues(self) -> set[Queue]:
        return set().union(*self._owned.values())

    @cached_property
    def owners(self) -> Mapping[Queue, tuple[str, ...]]:
        """Each queue of the group to the members who own it, in the group's order."""
        found: dict[Queue, tuple[str, ...]] = dict.fromkeys(self.group.queues, ())
        for member, queues in self._owned.items():
            for queue in queues:
                if queue in found:
                    found[queue] += (member,)
        return found

    @cached_property
    def unowned(self) -> tuple[Queue, ...]:
        """Queues of subscribed topics that nobody owns, sorted."""
        subscribed = {topic for member in self.group.members for topic in member.subscription}
        return sort_queues(
            queue for queue in self.group.queues if queue.topic in subscribed and queue not in self._owned_queues
        )

    @cached_property
    def double_owned(self) -> tuple[Queue, ...]:
        """Queues with more than one owner, sorted."""
        if sum(map(len, self._owned.values())) == len(self._owned_queues):
            return ()
        return sort_queues(queue for queue, owners in self.owners.items() if len(owners) > 1)

    @cached_property
    def unsubscribed(self) -> tuple[tuple[str, Queue], ...]:
        """(member, queue) where the member does not subscribe to the queue's topic."""
        return tuple(
            (member.id, queue)
            for member in self.group.members
            for queue in self._owned[member.id]
            if queue.topic not in member.subscription
        )

    def check(self) -> None:
        """Raise `GroupError` unless every queue of a subscribed topic has exactly one owner, who subscribes, and no
        other queue has any."""
        if self.vanished:
            raise GroupError(f"{self.vanished[0]} is owned, and its topic does not have it any more")
        if self.double_owned:
            queue = self.double_owned[0]
            raise GroupError(f"{queue} has {len(self.owners[queue])} owners: {', '.join(self.owners[queue])}")
        if self.unowned:
            raise GroupError(f"{self.unowned[0]} has no owner")
        if self.unsubscribed:
            member, queue = self.unsubscribed[0]
            raise GroupError(f"{member!r} owns {queue} without subscribing to its topic")
