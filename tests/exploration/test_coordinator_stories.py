"""The stories of migrations that docs/explorer.md tells, by version: the explorer finds them, and the released
coordinators, whose answers are kept, answer every request as the model does and end where the story does."""

import gzip
import json
from typing import Any

import pytest

from compare.conformance.kafka_coordinator import play
from tests.exploration.coordinator_traces import GOLDEN, STORIES, VERSIONS, Story, shown, told


def _kept() -> dict[str, dict[str, Any]]:
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        return {trace["trace_id"]: trace for trace in map(json.loads, lines)}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("story", STORIES, ids=lambda story: f"{story.scenario}-{story.system}-{story.property}")
def test_a_story_is_found_and_was_confirmed(story: Story, version: str) -> None:
    found = told(story, version)
    assert found is not None
    assert found.steps == story.steps
    kept = _kept()[found.trace["trace_id"]]
    assert [step["op"] for step in kept["steps"]] == [step["op"] for step in found.trace["steps"]]
    assert kept["kafka"] == version
    assert play(kept) == []
    assert shown(kept) >= set(story.shows)


def test_nothing_else_is_kept() -> None:
    expected = {f"{each.scenario} {each.system} {each.property} {version}" for each in STORIES for version in VERSIONS}
    assert set(_kept()) == expected
