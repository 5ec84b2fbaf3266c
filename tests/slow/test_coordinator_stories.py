"""Every violation that docs/explorer.md and docs/defects.md publish as a story of the explorer, and every change of
docs/versions.md, asked anew of the released coordinators: the service of Kafka's own jars, driven by `StoryPlayer` in
virtual time. What they answer is what the model answers, and what the golden file keeps; `python -m
tests.slow.test_coordinator_stories` writes it.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from compare.conformance.kafka_coordinator import play
from tests.exploration.coordinator_traces import GOLDEN, STORIES, VERSIONS, Story, shown, told
from tests.exploration.version_traces import CHANGES
from tests.exploration.written_traces import ASKED, WRITTEN, Written, trace_of
from tests.slow import random_stories
from tests.slow.java import UnavailableError, played
from tests.slow.real_kafka import kafka_jars

pytestmark = pytest.mark.slow

_PLAYER = ("StoryPlayer.java", "StoryAnswers.java", "StoryStates.java")
RANDOM = range(19, 147)
"""Seeds of random stories."""


def answered_by_kafka(version: str, traces: Iterable[Mapping[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """These traces with the answers of the released coordinator. `UnavailableError` where Java or the jars are
    missing."""
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    return played(traces, _PLAYER, kafka_jars(version), folder, quiet, timeout_s=120)


def _confirmed(version: str, folder: Path) -> Sequence[tuple[Story | Written, dict[str, Any]]]:
    """Each story, and each trace written by hand, with what the coordinator of this version answers to it."""
    by_hand = [each for each in WRITTEN if version in each.versions]
    by_hand += [change.written(version) for change in CHANGES]
    stories = STORIES if version in VERSIONS else ()
    traces = []
    for story in stories:
        found = told(story, version)
        assert found is not None, story
        traces.append({**found.trace, "kafka": version, "answers_only": True})
    traces += [trace_of(each, version) for each in by_hand]
    return list(zip([*stories, *by_hand], answered_by_kafka(version, traces, folder), strict=True))


@pytest.mark.parametrize("version", ASKED)
def test_the_released_coordinator_confirms_every_story(version: str, tmp_path: Path) -> None:
    try:
        confirmed = _confirmed(version, tmp_path)
    except UnavailableError as error:
        pytest.skip(str(error))
    for story, trace in confirmed:
        assert play(trace) == [], story
        assert shown(trace) >= set(story.shows), story


@pytest.mark.parametrize("version", ASKED)
def test_the_model_answers_random_stories_as_the_released_coordinator_does(version: str, tmp_path: Path) -> None:
    """Of both protocols, with migrations, static members, patterns, changing topics, expiry and fail-overs."""
    made = [random_stories.trace_of(seed, version) for seed in RANDOM]
    try:
        answered = answered_by_kafka(version, made, tmp_path)
    except UnavailableError as error:
        pytest.skip(str(error))
    told = {trace["trace_id"]: [each for each in play(trace) if is_told(version, each.field)] for trace in answered}
    assert {trace_id: found for trace_id, found in told.items() if found} == {}


def is_told(version: str, field: str) -> bool:
    """4.2.2 has neither the time of the last target nor epochs of partitions, which the player tells since 4.3."""
    return version != "4.2.2" or ".inner." not in field


if __name__ == "__main__":
    with gzip.GzipFile(GOLDEN, "wb", mtime=0) as golden:
        for number in ASKED:
            with tempfile.TemporaryDirectory() as classes:
                for _, kept in _confirmed(number, Path(classes)):
                    golden.write(json.dumps(kept, separators=(",", ":")).encode() + b"\n")
    sys.stdout.write(f"{GOLDEN}\n")
