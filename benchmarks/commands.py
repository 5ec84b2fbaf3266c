"""What a user waits for at the console: start-up, one small file, all vectors, a large group model.

python -m benchmarks commands
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

from tabulate import tabulate

from protocols import Group

ROOT = Path(__file__).parent.parent
CAPTURE = ROOT / "examples/captures/rocketmq/seed_group/consumerProgress_s.txt"


def command(*arguments: str) -> tuple[float, float]:
    """Best wall and CPU seconds of three runs of `equipoise ARGUMENTS`."""
    best = (float("inf"), float("inf"))
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "compare", *arguments], stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best, (wall, cpu))
    return best


def large_group() -> tuple[float, float]:
    """Making a group of 1,000 members and 100,000 queues, every member subscribed to all of 1,000 topics."""
    topics = {f"t{n}": 100 for n in range(1000)}
    members = {f"m{n}": list(topics) for n in range(1000)}
    start, cpu = time.perf_counter(), time.process_time()
    Group.of(topics, members)
    return time.perf_counter() - start, time.process_time() - cpu


def main() -> None:
    rows = [
        ("equipoise --help", "0.5", *command("--help")),
        ("audit of one small file", "1.5", *command("audit", str(CAPTURE))),
        ("conformance, all vectors", "60", *command("conformance", "tests/golden")),
        ("group of 1,000 members, 100,000 queues", "1", *large_group()),
    ]
    print(tabulate(rows, headers=["what", "must be below (s)", "wall s", "CPU s"], floatfmt=".2f"))


if __name__ == "__main__":
    main()
