"""A whole audit with everything: causes, optimum, what-if, report, for many groups.

python -m benchmarks audits
"""

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tabulate import tabulate

from kafka_coordinator import assign
from protocols import Group

SIZES = ((300, 20), (1000, 60), (10_000, 30))
"""Groups, and the CPU seconds that the audit may take; its report may have 10 MB."""


def members_view(groups: int, seed: int = 1) -> Iterator[str]:
    """The text of `kafka-consumer-groups --describe --all-groups --members --verbose` for made-up groups.

    2 to 20 members, 2 to 12 topics of 3 to 24 partitions; every third group's members skip a topic; range or sticky.
    """
    draw = random.Random(seed)
    for number in range(groups):
        topics = {f"topic-{number}-{t}": draw.randint(3, 24) for t in range(draw.randint(2, 12))}
        uneven = number % 3 == 0
        members = {
            f"member-{m}-{draw.getrandbits(128):032x}": [
                topic for t, topic in enumerate(topics) if not uneven or t % 4 != m % 4
            ]
            for m in range(draw.randint(2, 20))
        }
        allocation = assign(draw.choice(["range", "sticky"]), Group.of(topics, members))
        rows = []
        for member, queues in allocation.items():
            by_topic: dict[str, list[str]] = {}
            for queue in queues:
                by_topic.setdefault(queue.topic, []).append(str(queue.number))
            text = ";".join(f"{topic}:{','.join(of_topic)}" for topic, of_topic in by_topic.items()) or "-"
            rows.append((f"group-{number}", member, "/127.0.0.1", "client", str(len(queues)), "-", text, "-", "-"))
        heading = ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT")
        table = [(*heading, "TARGET-EPOCH", "TARGET-ASSIGNMENT"), *rows]
        widths = [max(len(row[column]) for row in table) for column in range(9)]
        yield ""
        for row in table:
            yield " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))


def main() -> None:
    rows = []
    for groups, limit in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            source, report = Path(folder, "members.txt"), Path(folder, "report.html")
            source.write_text("\n".join(members_view(groups)) + "\n")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.perf_counter()
            command = [sys.executable, "-m", "compare", "audit", str(source), "--what-if", "--report", str(report)]
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            wall = time.perf_counter() - start
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            rows.append((groups, limit, wall, cpu, report.stat().st_size / 1e6))
    print(tabulate(rows, headers=["groups", "must be below (CPU s)", "wall s", "CPU s", "report MB"], floatfmt=".1f"))


if __name__ == "__main__":
    main()
