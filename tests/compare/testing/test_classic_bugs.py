"""The eight programs of `examples/classic-bugs`: each bug is found, its story told, and the mended version survives."""

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "examples" / "classic-bugs"

STORIES: Mapping[str, tuple[str, ...]] = {
    "commit_before_handling": ("lost", "is given", "mine commits offset", "mine crashes", "other begins to read"),
    "state_kept_over_revocation": ("more than once", "mine commits offset", "mine handles", "again"),
    "batch_write_then_commit": ("more than once", "first handles", "first crashes", "second handles"),
    "slow_handler": ("more than once", "max.poll.interval.ms", "is lost for mine", "mine handles", "again"),
    "work_queue_with_auto_commit": ("lost", "is given", "mine commits offset", "mine crashes"),
    "seek_in_the_wrong_callback": ("more than once", "reset to the first record", "second handles"),
    "commit_in_on_lost": ("more than once", "mine commits offset", "is lost for mine", "mine handles", "again"),
    "async_commit_without_retry": ("more than once", "mine leaves", "other begins to read", "other handles"),
}
"""Bug to what its story says, among other things."""


MENDED: Sequence[str] = ("commit_before_handling", "seek_in_the_wrong_callback")
"""Of which `make test` runs the mended version, too."""


def _run(version: str, bugs: Iterable[str], *options: str) -> Mapping[str, tuple[str, str]]:
    """Bug to whether its test has passed or failed with this version, and what pytest tells of it."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=short", "-rpf"]
    command += ["--rootdir", str(FOLDER), "-c", str(FOLDER / "pyproject.toml"), *options]
    command += [f"{FOLDER / 'tests' / 'test_classic_bugs.py'}::test_{bug}[{version}]" for bug in bugs]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=300, check=False)
    outcomes = re.findall(rf"^(PASSED|FAILED) \S*::test_(\w+)\[{version}\]", done.stdout, re.MULTILINE)
    told = re.split(
        rf"^_+ test_(\w+)\[{version}\] _+$", done.stdout.partition("short test summary")[0], flags=re.MULTILINE
    )
    texts = dict(zip(told[1::2], told[2::2], strict=True))
    return {bug: (outcome, texts.get(bug, "")) for outcome, bug in outcomes}


@pytest.fixture(scope="module")
def buggy() -> Mapping[str, tuple[str, str]]:
    return _run("buggy", STORIES, "--runxfail")


def test_the_bug_is_found_and_told(subtests: pytest.Subtests, buggy: Mapping[str, tuple[str, str]]) -> None:
    for bug in STORIES:
        with subtests.test(bug=bug):
            outcome, told = buggy[bug]
            assert outcome == "FAILED"
            story = "\n".join(re.findall(r"^E +(.*)$", told.partition("Failing test case")[0], re.MULTILINE))
            assert story.startswith("AssertionError: kafka at")
            assert [each for each in STORIES[bug] if each not in story] == []
            assert "simulated consumers stand for your own code of" in told


@pytest.mark.parametrize("bugs", [MENDED, pytest.param(tuple(STORIES), marks=pytest.mark.slow)])
def test_the_mended_version_passes_the_same_test(bugs: Sequence[str]) -> None:
    assert _run("mended", bugs) == dict.fromkeys(bugs, ("PASSED", ""))


def test_there_is_a_test_for_every_program() -> None:
    programs = {path.stem for path in (FOLDER / "shop").glob("*.py")} - {"__init__"}
    assert programs == STORIES.keys()
