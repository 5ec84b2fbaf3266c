"""How long the playground takes from its address to the first picture: `python -m benchmarks.playground` (after
`make docs`)."""

import os
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import psutil

from tests.compare.browser import browsing, find_browser
from tests.site.conftest import Quiet, Serving

SITE = Path(__file__).parents[1] / "build" / "site"
ROUNDS = 3
PATIENCE_S = 300


def main() -> None:
    """Print a line per round; the first one compiles what the browser keeps compiled afterwards."""
    program = find_browser()
    if program is None or not (SITE / "playground" / "index.html").is_file():
        raise SystemExit("needs Chromium on PATH and build/site with the playground (make docs)")
    print(f"processors {os.cpu_count()}, load {os.getloadavg()[0]:.1f}")
    with (
        Serving(("127.0.0.1", 0), partial(Quiet, directory=str(SITE))) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        browsing(program, Path(profile)) as browser,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.size(1280, 900)
        for number in range(1, ROUNDS + 1):
            browser.visit("about:blank")
            before = _cpu()
            browser.visit(f"http://127.0.0.1:{server.server_address[1]}/playground/index.html")
            until = time.monotonic() + PATIENCE_S
            while not (first := browser.run("document.body.dataset.first")) and time.monotonic() < until:
                time.sleep(0.05)
            print(f"round {number}: first picture after {int(first) / 1000:.1f} s, CPU {_cpu() - before:.1f} s")
        server.shutdown()


def _cpu() -> float:
    """CPU seconds of the browser's processes."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        times = process.cpu_times()
        total += times.user + times.system
    return total


if __name__ == "__main__":
    main()
