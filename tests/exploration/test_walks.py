"""Random stories: found by chance, shrunk, the same for the same seed; copies of nodes."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from compare.exploring.answers import Answers
from compare.exploring.walks import Chance, Walk, answered_by_chance, shortened
from compare.running.systems import cluster_of, read
from compare.running.variants import variants_of
from compare.verbs.explore import explore
from protocols.engine.exploration import Action, State, World
from protocols.engine.exploration.rules import Keys
from protocols.engine.exploration.states import FIRE
from protocols.scenario.running import Run
from tests.exploration.defects import DEFECTS, Defect
from tests.rows import rows

BY_NAME = {each.name: each for each in DEFECTS}


def along(world: World, state: State, actions: Sequence[Action]) -> Iterator[tuple[Action, State]]:
    """Each action, and the state in which it is taken."""
    for action in actions:
        yield action, state
        state = world.step(state, action)


def by_chance(defect: Defect, chance: Chance) -> Answers:
    return answered_by_chance(defect.search.subject(), (defect.search.property,), chance)


@pytest.mark.parametrize(
    "name", ["generation not raised", "join phase does not wait", "deaf to its removal", "lock for everybody"]
)
def test_a_defect_is_found_by_chance_and_shrunk_to_the_length_of_a_shortest_story(name: str) -> None:
    defect = BY_NAME[name]
    with defect.planted():
        found = by_chance(defect, Chance(examples=300, steps=30))
        _, shortest = defect.search.answer()
    of_property = defect.search.property
    assert len(found.stories[of_property][0]) == len(shortest.stories[of_property][0])
    assert not found.complete


@pytest.mark.parametrize("name", ["generation not raised", "join phase does not wait"])
def test_the_unchanged_model_passes(name: str) -> None:
    found = by_chance(BY_NAME[name], Chance(examples=100, steps=30))
    assert not found.stories
    assert found.states > 100


def test_the_same_seed_draws_the_same_walks_and_another_one_others() -> None:
    defect = BY_NAME["generation not raised"]
    seen = [by_chance(defect, Chance(examples=40, steps=30, seed=seed)) for seed in (1, 1, 2)]
    counted = [(each.states, each.transitions) for each in seen]
    assert counted[0] == counted[1] != counted[2]


def test_a_node_that_raises_is_found_whatever_is_asked() -> None:
    defect = BY_NAME["no epoch for who leaves"]
    with defect.planted():
        subject = defect.search._replace(property="single-owner").subject()
        found = answered_by_chance(subject, ("single-owner",), Chance(examples=50, steps=30))
    assert list(found.stories) == ["model-invariants"]
    assert len(found.stories["model-invariants"][0]) == 1


def test_steps_that_a_story_does_not_need_are_left_out() -> None:
    defect = BY_NAME["generation not raised"]
    with defect.planted():
        subject, found = defect.search.answer()
        world, first = subject.settled.world, subject.settled.first
        short, _ = found.stories[defect.search.property]
        busy = {each.of for each in short if each.kind == FIRE}
        detours = [each for each in world.actions(first) if each.kind == FIRE and each.of not in busy]
        assert detours
        taken, state = [detours[0]], world.step(first, detours[0])
        named = [(each, world.timers(before, each.of)) for each, before in along(world, first, short)]
        for action, timers in named:
            now = world.timers(state, action.of)
            what = now.index(timers[int(action.what)]) if action.kind == FIRE else action.what
            taken.append(action._replace(what=what))
            state = world.step(state, taken[-1])
        assert world.violated(state)
        cut = shortened(world, first, Walk(tuple(taken), ""), lambda each: "" if world.violated(each) else None)
        assert len(cut.actions) == len(short) == len(taken) - 1


def test_the_command_gives_story_and_token_that_tells_it_again(tmp_path: Path) -> None:
    path = tmp_path / "scope.yaml"
    path.write_text(BY_NAME["generation not raised"].search.scenario, encoding="utf-8")
    asked = [str(path), "--random", "--seed", "3", "--property", "single-owner", "--format", "json"]
    asked += ["--random-runs", "0"]  # as many as fit into 30 s, which depends on the machine
    answers = []
    for _ in range(2):
        done = CliRunner().invoke(explore, asked, standalone_mode=False)
        assert done.return_value == 1, done.output
        answers.append({**json.loads(done.stdout), "seconds": None})
    assert answers[0] == answers[1]
    (answer,) = answers[0]["properties"]
    assert answer["steps"] == len(answer["story"]) <= 10
    again = CliRunner().invoke(
        explore, [str(path), "--replay", answer["token"], "--format", "json"], standalone_mode=False
    )
    assert again.return_value == 1
    assert json.loads(again.stdout)["properties"][0]["story"] == answer["story"]


SCENARIO = "examples/scenarios/join-crash-leave-commit.yaml"


@rows("name", ["kafka:range", "kafka:uniform", "kafka-zookeeper:range", "rocketmq:AVG"])
def test_a_copy_stays_as_it_was_while_its_node_goes_on(name: str) -> None:
    [variant] = variants_of(read(SCENARIO), [name])
    run = Run.of(variant.scenario, variant.part, cluster_of(variant.part.system), full=True)
    keys = Keys()
    changed = set()
    for seconds in (20, 31, 95, 201):
        run.simulation.run(seconds * 1000.0)
        nodes = {process: each.node for process, each in run.simulation.processes.items()}
        copies = {process: node.copy() for process, node in nodes.items()}
        before = {process: keys.key(copy) for process, copy in copies.items()}
        assert before == {process: keys.key(copy.copy()) for process, copy in copies.items()}
        run.simulation.run(seconds * 1000.0 + 5_000.0)
        assert before == {process: keys.key(copy) for process, copy in copies.items()}
        changed |= {process for process, node in nodes.items() if keys.key(node) != before[process]}
    assert len(changed) > 2
