"""`examples/real-clients` as its own project would run it."""

import subprocess
import sys
from pathlib import Path

SAMPLE = Path(__file__).parents[4] / "examples" / "real-clients"


def test_its_tests_pass_and_find_both_bugs() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:asyncio"]
    done = subprocess.run(command, cwd=SAMPLE, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout
