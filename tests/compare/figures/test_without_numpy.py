"""With or without numpy: the same digits, whatever is counted, and the same bytes of every verb."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.running.spread import percentile

ROOT = Path(__file__).parents[3]
SCENARIOS = ("hot-key", "two-records-twice")

FOUR = "examples/scenarios/four-members-two-topics.yaml"
GROUPS = ("tests/captures/kafka/groups", "tests/captures/rocketmq/groups")

BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "pandas", "pyarrow", "pyspark"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

sys.meta_path.insert(0, Blocked())
"""

VERBS = {
    "compare": ("compare", *(f"examples/scenarios/{name}.yaml" for name in SCENARIOS), "--format", "json"),
    "report": ("compare", FOUR, "--system", "kafka:range", "--system", "rocketmq:AVG", "--report", "{out}"),
    "seeds": ("compare", "examples/scenarios/two-records-twice.yaml", "--seeds", "3", "--format", "json"),
    "audit": ("audit", *GROUPS, "--format", "json", "--report", "{out}"),
    "states": ("states", "rocketmq", "--format", "json"),
    "conformance": ("conformance", "tests/golden/rocketmq/strategies-by_config.jsonl.gz"),
}


@given(
    st.lists(st.floats(-1e12, 1e12) | st.integers(0, 10**6), min_size=1, max_size=40), st.sampled_from([5, 25, 50, 95])
)
def test_percentiles_have_the_digits_of_numpy(values: list[float], percent: int) -> None:
    assert percentile(sorted(map(float, values)), percent) == np.percentile(np.array(values, dtype=float), percent)


@pytest.fixture(scope="module")
def blocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on the path where numpy cannot be imported."""
    folder = tmp_path_factory.mktemp("blocked")
    (folder / "sitecustomize.py").write_text(BLOCK, encoding="utf-8")
    return folder


def _run(arguments: list[str], *before: Path) -> "subprocess.CompletedProcess[bytes]":
    paths = os.pathsep.join(map(str, (*before, ROOT)))
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "200"}
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done


def test_a_verb_prints_and_writes_the_same_bytes(subtests: pytest.Subtests, blocked: Path, tmp_path: Path) -> None:
    for verb in VERBS:
        with subtests.test(verb=verb):
            found = []
            for number, before in enumerate(((), (blocked,))):
                out = tmp_path / verb / f"{number}" / "report.html"
                out.parent.mkdir(parents=True)
                done = _run(["-m", "compare", *(each.format(out=out) for each in VERBS[verb])], *before)
                said = done.stdout.replace(str(out).encode(), b"report.html")
                found.append((said, out.read_bytes() if out.exists() else b""))
            assert found[0] == found[1]
            assert found[0][0]
