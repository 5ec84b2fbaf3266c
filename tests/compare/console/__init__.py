"""Run `equipoise` as a user does, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "tests/captures"
EXAMPLES = ROOT / "examples/captures"


def equipoise(*arguments: str, stdin: bytes = b"", hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    """The finished process; its output is text."""
    done = subprocess.run(
        [sys.executable, "-m", "compare", *arguments],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONUTF8": "1"},
        check=False,
        timeout=120,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
