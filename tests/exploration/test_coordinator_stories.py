"""The stories of migrations that docs/explorer.md tells, by version: the explorer finds them, and the released
coordinators, whose answers are kept, answer every request as the model does and end where the story does."""

import gzip
import json
from typing import Any

import pytest

from compare.conformance.kafka_coordinator import play
from tests.exploration.coordinator_traces import GOLDEN, STORIES, VERSIONS, Story, shown, told
from tests.exploration.version_traces import CHANGES, Change, asked_lines
from tests.exploration.written_traces import ASKED, WRITTEN, Written, lines_of, trace_of


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


@pytest.mark.parametrize("written", WRITTEN, ids=lambda written: written.name)
def test_what_is_written_by_hand_was_confirmed(written: Written) -> None:
    for version in written.versions:
        kept = _kept()[f"{written.name} {version}"]
        assert [(step["op"], step["req"]) for step in kept["steps"]] == [
            (step["op"], step["req"]) for step in trace_of(written, version)["steps"]
        ]
        assert play(kept) == []
        assert shown(kept) >= set(written.shows)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_change_holds_since_its_version_and_was_confirmed(change: Change) -> None:
    """In a model of each version, and in the released coordinators, of which those before it answer otherwise."""
    answers = dict[str, set[str]]()
    for version in ASKED:
        written, kept = change.written(version), _kept()[f"{change.name} {version}"]
        assert [step["req"] for step in kept["steps"]] == [step["req"] for step in trace_of(written, version)["steps"]]
        assert play(kept) == []
        assert shown(kept) >= set(written.shows)
        answers.setdefault("then" if version >= change.since else "before", set()).add(
            lines_of(kept)[change.decides].partition(": ")[2]
        )
    assert answers["then"].isdisjoint(answers["before"])


def test_the_page_of_versions_has_the_answers_of_the_released_coordinators() -> None:
    page = (GOLDEN.parents[3] / "docs" / "versions.md").read_text("utf-8")
    assert page.partition("<!-- asked -->\n```text\n")[2].startswith("\n".join([*asked_lines(_kept()), "```"]))


def test_nothing_else_is_kept() -> None:
    expected = {f"{each.scenario} {each.system} {each.property} {version}" for each in STORIES for version in VERSIONS}
    expected |= {f"{each.name} {version}" for each in CHANGES for version in ASKED}
    assert set(_kept()) == expected | {f"{each.name} {version}" for each in WRITTEN for version in each.versions}
