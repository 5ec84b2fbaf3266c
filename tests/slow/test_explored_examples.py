"""Every example scenario, explored for every system that it names, each within a budget of time: first everything
that can be reached, as far as that comes, then random stories. `make test-slow` prints how far it came: states, seeds,
and the edges of all state machines that were taken.

No invariant of the model is broken in any of them. ``EXPLORE_SECONDS`` is the budget of one variant (default 4).
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from compare.exploring import properties
from compare.exploring.answers import Answers, answered, document
from compare.exploring.properties import Subject, subject_of
from compare.exploring.search import Limits
from compare.exploring.walks import Chance, answered_by_chance
from compare.running.systems import read
from compare.running.variants import Variant, variants_of
from protocols.engine.exploration import Bounds
from protocols.errors import UserError
from tests.exploration.edges import Taken, covered, edges_taken

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*(ROOT / "examples/scenarios").glob("*.yaml"), *(ROOT / "examples/explore").glob("*.yaml")])
SECONDS = float(os.environ.get("EXPLORE_SECONDS", "4"))
STATES = 400_000
"""More of one variant are not kept in memory."""
BOUNDS = Bounds(2, 1, housekeeping=True)
PROPERTY = "single-owner-per-generation"

TAKEN: Taken = {}
TOLD: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def _report(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    capture = request.config.pluginmanager.getplugin("capturemanager")
    edges = [f"{system} {name}: {taken} of {there} edges" for system, name, taken, there in covered(TAKEN)]
    with capture.global_and_fixture_disabled():
        print("\n" + "\n".join([*TOLD, *edges]))


def subject(variant: Variant) -> Subject | None:
    """The variant's world; None where there is none, which is told with its reason."""
    try:
        return subject_of(variant, (PROPERTY, properties.NAME), BOUNDS)
    except UserError as error:
        TOLD.append(f"{variant.scenario.name}: {variant.label}: not explored: {error}")
        return None


def explored(path: Path, variant: Variant, seed: int) -> list[tuple[Subject, Answers]]:
    """What the two ways of exploring found, each in a world of its own."""
    found = []
    asked = (PROPERTY, properties.NAME)
    whole = subject(variant)
    if whole is None:
        return []
    searched = answered(whole, asked, Limits(states=STATES, seconds=SECONDS / 2), lambda depth, states: None)
    found.append((whole, searched))
    line = f"{path.stem}: {variant.label}: {searched.states:,} states{', all' if searched.complete else ''}"
    if not searched.complete:
        chance = Chance(examples=10_000, seed=seed, steps=200, seconds=SECONDS / 2)
        walked = answered_by_chance(whole, asked, chance)
        found.append((whole, walked))
        line += f", {walked.states:,} by chance (seed {seed})"
    TOLD.append(line)
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=[each.stem for each in EXAMPLES])
def test_no_invariant_is_broken(path: Path) -> None:
    with edges_taken(TAKEN):
        for seed, variant in enumerate(variants_of(read(path))):
            for of, found in explored(path, variant, seed):
                if properties.NAME in found.stories:
                    stories = {each["name"]: each["story"] for each in document(of, found)["properties"]}
                    pytest.fail("\n".join([variant.label, *stories[properties.NAME]]))


def test_edges_were_taken() -> None:
    assert sum(taken for _, _, taken, _ in covered(TAKEN)) > 0
