"""A coordinator on a desk with members of the consumer protocol: requests by hand, invariants after each of them."""

from collections.abc import Mapping
from typing import Any

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator import OffsetsLeaders, OffsetsTopic, Topics, states
from kafka_coordinator.coordinator.consumer_groups import states as consumer_states
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.messages import (
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    ConsumerMetadata,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaving,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    SyncGroup,
)
from protocols.engine.nodes import Message, Time
from protocols.facts import Transition
from tests.kafka_coordinator.coordinator.coordinator_desk import G, Requests


def partitions(topic: str, *numbers: int) -> tuple[Partition, ...]:
    """Partitions of one topic."""
    return tuple((topic, number) for number in numbers)


class ConsumerDesk(Requests):
    """Requests about group ``g``; topic ``t`` has four partitions unless said otherwise."""

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        topics: Mapping[str, int] | None = None,
        *,
        storage: OffsetsTopic | None = None,
    ) -> None:
        super().__init__(settings, storage)
        self.answers: dict[int, Any] = {}
        self.edges: dict[tuple[str, str, str, str], None] = {}
        """Machine, state before, event, state after of every transition so far."""
        self.facts: list[tuple[Any, ...]] = []
        self.topics(topics or {"t": 4})

    @property
    def group(self) -> ConsumerGroup:
        """The group; `KeyError` if there is none of the consumer protocol."""
        return self.world.node.core.consumer_groups[G]

    @property
    def state(self) -> str:
        groups = self.world.node.core.consumer_groups
        return groups[G].state if G in groups else states.DEAD

    @property
    def classic_state(self) -> str:
        groups = self.world.node.core.groups
        return groups[G].state if G in groups else states.DEAD

    def standing(self, member_id: str) -> tuple[int, str]:
        """Epoch and state of a member."""
        standing = self.group.members[member_id].standing
        return standing.epoch, standing.state

    def epochs(self) -> tuple[int, int]:
        return self.group.epoch, self.group.target_epoch

    def send(self, request: Message) -> Any:
        """The answer, or None if the request is parked."""
        self.handle(request, "client")
        return self.answers.get(request[0])

    def look(self) -> None:
        for _, _, message in self.world.take_sent():
            self.answers[message[0]] = message
        for _, fact in self.world.take_facts():
            self.facts.append(fact)
            if isinstance(fact, Transition):
                self.edges[fact.machine, fact.before, fact.event, fact.after] = None
        for group in self.world.node.core.consumer_groups.values():
            check_invariants(group, self)

    # Requests.

    def join(self, member_id: str, topics: tuple[str, ...] | None = ("t",), **more: Any) -> Any:
        """A heartbeat that joins."""
        given = {"rebalance_timeout_ms": 30_000, "topics": topics, "owned": (), **more}
        return self.beat(member_id, 0, **given)

    def beat(self, member_id: str, epoch: int | None = None, **more: Any) -> Any:
        """A heartbeat, of the member's own epoch unless said otherwise."""
        if epoch is None:
            epoch = self.group.members[member_id].standing.epoch
        more.setdefault("client_id", member_id)
        return self.send(ConsumerGroupHeartbeat(self.number(), G, member_id, epoch, **more))

    def acknowledge(self, member_id: str, **more: Any) -> Any:
        """The member says that it owns exactly what it is assigned."""
        owned = tuple(sorted(self.group.members[member_id].standing.assigned))
        return self.beat(member_id, owned=owned, **more)

    def settle(self, *member_ids: str) -> None:
        """These members, or all, heartbeat and acknowledge until the group is stable."""
        for _ in range(20):
            for member_id in member_ids or list(self.group.members):
                self.instance_beat(member_id)
            if self.state in (consumer_states.STABLE, consumer_states.EMPTY):
                return
        raise AssertionError(f"the group does not settle: {self.state}")

    def instance_beat(self, member_id: str) -> None:
        instance_id = self.group.members[member_id].profile.instance_id
        self.beat(member_id, instance_id=instance_id)
        self.acknowledge(member_id, instance_id=instance_id)

    def describe(self) -> Any:
        return self.send(ConsumerGroupDescribe(self.number(), G))

    def topics(self, counts: Mapping[str, int], **more: Any) -> None:
        self.command(Topics(dict(counts), **more))

    def away_and_back(self, wait: Time = 100) -> None:
        """Another broker leads the group for a moment."""
        self.command(OffsetsLeaders(("another",)))
        self.command(OffsetsLeaders(("broker",)))
        self.advance(wait)

    def classic_join(
        self,
        member_id: str = "",
        owned: tuple[Partition, ...] = (),
        *,
        instance: str | None = None,
        protocols: tuple[str, ...] = ("range",),
        kind: str = "consumer",
    ) -> Any:
        metadata = ConsumerMetadata(("t",), owned)
        listed = tuple((name, metadata) for name in protocols)
        return self.send(JoinGroup(self.number(), G, member_id, instance, "c", 45_000, 20_000, kind, listed))

    def classic_sync(self, member_id: str, generation: int, assignments: Mapping[str, Any] | None = None) -> Any:
        return self.send(SyncGroup(self.number(), G, member_id, generation, None, None, None, assignments or {}))

    def classic_beat(self, member_id: str, generation: int) -> str:
        error: str = self.send(Heartbeat(self.number(), G, member_id, generation, None)).error
        return error

    def classic_group(self, owned: tuple[Partition, ...] = partitions("t", 0, 1, 2, 3)) -> str:
        """A stable classic group of one member, in generation 1; its id."""
        member_id: str = self.classic_join().member_id
        self.classic_join(member_id)
        self.advance(3000)
        assert self.classic_sync(member_id, 1, {member_id: owned}).error == "NONE"
        return member_id

    def leave(self, *members: tuple[str, str | None]) -> list[str]:
        leaving = tuple(Leaving(*each) for each in members)
        return [error for _, _, error in self.send(LeaveGroup(self.number(), G, leaving)).members]

    def commit(self, member_id: str = "", epoch: int = -1, version: int = 9, topic: str = "t") -> str:
        offsets = (((topic, 0), 7, ""),)
        error: str = self.send(OffsetCommit(self.number(), G, member_id, epoch, None, offsets, version)).errors[0][1]
        return error

    def fetch(self, member_id: str | None = None, epoch: int = -1) -> tuple[str, dict[Partition, int]]:
        answer = self.send(OffsetFetch(self.number(), G, None, member_id, epoch))
        return answer.error, {partition: offset for partition, offset, _ in answer.offsets}

    def delete_offset(self, topic: str) -> str:
        error: str = self.send(OffsetDelete(self.number(), G, ((topic, 0),))).errors[0][1]
        return error


