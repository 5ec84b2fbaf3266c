"""Random stories of RocketMQ's groups asked of released classes: `RocketStories` drives those of broker, name server
and client in virtual time, and what they answer is what the model answers."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from compare.conformance.rocketmq_traces import COMPONENTS
from compare.conformance.rocketmq_traces.steps import play_steps
from tests.slow.java import UnavailableError, played
from tests.slow.real_rocketmq import released
from tests.slow.rocketmq_stories import story_of

pytestmark = pytest.mark.slow

VERSIONS = ("5.3.3", "5.4.0", "5.5.0")
SEEDS = range(500)
_PLAYER = ("RocketStories.java", "RocketGroup.java", "RocketTables.java")
_SILENT = '<configuration><root level="OFF"/></configuration>'


def answered_by_rocketmq(version: str, traces: Iterable[Mapping[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """These traces with what the released classes answer. `UnavailableError` where Java or the jars are missing."""
    jars = released(version)
    (folder / "silent.xml").write_text(_SILENT, encoding="utf-8")
    quiet = (f"-Drmq.logback.configurationFile={folder}/silent.xml", f"-Duser.home={folder}", "-Duser.timezone=UTC")
    # Javassist, which turns the clock, reads no newer classes.
    return played(traces, _PLAYER, jars, folder, *quiet, timeout_s=600, javac=("--release", "8", "-Xlint:none"))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_model_answers_random_stories_as_the_released_classes_do(version: str, tmp_path: Path) -> None:
    """Members come, go, crash and subscribe; brokers and their routes come and go; locks and channels expire."""
    try:
        answered = answered_by_rocketmq(version, [story_of(seed, version) for seed in SEEDS], tmp_path)
    except UnavailableError as error:
        pytest.skip(str(error))
    assert len(answered) == len(SEEDS)
    told = {trace["trace_id"]: play_steps(trace, COMPONENTS[trace["component"]]) for trace in answered}
    assert {trace_id: found for trace_id, found in told.items() if found} == {}
