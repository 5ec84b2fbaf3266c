"""Random play over groups of the consumer protocol takes every edge of both state graphs, with a few stories."""

from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from kafka_coordinator import errors
from kafka_coordinator.coordinator.consumer_groups.states import GROUP, MEMBER
from kafka_coordinator.messages import LEAVES, LEAVES_FOR_A_WHILE
from tests.kafka_coordinator.coordinator.consumer_groups.consumer_group_desk import ConsumerDesk
from tests.kafka_coordinator.coordinator.consumer_groups.stories import DIRECTED

WHO = st.integers(0, 3)
SUBSCRIPTIONS = st.sampled_from([("t",), ("t", "u"), ("u",), ()])
MACHINES = (GROUP, MEMBER)
EdgeTaken = tuple[str, str, str, str]


class Play(RuleBasedStateMachine):
    """Four clients, two of them static; each has an id that the next process of it changes."""

    edges: ClassVar[dict[EdgeTaken, None]]
    version: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.desk = ConsumerDesk(
            {
                "version": self.version,
                "group.consumer.session.timeout.ms": 45_000,
                "offsets.retention.minutes": 1,
                "offsets.retention.check.interval.ms": 60_000,
            },
            {"t": 3, "u": 2},
        )
        self.process = [0, 0, 0, 0]
        self.classic_ids: list[str] = []

    def teardown(self) -> None:
        self.edges.update(self.desk.edges)

    def name(self, who: int) -> str:
        return f"k{who}_{self.process[who]}"

    def instance(self, who: int) -> str | None:
        return f"i{who}" if who < 2 else None

    def has_group(self) -> bool:
        return "g" in self.desk.world.node.core.consumer_groups

    def epoch(self, who: int) -> int:
        member = self.desk.group.members.get(self.name(who)) if self.has_group() else None
        return 1 if member is None else max(member.standing.epoch, 1)

    @rule(who=WHO, topics=SUBSCRIPTIONS, assignor=st.sampled_from([None, "range"]))
    def join(self, who: int, topics: tuple[str, ...], assignor: str | None) -> None:
        answer = self.desk.join(self.name(who), topics, instance_id=self.instance(who), assignor=assignor)
        assert answer.error in vars(errors)

    @rule(who=WHO, regex=st.sampled_from(["t|u", "u.*"]))
    def join_with_a_pattern(self, who: int, regex: str) -> None:
        self.desk.join(self.name(who), None, regex=regex, instance_id=self.instance(who))

    @rule(who=WHO, off=st.sampled_from([0, 0, 0, -1, 1]), topics=st.none() | SUBSCRIPTIONS)
    def heartbeat(self, who: int, off: int, topics: tuple[str, ...] | None) -> None:
        self.desk.beat(self.name(who), self.epoch(who) + off, instance_id=self.instance(who), topics=topics)

    @precondition(has_group)
    @rule(times=st.integers(1, 3))
    def everybody_acknowledges(self, times: int) -> None:
        for _ in range(times):
            for member in list(self.desk.group.members.values()):
                if member.profile.classic is None and not member.is_away and member.id in self.desk.group.members:
                    self.desk.instance_beat(member.id)

    @rule(who=WHO)
    def leave(self, who: int) -> None:
        self.desk.beat(self.name(who), LEAVES, instance_id=self.instance(who))

    @rule(who=st.integers(0, 1), again=st.booleans())
    def leave_for_a_while(self, who: int, again: bool) -> None:
        self.desk.beat(self.name(who), LEAVES_FOR_A_WHILE, instance_id=self.instance(who))
        self.process[who] += again

    @rule()
    def a_classic_member_joins(self) -> None:
        answer = self.desk.classic_join()
        if answer is not None and answer.error == "MEMBER_ID_REQUIRED":
            self.classic_ids = [*self.classic_ids[-2:], answer.member_id]
            self.desk.classic_join(answer.member_id)

    @precondition(lambda self: bool(self.classic_ids))
    @rule(number=st.integers(0, 2), syncs=st.booleans())
    def a_classic_member_comes_again(self, number: int, syncs: bool) -> None:
        member_id = self.classic_ids[number % len(self.classic_ids)]
        member = self.desk.group.members.get(member_id) if self.has_group() else None
        owned = tuple(sorted(member.standing.assigned)) if member is not None else ()
        answer = self.desk.classic_join(member_id, owned)
        if answer is not None and syncs:
            self.desk.classic_sync(member_id, answer.generation, {member_id: (("t", 0),)})

    @precondition(lambda self: bool(self.classic_ids))
    @rule(number=st.integers(0, 2))
    def a_classic_member_heartbeats(self, number: int) -> None:
        member_id = self.classic_ids[number % len(self.classic_ids)]
        member = self.desk.group.members.get(member_id) if self.has_group() else None
        assert self.desk.classic_beat(member_id, 1 if member is None else member.standing.epoch) in vars(errors)

    @rule(milliseconds=st.sampled_from([1, 3000, 10_001, 20_000, 30_000, 45_000]))
    def time_passes(self, milliseconds: int) -> None:
        self.desk.advance(milliseconds)

    @precondition(has_group)
    @rule(seconds=st.integers(1, 8))
    def time_passes_while_members_heartbeat(self, seconds: int) -> None:
        for _ in range(seconds):
            self.desk.advance(5000)
            for member in list(self.desk.group.members.values()) if self.has_group() else ():
                if member.profile.classic is None and not member.is_away:
                    self.desk.beat(member.id, member.standing.epoch, instance_id=member.profile.instance_id)

    @rule(topics=st.sampled_from([{"t": 3, "u": 2}, {"t": 4, "u": 2}, {"t": 3}, {"t": 3, "u": 2, "u2": 1}]))
    def topics_change(self, topics: dict[str, int]) -> None:
        self.desk.topics(topics)

    @rule(wait=st.sampled_from([0, 100, 200]))
    def another_broker_leads_for_a_while(self, wait: int) -> None:
        self.desk.away_and_back(wait)

    @rule()
    def the_administrator_looks_and_deletes(self) -> None:
        self.desk.describe()
        self.desk.listed()
        self.desk.delete()

    @rule(who=WHO)
    def commit(self, who: int) -> None:
        assert self.desk.commit(self.name(who), self.epoch(who)) in vars(errors)
        self.desk.fetch(self.name(who), self.epoch(who))


def of_tables() -> set[EdgeTaken]:
    return {(machine.name, edge.before, edge.event, edge.after) for machine in MACHINES for edge in machine.edges}


def test_random_play_and_a_few_stories_take_every_edge(capsys: pytest.CaptureFixture[str]) -> None:
    played: dict[EdgeTaken, None] = {}
    for version in ("4.1", "4.3"):
        machine = type("Playing", (Play,), {"edges": played, "version": version})
        run_state_machine_as_test(
            machine, settings=settings(max_examples=150, stateful_step_count=60, deadline=None, derandomize=True)
        )
    edges = of_tables()
    assert len(edges) == sum(len(machine.edges) for machine in MACHINES)
    told = {edge for story in DIRECTED for edge in story().edges}
    with capsys.disabled():
        taken = edges & set(played)
        print(f"\nconsumer groups: {len(edges)} edges, {len(taken)} taken by random play, ", end="")
        print(f"{len(edges & (set(played) | told))} with {len(DIRECTED)} stories")
    left = sorted(edges - set(played) - told)
    assert not left, "\n".join(map(str, left))
    assert len(edges & set(played)) > 60
