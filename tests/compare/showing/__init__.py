"""Run `equipoise` as a user does, in a process of its own.

Tests of `compare.showing.pictures`.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "tests/captures"
EXAMPLES = ROOT / "examples/captures"

_SETTINGS = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}


def equipoise(
    *arguments: str, stdin: bytes = b"", hash_seed: str | None = None, stdout: str | None = None
) -> subprocess.CompletedProcess[str]:
    """The finished process; its output is text, or goes to a device, ``stdout`` (not with a hash seed).

    With a hash seed it is a fresh interpreter, else one that has imported the verbs already
    (`tests/compare/showing/server.py`), since importing takes longer than most tests."""
    environment = {**os.environ, **_SETTINGS}
    if hash_seed is not None:
        environment["PYTHONHASHSEED"] = hash_seed
        done = subprocess.run(
            [sys.executable, "-m", "compare", *arguments],
            input=stdin,
            capture_output=True,
            cwd=ROOT,
            env=environment,
            check=False,
            timeout=120,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "stdin").write_bytes(stdin)
        if stdout is not None:
            (Path(folder) / "stdout").symlink_to(stdout)
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        request = {"arguments": arguments, "environment": environment, "folder": folder, "limit_s": 120}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        output = (Path(folder) / "stdout").read_bytes().decode() if stdout is None else ""
        errors = (Path(folder) / "stderr").read_bytes().decode()
    return subprocess.CompletedProcess(["equipoise", *arguments], code, output, errors)


@cache
def _server() -> subprocess.Popen[str]:
    """It ends with the process that has started it, whose end of the pipe is closed then."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.compare.showing.server"],
        cwd=ROOT,
        env={**os.environ, **_SETTINGS},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
