"""A coordinator on a desk: requests by hand, the invariants of spec 9.1 after each of them."""

from collections.abc import Mapping
from typing import Any

from kafka_coordinator.coordinator import BrokerSettings, Coordinator, OffsetsTopic, states
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.settings import with_settings
from kafka_coordinator.messages import (
    ConsumerGroupHeartbeat,
    ConsumerMetadata,
    DeleteGroup,
    DescribeGroup,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaving,
    ListGroups,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    SyncGroup,
)
from kafka_coordinator.versions import VERSIONS
from protocols.engine.nodes import Message, Time
from protocols.engine.single import SingleNode
from protocols.facts import Transition

ONE_PARTITION = {"offsets.topic.num.partitions": 1}
G = "g"


class Requests:
    """A coordinator whose clock the test turns, and requests to it. What it sends is looked at after each of them."""

    _count = 0

    def __init__(
        self,
        settings: Mapping[str, Any] | None,
        storage: OffsetsTopic | None = None,
        name: str = "broker",
        leaders: tuple[str, ...] | None = None,
    ) -> None:
        given = dict(settings or {})
        version = VERSIONS.named(given.pop("version", "4.1"), "test")
        self.settings = with_settings(BrokerSettings(version=version), {**ONE_PARTITION, **given}, "test")
        self.world = SingleNode(Coordinator(name, self.settings, storage, leaders))
        self.world.start()

    def look(self) -> None:
        """Take what was sent and told, and check the invariants."""
        raise NotImplementedError

    @property
    def now(self) -> Time:
        return self.world.now

    def number(self) -> int:
        self._count += 1
        return self._count

    def handle(self, request: Message, sender: str) -> None:
        """Timers that are due at once fire."""
        self.world.receive(self.now, sender, request)
        self.world.advance(self.now)
        self.look()

    def command(self, message: Message) -> None:
        self.world.command(self.now, message)
        self.world.advance(self.now)
        self.look()

    def advance(self, milliseconds: Time) -> None:
        """Let time pass; the invariants are checked after every timer."""
        until = self.now + milliseconds
        while self.world.fire_next(until):
            self.look()
        self.world.advance(until)

    def delete(self) -> str:
        error: str = self.send(DeleteGroup(self.number(), G)).error
        return error

    def listed(self, **filters: tuple[str, ...]) -> Any:
        return self.send(ListGroups(self.number(), **filters)).groups

    def send(self, request: Message) -> Any:
        """The answer, or None if the request is parked."""
        raise NotImplementedError


