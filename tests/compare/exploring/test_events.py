"""What events do in the explorer's world is what they do in the simulation: brokers end and return with what is on
their disks, another one takes a group over, the network loses messages, members stop and go on.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compare.exploring.answers import answered
from compare.exploring.properties import COMMITS, EVERY_QUEUE, PER_GENERATION, SETTLES, Subject, subject_of
from compare.exploring.search import Limits
from compare.exploring.story import as_run, steps_of, told
from compare.running.systems import read
from compare.running.variants import variants_of
from protocols.engine.exploration import Action, Bounds, Happened, State, World
from protocols.engine.exploration.states import CUT, HAPPEN
from protocols.facts import Noted
from tests.compare.exploring.scopes import group, subject

SCENARIOS = Path(__file__).parents[3] / "examples" / "explore"
MANY = Bounds(client_firings=50, server_firings=50, housekeeping=True)


class Story:
    """A world that goes on step by step: whatever is on its way arrives, then the timer fires that is due first."""

    def __init__(self, of: Subject) -> None:
        self.world: World = of.settled.world
        self.state: State = of.settled.first
        self.told: list[Happened] = []

    def happen(self, what: int = 0) -> None:
        """The next event, or one of those that are left to come (from 1 on)."""
        self.take(Action(HAPPEN, "", what))

    def take(self, action: Action) -> None:
        self.state = self.world.step(self.state, action, self.told)

    def arrive(self) -> None:
        """Nothing is on its way any more."""
        while (action := next(self.world.deliveries(self.state), None)) is not None:
            self.take(action)

    def go_on(self, *, until: Callable[[], bool], most: int = 300) -> None:
        """Timers fire, each with what follows."""
        for _ in range(most):
            self.arrive()
            if until():
                return
            due = [(self._due(each), at, each) for at, each in enumerate(self.world.firings(self.state))]
            self.take(min(due)[2])
        raise AssertionError("it does not come about")

    def _due(self, action: Action) -> float:
        living = self.world.steps.livings[self.world.run(self.state, action.of).living]
        assert living is not None
        return living.timers[int(action.what)][1]

    def node(self, name: str) -> Any:
        """The node of a process that runs."""
        found = self.world.node(self.state, name)
        assert found is not None, f"{name} does not run"
        return found

    def happened(self, kind: str) -> Iterator[Happened]:
        """What was told of this kind."""
        return (each for each in self.told if each.kind == kind)


def test_a_broker_returns_with_what_was_on_its_disk() -> None:
    story = Story(
        subject(group("rocketmq:AVG", 1, "produce: {A: 4}", *_killed_and_back("b1")), EVERY_QUEUE, bounds=MANY)
    )
    story.happen()
    story.go_on(until=lambda: bool(story.node("b1").state.disk.offsets.offsets))
    flushed = story.node("b1").state.disk.offsets
    story.happen()
    assert story.world.node(story.state, "b1") is None
    story.happen()
    broker = story.node("b1").state
    assert broker.offsets.offsets == flushed.offsets
    assert broker.disk.store.queue("A", 0).max_offset(story.world.steps.now) > 0
    story.go_on(until=lambda: "g" in story.node("b1").state.consumers.groups)


def test_commits_that_were_not_on_the_disk_are_lost() -> None:
    story = Story(
        subject(group("rocketmq:AVG", 1, "produce: {A: 4}", *_killed_and_back("b1")), EVERY_QUEUE, bounds=MANY)
    )
    story.happen()
    story.go_on(until=lambda: story.node("b1").state.unflushed)
    assert story.node("b1").state.offsets.offsets != story.node("b1").state.disk.offsets.offsets
    written = story.node("b1").state.disk.offsets.offsets
    story.happen()
    story.happen()
    assert story.node("b1").state.offsets.offsets == written


@pytest.mark.parametrize("system", ["kafka:range", "kafka:uniform"])
def test_the_next_coordinator_knows_generation_and_offsets(system: str) -> None:
    scope = group(system, 2, "produce: {A: 4}", "broker: b2, does: kill", brokers="b1, b2")
    story = Story(subject(scope, EVERY_QUEUE, bounds=MANY))
    story.happen()
    story.go_on(until=lambda: len(_group(story, "b2").offsets) == 2)
    before = _group(story, "b2")
    story.happen()
    assert _group(story, "b1") is None
    story.happen(1)  # the controller detects the loss
    story.go_on(until=lambda: _group(story, "b1") is not None)
    after = _group(story, "b1")
    assert {at: each.offset for at, each in after.offsets.items()} == {
        at: each.offset for at, each in before.offsets.items()
    }
    assert sorted(after.members) == sorted(before.members)
    generation = "generation" if system == "kafka:range" else "epoch"
    assert getattr(after, generation) == getattr(before, generation) > 0


def _group(story: Story, broker: str) -> Any:
    core = story.node(broker).coordinator.core
    return core.groups.get("g") or core.consumer_groups.get("g")


def test_the_session_of_a_killed_broker_expires_unless_it_has_returned() -> None:
    events = *_killed_and_back("b1"), "broker: b1, does: kill"
    story = Story(subject(group("kafka-zookeeper:range", 1, *events), SETTLES))
    story.happen()
    story.happen()
    story.happen(1)
    assert "/brokers/ids/b1" in story.node("zookeeper").nodes
    story.happen()
    story.happen(1)
    assert "/brokers/ids/b1" not in story.node("zookeeper").nodes


def _killed_and_back(broker: str) -> tuple[str, str]:
    return f"broker: {broker}, does: kill", f"broker: {broker}, does: return"


def test_while_the_network_is_cut_messages_are_lost_and_nobody_hears_of_an_end() -> None:
    scope = group("kafka:range", 1, "network: cut, between: [c1, b1], for: 1s", "crash: c1")
    story = Story(subject(scope, SETTLES, bounds=MANY))
    story.happen()
    assert story.world.progress.values[story.state[0]].faults == (("b1", "c1", CUT),)
    story.go_on(until=lambda: any(story.happened("lost")))
    story.happen()
    story.arrive()
    column, _ = story.world.pair_column["b1", "c1"]
    assert story.world.pairs.values[story.state[column]].is_open.count(True) == 1
    story.happen(1)
    assert story.world.in_flight(story.state, "c1", "b1") == ["closes"]
    assert story.world.progress.values[story.state[0]].faults == ()
    story.arrive()
    assert story.world.pairs.values[story.state[column]].is_open == (False, False)


@pytest.mark.parametrize(("event", "heard"), [("crash: c1", [False, False]), ("lose: c1", [True, False])])
def test_of_a_lost_machine_nobody_hears_while_a_killed_process_closes_its_connections(
    event: str, heard: list[bool]
) -> None:
    story = Story(subject(group("kafka:range", 1, event, "join: c1"), SETTLES, bounds=MANY))
    story.go_on(until=lambda: _group(story, "b1") is not None)
    story.happen()
    story.arrive()
    column, side = story.world.pair_column["b1", "c1"]
    pair = story.world.pairs.values[story.state[column]]
    assert [pair.is_open[side], pair.is_open[1 - side]] == heard
    # The member's machine is back: what the broker sent to the one that was lost does not reach it.
    story.happen()
    story.go_on(until=lambda: len(_group(story, "b1").members) == 2)
    assert story.world.pairs.values[story.state[column]].is_open == (True, True)


def test_a_story_tells_of_lost_messages() -> None:
    of = subject(group("kafka:range", 1, "network: cut, between: [c1, b1], for: 1s"), SETTLES, bounds=MANY)
    world, first = of.settled.world, of.settled.first
    cut = Action(HAPPEN, "", 0)
    after = world.step(first, cut)
    stories = [steps_of(world, first, [cut, timer]) for timer in world.firings(after)]
    steps = next(each for each in stories if any(said.kind == "lost" for said in each[-1].happened))
    first_line, second_line = told(world, first, steps)
    assert first_line == "network between c1 and b1 is cut for 1s"
    assert second_line.endswith(" to b1 (lost)")
    (message,) = as_run(of, steps).timeline.trace.messages
    assert (message.sender, message.to, message.arrives) == ("c1", "b1", None)


def test_every_message_may_be_lost_or_not_where_some_are() -> None:
    scope = group("kafka:range", 1, "network: loss, loss: 0.5, between: [c1, b1], for: 1s")
    story = Story(subject(scope, SETTLES, bounds=MANY))
    story.happen()
    beats = [
        [each for _, each in story.world.successors(story.state, [action])]
        for action in story.world.firings(story.state)
    ]
    column, side = story.world.pair_column["c1", "b1"]
    on_the_way = [{len(story.world.pairs.values[state[column]].flights[side]) for state in after} for after in beats]
    assert {0, 1} in on_the_way


def test_a_slow_network_changes_nothing() -> None:
    counts = []
    for slow in ((), ("network: delay, delay: 1s, between: [c1], for: 10s",)):
        of = subject(group("kafka:range", 1, *slow, "crash: c1"), PER_GENERATION, bounds=Bounds(1, 1, True))
        found = answered(of, (PER_GENERATION,), Limits(), lambda depth, states: None)
        nodes = {(run.living, run.firings) for run in of.settled.world.runs.values}
        counts.append((len(nodes), found.complete))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("system", ["kafka:range", "kafka:uniform", "rocketmq:AVG"])
def test_a_member_that_stopped_polling_goes_on(system: str) -> None:
    story = Story(subject(group(system, 1, "stop_polling: c1, for: 60s"), SETTLES, bounds=MANY))
    story.happen()
    (timer, *_) = story.world.firings(story.state)
    story.take(timer)  # another node than the one that was stopped
    before = story.world.run(story.state, "c1").living
    story.happen(1)
    assert story.world.run(story.state, "c1").living != before
    assert "GoOn" in [type(each.what).__name__ for each in story.happened("receive")]


def test_a_member_that_restarts_properly_starts_again() -> None:
    story = Story(subject(group("rocketmq:AVG", 1, "restart: c1, how: leave"), SETTLES, bounds=MANY))
    story.happen()
    assert "g" in story.node("c1").instance.consumers

    def is_back() -> bool:
        if story.world.progress.values[story.state[0]].later:
            story.happen(1)
        return not story.world.progress.values[story.state[0]].later

    story.go_on(until=is_back)
    started = [each for each in story.happened("receive") if type(each.what).__name__ == "StartConsumer"]
    assert started or story.world.run(story.state, "c1").life == 2


def test_an_administrator_resets_the_offsets_of_a_group() -> None:
    story = Story(subject(group("kafka:range", 1, "leave: c1", "reset_offsets: g, topic: A, to: 0s"), SETTLES))
    story.happen()
    story.arrive()
    story.happen()
    story.arrive()
    notes = [each.what.text for each in story.happened("fact") if isinstance(each.what, Noted)]
    assert "offsets of g are reset" in notes


@pytest.mark.parametrize("system", ["kafka:range", "kafka:cooperative-sticky"])
def test_no_generation_has_two_owners_though_its_coordinator_is_killed(system: str) -> None:
    scenario = read(SCENARIOS / "coordinator-killed.yaml")
    (variant,) = variants_of(scenario, [system])
    asked = PER_GENERATION, COMMITS
    of = subject_of(variant, asked, Bounds(1, 1))
    found = answered(of, asked, Limits(), lambda depth, states: None)
    assert found.complete
    assert not found.stories
    nodes = [each.node for each in of.settled.world.steps.livings if each is not None]
    taken_over = [each for each in nodes if getattr(each, "coordinator", None) and each.coordinator.core.name == "b1"]
    assert any("g" in each.coordinator.core.groups for each in taken_over)
