"""Property tests draw the same examples on every machine, and others where new ones are searched for."""

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import SAME

ROOT = Path(__file__).parents[1]

DRAW = """
import sys
import tests.conftest
if len(sys.argv) > 2:
    __import__(sys.argv[2])
from hypothesis import given, settings, strategies

settings.load_profile(sys.argv[1])
drawn = []


@settings(max_examples=50)
@given(strategies.lists(strategies.integers()))
def draws(numbers):
    drawn.append(numbers)


draws()
print(settings.default)
print(drawn)
"""


def drawn(profile: str, folder: Path, *imported: str, **environment: str) -> str:
    """The settings and the examples of a small test, in a process of its own that has imported this module before."""
    # Hypothesis knows several CI servers by their variables; none of them is passed on.
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    variables = {**kept, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-c", DRAW, profile, *imported]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=True).stdout


def test_a_ci_server_and_a_developer_see_the_same_examples(tmp_path: Path) -> None:
    told = drawn(SAME, tmp_path)
    assert "derandomize=True" in told
    assert told == drawn(SAME, tmp_path, CI="true", PYTHONHASHSEED="7")
    assert not list(tmp_path.iterdir())


def test_the_examples_do_not_depend_on_what_else_is_imported(tmp_path: Path) -> None:
    """As it would where a test runs alone, or on a worker that has run other tests before."""
    assert drawn(SAME, tmp_path) == drawn(SAME, tmp_path, "rocketmq_selfbalance.cluster.cluster")
