"""Anybody sends anything at any time: the invariants of spec 9.1 hold after every event, and every edge is taken."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from kafka_coordinator import errors
from kafka_coordinator.coordinator import OffsetsLeaders, Topics, states
from kafka_coordinator.coordinator.states import GROUP, PREPARING_REBALANCE
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk
from tests.kafka_coordinator.coordinator.coordinator_stories import DIRECTED

SETTINGS = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 60_000, "group.max.size": 4}
PROTOCOLS = st.sampled_from([("range",), ("range", "roundrobin"), ("roundrobin", "range"), ("roundrobin",), ()])
TOPICS = st.sampled_from([("t",), ("t", "u")])
INSTANCES = st.sampled_from([None, "i", "j"])
TIMEOUTS = st.sampled_from([6_000, 20_000])
WHO = st.integers(0, 9)


class Play(RuleBasedStateMachine):
    """Requests of members, former members and strangers, valid or not, and time."""

    edges: dict[tuple[str, str, str], None]

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(SETTINGS)
        self.known: list[str] = ["", "ghost"]
        """Ids that somebody might use."""

    def teardown(self) -> None:
        type(self).edges.update(self.desk.edges)

    def led(self) -> bool:
        return bool(self.desk.world.node.core.refusal("g") == "NONE")

    def exists(self) -> bool:
        return "g" in self.desk.world.node.core.groups

    def members(self) -> list[str]:
        return list(self.desk.group.members) if self.exists() else []

    def somebody(self, who: int) -> str:
        """Mostly members, else anybody ever heard of."""
        members = self.members()
        return members[who % len(members)] if members and who < 6 else self.known[who % len(self.known)]

    def learn(self, member_ids: list[str]) -> None:
        self.known += [each for each in member_ids if each not in self.known]

    @initialize(members=st.integers(0, 3))
    def begin(self, members: int) -> None:
        if members:
            self.learn(self.desk.stable(members, session=6000, rebalance=20_000))

    @rule(who=WHO, instance=INSTANCES, protocols=PROTOCOLS, topics=TOPICS, session=TIMEOUTS, rebalance=TIMEOUTS)
    def join(
        self, who: int, instance: str | None, protocols: tuple[str, ...], topics: tuple[str, ...], **timeouts: int
    ) -> None:
        answer = self.desk.join(self.somebody(who), instance=instance, protocols=protocols, topics=topics, **timeouts)
        self.check(answer)

    @rule(instance=INSTANCES, protocols=PROTOCOLS, version=st.sampled_from([3, 8, 9]), session=TIMEOUTS)
    def join_anew(self, instance: str | None, protocols: tuple[str, ...], version: int, session: int) -> None:
        answer = self.desk.join(
            instance=instance, protocols=protocols, version=version, session=session, rebalance=20_000
        )
        self.check(answer)
        if answer is not None and answer.error == "MEMBER_ID_REQUIRED":
            assert answer.member_id in self.desk.group.pending_join
            self.learn([answer.member_id])

    @precondition(led)
    @rule(who=WHO)
    def join_with_a_pending_id(self, who: int) -> None:
        pending = list(self.desk.group.pending_join) if self.exists() else []
        if pending:
            self.check(self.desk.join(pending[who % len(pending)], session=6000, rebalance=20_000))

    @precondition(exists)
    @rule(who=WHO, off=st.sampled_from([0, 0, 0, -1]), named=st.booleans())
    def sync(self, who: int, off: int, named: bool) -> None:
        group, member_id = self.desk.group, self.somebody(who)
        assignments = {each: (("t", number),) for number, each in enumerate(group.members)}
        answer = self.desk.sync(
            member_id, group.generation + off, assignments, protocol=group.protocol if named else None
        )
        self.check(answer)

    @precondition(exists)
    @rule(syncing=st.sampled_from(["nobody", "followers", "leader", "everybody"]))
    def everybody_rejoins(self, syncing: str) -> None:
        for member_id in self.members():
            member = self.desk.group.members.get(member_id)
            if member is not None and self.desk.state == PREPARING_REBALANCE:
                protocols = tuple(name for name, _ in member.protocols)
                self.desk.join(member_id, instance=member.instance_id, protocols=protocols, rebalance=20_000)
        self.desk.advance(6000)
        for member_id in sorted(self.members(), key=lambda each: each == self.desk.group.leader):
            role = "leader" if member_id == self.desk.group.leader else "followers"
            if syncing in (role, "everybody"):
                self.desk.sync(member_id, assignments={member_id: (("t", 0),)})

    @precondition(exists)
    @rule(who=WHO)
    def a_member_rejoins_unchanged(self, who: int) -> None:
        for member in self.desk.group.ordered()[who % 3 :][:1]:
            protocols, topics = tuple(name for name, _ in member.protocols), member.protocols[0][1].topics
            self.check(self.desk.join(member.id, instance=member.instance_id, protocols=protocols, topics=topics))

    @precondition(lambda self: self.exists() and self.desk.group.static_members)
    @rule(who=WHO, same=st.booleans(), version=st.sampled_from([8, 9]))
    def a_static_member_is_back(self, who: int, same: bool, version: int) -> None:
        group = self.desk.group
        instances = list(group.static_members)
        instance = instances[who % len(instances)]
        names = tuple(name for name, _ in group.members[group.static_members[instance]].protocols)
        protocols = names if same else names[::-1]
        self.check(self.desk.join(instance=instance, protocols=protocols, version=version, rebalance=20_000))

    @precondition(exists)
    @rule(who=WHO, off=st.sampled_from([0, 0, 0, 1]), instance=st.sampled_from([None, None, "i"]))
    def heartbeat(self, who: int, off: int, instance: str | None) -> None:
        group, member_id = self.desk.group, self.somebody(who)
        member, state = group.members.get(member_id), group.state
        error = self.desk.heartbeat(member_id, group.generation + off, instance)
        if member is None:
            assert error in ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID")
        elif instance is None or member.instance_id == instance:
            expected = "REBALANCE_IN_PROGRESS" if state == PREPARING_REBALANCE else "NONE"
            assert error == (expected if off == 0 else "ILLEGAL_GENERATION")

    @rule(who=st.lists(WHO, max_size=3), instance=INSTANCES)
    def leave(self, who: list[int], instance: str | None) -> None:
        entries: list[str | tuple[str, str | None]] = [self.somebody(each) for each in who]
        if self.led():
            self.desk.leave(*entries, *([("", instance)] if instance else []))

    @rule(who=WHO, off=st.sampled_from([0, 0, -1]), topic=st.sampled_from("tu"))
    def commit(self, who: int, off: int, topic: str) -> None:
        generation = self.desk.group.generation + off if self.exists() else -1
        assert self.desk.commit(self.somebody(who), generation, topic=topic) in vars(errors)

    @rule()
    def commit_of_nobody(self) -> None:
        alone = self.led() and (not self.exists() or self.desk.state == states.EMPTY)
        assert (self.desk.commit() == "NONE") == alone

    @precondition(exists)
    @rule(topic=st.sampled_from("tu"))
    def delete_offset(self, topic: str) -> None:
        self.desk.delete_offset(topic)
        self.desk.fetched()
        self.desk.describe()

    @precondition(led)
    @rule()
    def delete(self) -> None:
        before = self.desk.state
        expected = {states.DEAD: "GROUP_ID_NOT_FOUND", states.EMPTY: "NONE"}.get(before, "NON_EMPTY_GROUP")
        assert self.desk.delete() == expected

    @rule(milliseconds=st.sampled_from([1, 1000, 3000, 6000, 20_000, 60_000]))
    def time_passes(self, milliseconds: int) -> None:
        self.desk.advance(milliseconds)

    @precondition(exists)
    @rule(seconds=st.integers(1, 12))
    def time_passes_while_members_heartbeat(self, seconds: int) -> None:
        for _ in range(seconds):
            self.desk.advance(2000)
            for member_id in self.members():
                self.desk.heartbeat(member_id)

    @rule(wait=st.sampled_from([0, 50, 200]))
    def another_broker_leads_for_a_while(self, wait: int) -> None:
        self.desk.command(OffsetsLeaders(("another",)))
        assert self.desk.commit() == "NOT_COORDINATOR"
        self.desk.command(OffsetsLeaders(("broker",)))
        self.desk.advance(wait)

    @rule(topics=st.sampled_from([{"t": 1}, {"t": 1, "u": 1}]))
    def topics_change(self, topics: dict[str, int]) -> None:
        self.desk.command(Topics(topics))

    @rule(peer=st.sampled_from(["client", "nobody"]))
    def a_connection_closes(self, peer: str) -> None:
        self.desk.world.closed(self.desk.now, peer)

    def check(self, answer: object) -> None:
        """Every error is one of Kafka's; members that there are now are known to the players."""
        if answer is not None:
            assert answer.error in vars(errors)  # type: ignore[attr-defined]
        self.learn(self.members())


def test_random_play_and_a_few_stories_take_every_edge(capsys: pytest.CaptureFixture[str]) -> None:
    played: dict[tuple[str, str, str], None] = {}
    machine = type("Playing", (Play,), {"edges": played})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=100, stateful_step_count=60, deadline=None, derandomize=True)
    )
    edges = {(edge.before, edge.event, edge.after) for edge in GROUP.edges}
    assert len(edges) == len(GROUP.edges)
    directed = {edge for story in DIRECTED for edge in story().edges}
    with capsys.disabled():
        print(
            f"\nstate graph of a group: {len(edges)} edges, {len(edges & set(played))} taken by random play, ", end=""
        )
        print(f"{len(edges & (set(played) | directed))} with {len(DIRECTED)} stories")
    assert set(played) | directed == edges
    assert len(edges & set(played)) > 35
