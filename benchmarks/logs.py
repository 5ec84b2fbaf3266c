"""`equipoise logs` on a gigabyte of broker and client log: CPU time, memory, and the cost of a line without meaning."""

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tabulate import tabulate

from compare.logs.lines import LogFile, lines_with
from compare.logs.reading import KEYS

MEGABYTES = 1000
MEMBERS = 12
_START = 1_790_000_000.0
_STEP_S = 9.0
_QUIET = 600
"""Lines without meaning between two rebalances of a group."""
_LINE = "Processed 245 records of partition orders-{number} in 37 ms, next offset 1822{number:04d} (com.acme.Worker)"
_LOADED = (
    "[Partition orders-{number} broker=1] Log loaded for partition orders-{number} with high watermark 0 (kafka.Log)"
)
_ROW = "INFO [Consumer clientId=worker-{member}, groupId=orders-{group}] "


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("[%Y-%m-%d %H:%M:%S,") + f"{int(at * 1000) % 1000:03d}] "


def _id(group: int, member: int, life: int) -> str:
    return f"worker-{member}-{group:08x}-{life:04x}-4444-8888-{member:012x}"


def write(folder: Path, megabytes: int) -> None:
    """A broker's log and two clients' logs of eight groups, each of which loses its slow member again and again."""
    names = ("broker.log", "client-1.log", "client-2.log")
    files = [(folder / name).open("w", encoding="utf-8") for name in names]
    try:
        life, limit = 0, megabytes * 1_000_000
        written = 0
        while written < limit:
            for group in range(8):
                life += 1
                for file, text in zip(files, _round(group, life, _START + life * _STEP_S), strict=True):
                    written += file.write(text)
    finally:
        for file in files:
            file.close()


def _round(group: int, life: int, at: float) -> tuple[str, str, str]:
    """One poll timeout and the rejoin, as broker, leader and slow member print it, with what else they print."""
    number = (life // 8) * 2 + 1
    old, new = _id(group, 2, life - 8), _id(group, 2, life)
    broker, leader, slow = [], [], []
    name, head = f"orders-{group}", "INFO [GroupCoordinator 1]: "
    tail = " (kafka.coordinator.group.GroupCoordinator)"
    for step, (reason, member, count) in enumerate(
        (
            (f"Removing member {old} on LeaveGroup; client reason: consumer poll timeout has expired.", old, 11),
            (f"Adding new member {new} with group instance id None; client reason: not provided", new, 12),
        )
    ):
        when = at + 3 * step
        state = f"in state PreparingRebalance with old generation {number + step}"
        broker.append(f"{_time(when)}{head}Preparing to rebalance group {name} {state} (reason: {reason}){tail}")
        done = f"Stabilized group {name} generation {number + step + 1} (__consumer_offsets-3) with {count} members"
        broker.append(f"{_time(when + 1)}{head}{done}{tail}")
        for lines, client in ((leader, 1), (slow, 2)):
            row = _ROW.format(member=client, group=group)
            own = _id(group, 1, 0) if client == 1 else member
            if client == 2 and not step:
                said = "sending LeaveGroup request to coordinator x due to consumer poll timeout has expired."
                lines.append(f"{_time(when)}{row}Member {old} {said}")
                continue
            joined = f"Generation{{generationId={number + step + 1}, memberId='{own}', protocol='range'}}"
            lines.append(f"{_time(when + 0.2)}{row}(Re-)joining group (o.a.k.ConsumerCoordinator)")
            said = f"Successfully joined group with generation {joined} (o.a.k.ConsumerCoordinator)"
            lines.append(f"{_time(when + 1)}{row}{said}")
    for number in range(_QUIET):
        broker.append(_time(at + 5) + "INFO " + _LOADED.format(number=number))
        leader.append(_time(at + 5) + "INFO " + _LINE.format(number=number))
        slow.append(_time(at + 5) + "INFO " + _LINE.format(number=number))
    return "\n".join(broker) + "\n", "\n".join(leader) + "\n", "\n".join(slow) + "\n"


def quiet_line(folder: Path) -> Iterator[tuple[str, float]]:
    """Nanoseconds of CPU for one line that means nothing, by its kind."""
    for kind, text in (("application", _LINE), ("broker", _LOADED)):
        path = folder / f"{kind}.log"
        rows = 400_000
        path.write_text("".join(f"{_time(_START)}INFO {text.format(number=number % 99)}\n" for number in range(rows)))
        file = LogFile(path.name, path.name, path)
        gc.collect()
        start = time.process_time()
        assert not list(lines_with(file, KEYS))
        yield kind, (time.process_time() - start) / rows * 1e9


def main() -> None:
    """Print what reading costs."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    with TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        logs.mkdir()
        write(logs, megabytes)
        size = sum(path.stat().st_size for path in logs.iterdir()) / 1e6
        start = time.perf_counter()
        told = subprocess.run(
            [sys.executable, "-m", "compare", "logs", str(logs), "--format", "json"], check=True, capture_output=True
        )
        wall = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        rebalances = sum(len(group["rebalances"]) for group in json.loads(told.stdout)["groups"])
        cpu = used.ru_utime + used.ru_stime
        row = [f"{size:.0f}", rebalances, f"{wall:.1f}", f"{cpu:.1f}", f"{used.ru_maxrss / 1024:.0f}"]
        print(tabulate([row], headers=["log MB", "rebalances", "wall s", "CPU s", "memory MB"]))
        for kind, nanoseconds in quiet_line(Path(folder)):
            print(f"a line of the {kind} that means nothing: {nanoseconds:.0f} ns")


if __name__ == "__main__":
    main()
