"""Forks a process for each command line that comes as a line of JSON, and answers with its exit code.

The verbs are imported once, here; each command runs in a copy of this process, from `compare.cli.main` to its end.
"""

import gc
import importlib
import json
import os
import signal
import sys
from typing import Any

from compare.cli import VERBS, main

STREAMS = (("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY | os.O_CREAT), ("stderr", os.O_WRONLY | os.O_CREAT))


def serve() -> None:
    """Until the pipe is closed; returns in a copy of the process once its command is over."""
    for module, _ in VERBS.values():
        importlib.import_module(module)
    gc.freeze()  # what a copy need not look through, and so not write to, when it ends
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    while line := requests.readline():
        child = os.fork()
        if not child:
            requests.close()
            run(json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


def run(request: dict[str, Any]) -> None:
    """One command, in this process; it is killed after ``limit_s``."""
    signal.alarm(request["limit_s"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, (name, flags) in enumerate(STREAMS):
        os.dup2(os.open(os.path.join(request["folder"], name), flags), number)
    sys.argv = ["equipoise", *request["arguments"]]
    main()


if __name__ == "__main__":
    serve()
