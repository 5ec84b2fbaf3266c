"""What a user waits for at the console: start-up, audits, a gigabyte of logs, polls of a thousand groups.

Peer: the wall clock, nobody else does these things. Budgets: --help 0.5 s, one small file 1.5 s, all vectors 60 s;
an audit with everything of 300, 1,000 and 10,000 groups 20, 60 and 30 CPU s; a gigabyte of logs 60 s, 500 MB and 1
us for a line that means nothing; a further poll of 1,000 groups 2 CPU s.

python -m benchmarks.waiting [commands] [audits] [logs] [watch]
"""

import gc
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tabulate import tabulate

from benchmarks import run_parts
from compare.logs.lines import LogFile, Reading, lines_with
from compare.logs.reading import KEYS
from kafka_coordinator import assign
from protocols import Group
from tests.compare.reading.fake_rocketmq import Answer, ok, queue_key, route, serving

ROOT = Path(__file__).parent.parent
CAPTURE = ROOT / "examples/captures/rocketmq/seed_group/consumerProgress_s.txt"


def timed_command(*arguments: str) -> tuple[float, float]:
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


def commands() -> None:
    rows = [
        ("equipoise --help", "0.5", *timed_command("--help")),
        ("audit of one small file", "1.5", *timed_command("audit", str(CAPTURE))),
        ("conformance, all vectors", "60", *timed_command("conformance", "tests/golden")),
        ("group of 1,000 members, 100,000 queues", "1", *large_group()),
    ]
    print(tabulate(rows, headers=["what", "must be below (s)", "wall s", "CPU s"], floatfmt=".2f"))


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


def audits() -> None:
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
        assert not list(lines_with(file, KEYS, Reading()))
        yield kind, (time.process_time() - start) / rows * 1e9


def logs() -> None:
    """Print what reading costs."""
    with TemporaryDirectory() as folder:
        log_files = Path(folder) / "logs"
        log_files.mkdir()
        write(log_files, MEGABYTES)
        size = sum(path.stat().st_size for path in log_files.iterdir()) / 1e6
        start = time.perf_counter()
        command = [sys.executable, "-m", "compare", "logs", str(log_files), "--format", "json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            printed = process.stdout.read()
            _, _, used = os.wait4(process.pid, 0)
            process.returncode = 0
        wall = time.perf_counter() - start
        rebalances = sum(len(group["rebalances"]) for group in json.loads(printed)["groups"])
        cpu = used.ru_utime + used.ru_stime
        row = [f"{size:.0f}", rebalances, f"{wall:.1f}", f"{cpu:.1f}", f"{used.ru_maxrss / 1024:.0f}"]
        print(tabulate([row], headers=["log MB", "rebalances", "wall s", "CPU s", "memory MB"]))
        for kind, nanoseconds in quiet_line(Path(folder)):
            print(f"a line of the {kind} that means nothing: {nanoseconds:.0f} ns")


WATCHED, POLLS = 1000, 6
LIMIT_S = 2.0
_STRATEGY = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@1"


class Cluster:
    """One broker, which is its own name server, and groups with topics of their own."""

    def __init__(self, groups: int) -> None:
        draw = random.Random(1)
        self._shapes = {
            f"group-{number}": (draw.randint(1, 8), [draw.randint(4, 16) for _ in range(draw.randint(1, 3))])
            for number in range(groups)
        }
        self.at = ""

    def answer(self, code: int, fields: Mapping[str, str]) -> Answer:
        """As a name server and a broker answer."""
        if code == 206:
            return ok({"topicList": [f"%RETRY%{group}" for group in self._shapes]})
        if code == 105:
            return route({"broker-a": self.at}, self._queues(fields["topic"]))
        group = fields["consumerGroup"]
        members, topics = self._shapes[group]
        names = [f"topic-{group}-{number}" for number in range(len(topics))]
        if code == 203:
            connections = [{"clientId": f"c{n}", "clientAddr": f"127.0.0.1:{40000 + n}"} for n in range(members)]
            return ok(
                {
                    "connectionSet": connections,
                    "subscriptionTable": {name: {} for name in names},
                    "messageModel": "CLUSTERING",
                }
            )
        every = [(name, n) for name, count in zip(names, topics, strict=True) for n in range(count)]
        if code == 208:
            rows = [
                f'{queue_key(name, "broker-a", n)}:{{"brokerOffset":10,"consumerOffset":{n % 10}}}' for name, n in every
            ]
            return ok(f'{{"consumeTps":0.0,"offsetTable":{{{",".join(rows)}}}}}')
        own = int(fields["clientId"][1:])
        table = ",".join(
            f'{queue_key(name, "broker-a", n)}:{{"droped":false}}' for name, n in every if n % members == own
        )
        subscribed = json.dumps([{"topic": name} for name in names])
        properties = json.dumps({"allocateMessageQueueStrategy": _STRATEGY, "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY"})
        return ok(
            f'{{"mqTable":{{{table}}},"mqPopTable":{{}},"properties":{properties},"subscriptionSet":{subscribed}}}'
        )

    def _queues(self, topic: str) -> int:
        if topic.startswith("%RETRY%"):
            return 1
        _, group, number = topic.rsplit("-", 2)
        return self._shapes[f"group-{group}"][1][int(number)]


@contextmanager
def cluster(groups: int) -> Iterator[str]:
    """The address of a cluster that lives in a process of its own."""
    code = f"from benchmarks.waiting import serve; serve({groups})"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"rocketmq://{server.stdout.readline().strip()}"
        finally:
            server.kill()


def serve(groups: int) -> None:
    made = Cluster(groups)
    with serving(made.answer) as at:
        made.at = at
        print(at, flush=True)
        time.sleep(3600)


def watched(source: str, polls: int, folder: Path) -> float:
    """CPU seconds of `watch` and what it starts."""
    options = ["--every", "2s", "--polls", str(polls), "--prometheus", "127.0.0.1:0", "--out", str(folder)]
    command = [sys.executable, "-m", "compare", "watch", source, *options]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(running.pid, 0)
    running.returncode = 0
    return used.ru_utime + used.ru_stime


def watch() -> None:
    """A poll from the text that an admin tool prints, and one of a RocketMQ cluster on loopback, whose own work is not
    counted. Snapshots are written, and Prometheus' figures offered."""
    rows = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="equipoise-bench-")))
        text = folder / "members.txt"
        text.write_text("\n".join(members_view(WATCHED)) + "\n")
        live = stack.enter_context(cluster(WATCHED))
        for what, source in (("text of kafka-consumer-groups", str(text)), ("live RocketMQ on loopback", live)):
            once = watched(source, 1, folder / "once")
            several = watched(source, 1 + POLLS, folder / "several")
            size = sum(each.stat().st_size for each in (folder / "several").rglob("*.parquet"))
            rows.append((what, WATCHED, once, (several - once) / POLLS, LIMIT_S, size / 1e3))
    headers = ["source", "groups", "first poll with start (CPU s)", "each further poll (CPU s)", "must be below", "kB"]
    print(tabulate(rows, headers, floatfmt=".2f"))


if __name__ == "__main__":
    run_parts({"commands": commands, "audits": audits, "logs": logs, "watch": watch})
