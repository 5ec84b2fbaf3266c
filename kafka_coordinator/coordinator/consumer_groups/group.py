"""A group of the consumer protocol: its fields, and the small changes of which every procedure is made (spec 6.1).

Nothing here sends, sets timers, writes records or decides when; procedures are in the other modules.

In Kafka `ConsumerGroup` and `ModernGroup`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups import states, uniform_balance
from kafka_coordinator.coordinator.consumer_groups.member import (
    ConsumerMember,
    Partitions,
    Profile,
    Standing,
    observe_epochs,
)
from kafka_coordinator.coordinator.log import CommittedOffset
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Transition
from protocols.java import Queue, sorted_as_java
from protocols.node_state import Apart, Emptied, NodeState
from protocols.state_machine import ALWAYS


class Resolved(NamedTuple):
    """The topics that a pattern matches."""

    topics: frozenset[str]
    image: int
    """Number of the cluster metadata with which it was resolved."""
    at: Time


@dataclass(slots=True, eq=False)
class ConsumerGroup(NodeState):
    """One group. Members are held in the order in which they came."""

    id: str
    partition: int
    """Of ``__consumer_offsets``."""
    _state: str = states.ABSENT
    epoch: int = 0
    target_epoch: int = 0
    """The group epoch for which the target assignment was computed."""
    assigned_at: Time | None = None
    """When it was computed; None: unknown, and the next one need not wait."""
    metadata_hash: str = ""
    """Stands for all that is known of the subscribed topics; empty: none of them exists."""
    stale: bool = True
    """Whether a subscribed topic has changed since the hash was computed."""
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    most_before: int = 0
    """The most members that there were at once before the latest came or went; see `most_members`."""
    converted: tuple[str, ...] = ()
    """Members in the order of the log, in the request that converts a classic group: it still sees the map into which
    it has put each of them once, in the classic group's order."""
    id_bytes: int = 0
    """Of all members' ids."""
    static_members: dict[str, str] = field(default_factory=dict)
    """Instance id to member id."""
    target: dict[str, tuple[Partition, ...]] = field(default_factory=dict)
    """Member id to its target, topics and partitions in the order in which they were given."""
    balance: Apart[Emptied[uniform_balance.UniformBalance | None]] = None
    """What the last computation of a uniform target left for the next one."""
    iterated: Apart[Emptied[uniform_balance.IteratedTargets | None]] = None
    """The targets as the last computation of another one saw them."""
    owners: dict[Partition, str] = field(default_factory=dict)
    """Partition to the member that has it assigned or pending revocation."""
    by_name: uniform_balance.Counts[str] = field(default_factory=dict)
    """Topic to how many members subscribe to it by name."""
    by_pattern: uniform_balance.Counts[str] = field(default_factory=dict)
    """Topic to how many resolved patterns match it."""
    patterns: uniform_balance.Counts[str] = field(default_factory=dict)
    """Pattern to how many members subscribe to it."""
    resolved: dict[str, Resolved] = field(default_factory=dict)
    refreshing: tuple[str, ...] = ()
    """The patterns that are being resolved."""
    assignors: uniform_balance.Counts[str] = field(default_factory=dict)
    """Server-side assignor to how many members ask for it."""
    offsets: dict[Partition, CommittedOffset] = field(default_factory=dict)
    names: uniform_balance.Counts[str] = field(default_factory=dict)
    """Client id to how many members have it."""
    spoken_classic: int = 0
    """How many members speak the classic protocol."""
    granted: dict[str, tuple[Queue, ...]] = field(default_factory=dict)
    """Client id to the queues that were granted to it as the observer saw; only names that have some."""
    ended_epoch: int = 0
    """The last epoch whose rebalance the observer saw end."""
    moved: bool = False
    """Whether a grant has changed since then."""
    told_epochs: tuple[int, int] = (0, 0)
    """As the observer saw them last."""
    _standing_at: uniform_balance.Counts[int] = field(default_factory=dict)
    """Epoch to how many members are stable at it."""
    _alike: bool | None = True
    """`alike` as it was counted last; None: to be counted."""
    forgotten_at: int = 0
    """End of the log when the group was forgotten; see `Core.forgotten`."""

    # State.

    @property
    def state(self) -> str:
        """The state that the group has taken (one of the states of `states.GROUP`)."""
        return self._state

    def derived_state(self) -> str:
        if not self.members:
            return states.EMPTY
        if self.epoch > self.target_epoch:
            return states.ASSIGNING
        reconciled = self._standing_at.get(self.target_epoch, 0) == len(self.members)
        return states.STABLE if reconciled else states.RECONCILING

    def settle(self, event: str, out: Outbox) -> None:
        """Take the edge that the event and the condition of the group say; `IllegalTransition` where there is none."""
        self._take(event, states.GUARDS[self.derived_state()], out)
        self.told_epochs = observe_epochs(self.id, self.told_epochs, (self.epoch, self.target_epoch), out)

    def end(self, event: str, out: Outbox) -> None:
        self._take(event, ALWAYS, out)

    def _take(self, event: str, guard: str, out: Outbox) -> None:
        before = self._state
        self._state = states.GROUP.next_state(before, event, guard)
        out.observe(Transition(states.GROUP.name, self.id, before, event, self._state))

    # Members.

    @property
    def most_members(self) -> int:
        """The most members that there have been at once: the orders of Kafka's maps depend on it."""
        return max(self.most_before, len(self.members))

    def read_again(self) -> None:
        """The request that has converted the group is over: its members are put anew, as the log has them."""
        if self.converted:
            in_order = dict.fromkeys((*self.converted, *self.members))
            self.members = {member_id: self.members[member_id] for member_id in in_order if member_id in self.members}
            self.converted, self.balance = (), None

    def put(self, member: ConsumerMember) -> None:
        self._alike = None
        self.most_before = self.most_members
        self.members[member.id] = member
        self.id_bytes += len(member.id.encode())
        self._count(member.profile, 1)
        self._count_standing(member.standing, 1)
        if member.profile.instance_id is not None:
            self.static_members[member.profile.instance_id] = member.id
        self._own(member.id, member.standing)
        if self.balance is not None:
            self.balance.add(member.id)

    def remove(self, member: ConsumerMember) -> None:
        """A member leaves with its target; what it had is free at once."""
        self._alike = None
        self.most_before = self.most_members
        del self.members[member.id]
        self.id_bytes -= len(member.id.encode())
        target = self.target.pop(member.id, ())
        if self.balance is not None:
            self.balance.remove(member.id, target)
        self._count(member.profile, -1)
        self._count_standing(member.standing, -1)
        self.forget_instance(member.profile.instance_id, member.id)
        self._disown(member.id, member.standing)
        if member.profile.regex:
            self.forget_unused(member.profile.regex)

    def forget_instance(self, instance_id: str | None, member_id: str) -> None:
        """The member has this instance id no more, if it had it."""
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]

    def set_profile(self, member: ConsumerMember, profile: Profile) -> None:
        self._alike = None
        before = member.profile
        self._count(before, -1)
        self._count(profile, 1)
        member.profile = profile
        if profile.instance_id is not None:
            self.static_members[profile.instance_id] = member.id
        if before.regex and before.regex != profile.regex:
            self.forget_unused(before.regex)

    def set_standing(self, member: ConsumerMember, standing: Standing) -> None:
        self._alike = None
        before = member.standing
        self._count_standing(before, -1)
        self._count_standing(standing, 1)
        member.standing = standing
        if before.assigned is not standing.assigned or before.pending is not standing.pending:
            self._disown(member.id, before)
            self._own(member.id, standing)

    def free(self, partitions: Partitions) -> Partitions:
        """Those of the partitions that no member has assigned or pending revocation."""
        return partitions.difference(self.owners)

    def _own(self, member_id: str, standing: Standing) -> None:
        for partitions in (standing.assigned, standing.pending):
            self.owners.update(dict.fromkeys(partitions, member_id))

    def _disown(self, member_id: str, standing: Standing) -> None:
        owners = self.owners
        for partitions in (standing.assigned, standing.pending):
            for partition in partitions:
                if owners.get(partition) == member_id:
                    del owners[partition]

    def _count(self, profile: Profile, by: int) -> None:
        for topic in profile.topics:
            uniform_balance.count(self.by_name, topic, by)
        if profile.regex:
            uniform_balance.count(self.patterns, profile.regex, by)
        if profile.assignor is not None:
            uniform_balance.count(self.assignors, profile.assignor, by)
        if profile.classic is not None:
            self.spoken_classic += by
        uniform_balance.count(self.names, profile.client_id, by)

    def _count_standing(self, standing: Standing, by: int) -> None:
        if standing.state == states.M_STABLE:
            uniform_balance.count(self._standing_at, standing.epoch, by)

    # Subscriptions.

    def resolve(self, regex: str, resolved: Resolved) -> None:
        self.alike  # noqa: B018 - as it was counted before: what patterns match does not count it anew
        before = self.resolved.get(regex)
        for topic in before.topics if before else ():
            uniform_balance.count(self.by_pattern, topic, -1)
        for topic in resolved.topics:
            uniform_balance.count(self.by_pattern, topic, 1)
        self.resolved[regex] = resolved

    def forget_unused(self, regex: str) -> None:
        """Forget the topics of a pattern to which nobody subscribes any more."""
        if regex not in self.patterns and regex in self.resolved:
            self.alike  # noqa: B018 - as it is counted with those topics, which the log forgets after the member
            for topic in self.resolved.pop(regex).topics:
                uniform_balance.count(self.by_pattern, topic, -1)

    def subscribed(self) -> tuple[str, ...]:
        """All topics to which a member subscribes, by name or by a resolved pattern, in Java's order."""
        return tuple(sorted_as_java({**self.by_name, **self.by_pattern}))

    def subscribes(self, topic: str) -> bool:
        return topic in self.by_name or topic in self.by_pattern

    @property
    def alike(self) -> bool:
        """`homogeneous` as of the last record of a member: that is what a target is computed with where nothing but
        an older change asks for it."""
        if self._alike is None:
            self._alike = self.homogeneous()
        return self._alike

    def homogeneous(self) -> bool:
        """Whether all members subscribe alike, as the coordinator counts (spec 6.8)."""
        members = len(self.members)
        if not self.patterns:
            # A pattern that nobody has any more may still count with its topics.
            return self.by_pattern.keys() <= self.by_name.keys() and all(
                each == members for each in self.by_name.values()
            )
        if next(iter(self.patterns.values())) != members:
            return False
        return not self.by_name and all(each == 1 for each in self.by_pattern.values())

    def preferred_assignor(self) -> str | None:
        """The assignor that most members ask for; None: nobody asks."""
        return uniform_balance.preferred(self.assignors)
