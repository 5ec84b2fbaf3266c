"""`uniform` with 10,000 members and 100,000 partitions, from a `Group` to an `Allocation`: time and peak memory.

Runs by itself, so that the peak is its own: python -m benchmarks.large_uniform [one-left]
"""

import json
import re
import resource
import sys
import time
from pathlib import Path

from benchmarks.assignor_shapes import Shape, sizes
from kafka_coordinator import assign

SHAPE = Shape(members=10_000, topics=100, partitions=1_000)


def peak_megabytes() -> float:
    """Peak resident memory of this process. Linux also counts into ``ru_maxrss`` what the parent held at the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # macOS counts bytes


def main() -> None:
    """Print JSON: seconds of wall time and CPU, peak resident megabytes of the whole process, sizes."""
    group = SHAPE.full_group
    previous = None
    if "one-left" in sys.argv:
        previous = assign("uniform", group)
        group = group.without(group.members[33].id)
    start, cpu = time.perf_counter(), time.process_time()
    answer = assign("uniform", group, previous=previous)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = peak_megabytes()
    found = sizes([len(queues) for queues in answer.values()])
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "peak_mb": peak, "sizes": found}))


if __name__ == "__main__":
    main()
