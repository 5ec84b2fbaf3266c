"""CPU seconds and memory of a process, by default this one, and everything it started (Linux's /proc)."""

import os
import re
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_POLL_S = 0.1


@dataclass(slots=True)
class Peak:
    """Highest memory seen in bytes; pages that processes share count once."""

    bytes: int = 0


def cpu_seconds() -> float:
    """User and system time of the living tree and of the dead it waited for."""
    times = _stat()
    return sum(times[process][1] for process in _tree(times))


def peak_megabytes() -> float:
    """Peak resident memory of this process. Linux also counts into ``ru_maxrss`` what the parent held at the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # macOS counts bytes


@contextmanager
def peak_memory(root: int | None = None) -> Iterator[Peak]:
    """Look every tenth of a second while the body runs. ``root``: the process that has started the others."""
    peak, finished = Peak(), threading.Event()

    def look() -> None:
        while not finished.wait(_POLL_S):
            peak.bytes = max(peak.bytes, sum(map(_memory, _tree(_stat(), root))))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        finished.set()
        watcher.join()


def _stat() -> dict[int, tuple[int, float]]:
    """Process to its parent and its CPU seconds."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            found[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)
    return found


def _tree(processes: dict[int, tuple[int, float]], root: int | None = None) -> set[int]:
    tree, before = {os.getpid() if root is None else root}, 0
    while len(tree) != before:
        before = len(tree)
        tree |= {process for process, (parent, _) in processes.items() if parent in tree}
    return tree & processes.keys()


def _memory(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
