"""`equipoise watch` of 1,000 groups: CPU seconds of a poll, all processes counted.

`python -m benchmarks.watching [--groups 1000] [--polls 6]`. One line reads the groups of `benchmarks.audits` (2 to 20
members, 2 to 12 topics of 3 to 24 partitions: 95,000 queues) from text that an admin tool prints; the other asks a
RocketMQ cluster on loopback with groups of 1 to 8 members and 1 to 3 topics of 4 to 16 queues, whose own work (in a
process of its own) is not counted. Snapshots are written, and Prometheus' figures offered.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tabulate import tabulate

from benchmarks.audits import members_view
from tests.compare.reading.fake_rocketmq import Answer, ok, queue_key, route, serving

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
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.watching", "--serve", str(groups)], stdout=subprocess.PIPE, text=True
    ) as server:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--polls", type=int, default=6)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    rows = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="equipoise-bench-")))
        text = folder / "members.txt"
        text.write_text("\n".join(members_view(options.groups)) + "\n")
        live = stack.enter_context(cluster(options.groups))
        for what, source in (("text of kafka-consumer-groups", str(text)), ("live RocketMQ on loopback", live)):
            once = watched(source, 1, folder / "once")
            several = watched(source, 1 + options.polls, folder / "several")
            size = sum(each.stat().st_size for each in (folder / "several").rglob("*.parquet"))
            rows.append((what, options.groups, once, (several - once) / options.polls, LIMIT_S, size / 1e3))
    headers = ["source", "groups", "first poll with start (CPU s)", "each further poll (CPU s)", "must be below", "kB"]
    print(tabulate(rows, headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()