class Desk(Requests):
    """Sends requests about group ``g`` at ``now``; an answer is returned, or kept in ``answers`` when it comes later.

    ``settings`` are a broker's, under Kafka's names; ``__consumer_offsets`` has one partition unless they say so.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        name: str = "broker",
        storage: OffsetsTopic | None = None,
        leaders: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(settings, storage, name, leaders)
        self.answers: dict[int, tuple[Time, Any]] = {}
        """Correlation to when it was answered and how."""
        self.edges: dict[tuple[str, str, str], None] = {}
        """State before, event, state after of every transition so far."""
        self.generations: dict[str, int] = {}

    @property
    def group(self) -> Group:
        """The group; `KeyError` if there is none."""
        return self.world.node.core.groups[G]

    @property
    def state(self) -> str:
        groups = self.world.node.core.groups
        return groups[G].state if G in groups else states.DEAD

    def send(self, request: Message, sender: str = "client") -> Any:
        """The answer, or None if the request is parked."""
        self.handle(request, sender)
        answered = self.answers.get(request[0])
        return None if answered is None else answered[1]

    def look(self) -> None:
        for time, _, message in self.world.take_sent():
            assert message[0] not in self.answers, f"{message} answers a request that was answered before"
            self.answers[message[0]] = time, message
        for _, fact in self.world.take_facts():
            if isinstance(fact, Transition) and fact.machine == states.GROUP.name:
                self.edges[fact.before, fact.event, fact.after] = None
                if fact.before == states.ABSENT:
                    self.generations.pop(fact.of, None)
        for group in self.world.node.core.groups.values():
            check_invariants(group, self)
            assert group.generation >= self.generations.get(group.id, 0), "a generation goes back"
            self.generations[group.id] = group.generation

    # Requests.

    def join(
        self,
        member_id: str = "",
        *,
        name: str = "c",
        instance: str | None = None,
        protocols: tuple[str, ...] = ("range",),
        topics: tuple[str, ...] = ("t",),
        session: int = 45_000,
        rebalance: int = 300_000,
        version: int = 9,
        kind: str = "consumer",
        group: str = G,
        sender: str = "client",
    ) -> Any:
        metadata = ConsumerMetadata(topics)
        listed = tuple((protocol, metadata) for protocol in protocols)
        request = JoinGroup(self.number(), group, member_id, instance, name, session, rebalance, kind, listed, version)
        return self.send(request, sender)

    def new(self, name: str = "c", **more: Any) -> tuple[str, int]:
        """A dynamic member's two requests; its id and the correlation of the second, which may be parked."""
        member_id = self.join(name=name, **more).member_id
        self.join(member_id, name=name, **more)
        return member_id, self._count

    def sync(
        self,
        member_id: str,
        generation: int | None = None,
        assignments: Mapping[str, Any] | None = None,
        *,
        instance: str | None = None,
        protocol: str | None = None,
    ) -> Any:
        current = self.group.generation if generation is None else generation
        request = SyncGroup(self.number(), G, member_id, current, instance, None, protocol, assignments or {})
        return self.send(request)

    def heartbeat(self, member_id: str, generation: int | None = None, instance: str | None = None) -> str:
        current = self.group.generation if generation is None else generation
        error: str = self.send(Heartbeat(self.number(), G, member_id, current, instance)).error
        return error

    def leave(self, *members: str | tuple[str, str | None]) -> list[str]:
        """The error of each entry: a member id, or a member id and an instance id."""
        leaving = tuple(Leaving(*each) if isinstance(each, tuple) else Leaving(each, None) for each in members)
        return [error for _, _, error in self.send(LeaveGroup(self.number(), G, leaving)).members]

    def commit(
        self,
        member_id: str = "",
        generation: int = -1,
        offset: int = 1,
        *,
        topic: str = "t",
        instance: str | None = None,
        metadata: str = "",
        version: int = 9,
        group: str = G,
    ) -> str:
        offsets = (((topic, 0), offset, metadata),)
        request = OffsetCommit(self.number(), group, member_id, generation, instance, offsets, version)
        error: str = self.send(request).errors[0][1]
        return error

    def fetched(self, group: str = G) -> dict[tuple[str, int], int]:
        answer = self.send(OffsetFetch(self.number(), group, None))
        return {partition: offset for partition, offset, _ in answer.offsets}

    def delete_offset(self, topic: str = "t") -> tuple[str, list[str]]:
        answer = self.send(OffsetDelete(self.number(), G, ((topic, 0),)))
        return answer.error, [error for _, error in answer.errors]

    def describe(self, version: int = 6) -> Any:
        return self.send(DescribeGroup(self.number(), G, version))

    def consumer(self, member_id: str = "k", epoch: int = 0, **more: Any) -> Any:
        """A heartbeat of the consumer protocol; one that joins subscribes to ``t``, unless ``more`` says else."""
        if epoch == 0:
            more = {"rebalance_timeout_ms": 300_000, "topics": ("t",), "owned": (), **more}
        return self.send(ConsumerGroupHeartbeat(self.number(), G, member_id, epoch, client_id=member_id, **more))

    # Groups in a state.

    def stable(self, members: int = 2, **more: Any) -> list[str]:
        """Members of a group that has come to rest in generation 1; the first one leads."""
        made = [self.new(f"c{number}", **more) for number in range(members)]
        self.advance(self.settings.group_initial_rebalance_delay_ms * 2)
        ids = [member_id for member_id, _ in made]
        self.settle(ids)
        return ids

    def settle(self, ids: list[str]) -> None:
        """Everybody syncs; the leader brings an assignment of one partition each."""
        leader = self.group.leader
        assignments = {member_id: (("t", number),) for number, member_id in enumerate(ids)}
        for member_id in sorted(ids, key=lambda each: each == leader):
            self.sync(member_id, assignments=assignments if member_id == leader else None)
        assert self.state == states.STABLE


def check_invariants(group: Group, desk: Desk) -> None:
    """Spec 9.1. A static member's old id may stay in pendingSync when the member is replaced (as in Kafka)."""
    members = group.members
    parked_joins = [member.id for member in members.values() if member.join is not None]
    parked_syncs = [member.id for member in members.values() if member.sync is not None]
    assert len(parked_joins) == group.parked_joins
    assert not set(group.pending_join) & set(members)
    assert not parked_syncs or group.state == states.COMPLETING_REBALANCE
    assert not parked_joins or group.state == states.PREPARING_REBALANCE
    assert (group.leader in members) if members else group.leader is None
    assert bool(members) or group.state in (states.EMPTY, states.PREPARING_REBALANCE)
    if group.state in (states.EMPTY, states.PREPARING_REBALANCE):
        assert not group.pending_sync
    timers = desk.world.timers
    assert ("join", group.id) in timers or group.state != states.PREPARING_REBALANCE
    assert (("sync", group.id) in timers) == bool(group.pending_sync)
    if group.delay is not None:
        assert group.state == states.PREPARING_REBALANCE
        assert group.previous == states.EMPTY
    with_timer = {timer[2] for timer in timers if timer[0] == "session" and timer[1] == group.id}
    silent = set(parked_joins) | set(parked_syncs)
    assert with_timer <= set(members) | set(group.pending_join)
    assert with_timer >= (set(members) - silent) | set(group.pending_join)
    assert sorted(group.static_members.values()) == sorted(each.id for each in members.values() if each.instance_id)
    supported = {name: count for name, count in group.supported.items() if count}
    names = [name for member in members.values() for name, _ in member.protocols]
    assert supported == {name: names.count(name) for name in names}
    assert sum(group.names.values()) == len(members)
    assert sorted(member.id for member in group.ordered()) == sorted(members)