def check_invariants(group: ConsumerGroup, desk: ConsumerDesk) -> None:
    """Spec 9 no. 7, and that what is counted is what there is."""
    owners: dict[Partition, str] = {}
    for member in group.members.values():
        standing = member.standing
        assert not standing.assigned & standing.pending
        for partition in (*standing.assigned, *standing.pending):
            assert owners.setdefault(partition, member.id) == member.id, f"{partition} has two owners"
        assert standing.epoch <= group.target_epoch + 1
        assert bool(standing.pending) <= (standing.state == consumer_states.UNREVOKED)
    assert group.owners == owners
    assert group.target_epoch <= group.epoch
    assert group.state == group.derived_state()
    names = [topic for member in group.members.values() for topic in member.profile.topics]
    assert group.by_name == {topic: names.count(topic) for topic in names}
    patterns = [member.profile.regex for member in group.members.values() if member.profile.regex]
    assert group.patterns == {regex: patterns.count(regex) for regex in patterns}
    assert set(group.resolved) <= set(patterns)
    resolved = [topic for each in group.resolved.values() for topic in each.topics]
    assert group.by_pattern == {topic: resolved.count(topic) for topic in resolved}
    assert set(group.target) <= set(group.members)
    with_id = {member.profile.instance_id: member.id for member in group.members.values() if member.profile.instance_id}
    assert group.static_members == with_id
    classic = [member for member in group.members.values() if member.profile.classic is not None]
    assert group.spoken_classic == len(classic)
    timers = {timer for timer in desk.world.timers if timer[0] == "session" and timer[1] == group.id}
    assert timers == {("session", group.id, member_id) for member_id in group.members}
