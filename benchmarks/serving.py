"""What a served Kafka broker costs: heartbeats, members that only say that they are there, records. It is a process
of its own.

Peer: the load itself, a Python process beside it, so that only the broker's processor time counts. Budgets: 50 ms
to the first answer, 4,000 heartbeats a second of processor time, 60% of a core and 300 MB for 1,000 idle members,
50,000 records of 100 bytes a second on one core, 20,000 in a share group.

python -m benchmarks.serving [members] [records] [turns]
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from struct import pack
from threading import Thread
from time import perf_counter, process_time
from typing import Any

from confluent_kafka import Consumer, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from tabulate import tabulate

from benchmarks import run_parts
from benchmarks.turns import turns
from kafka_coordinator.wire.served import ServedCluster
from kafka_coordinator.wire.state import BrokerAddress
from protocols.engine.sockets import Sockets
from tests.kafka_coordinator.wire.load import Member, text

MEMBERS = 1000
HEARTBEAT_S = 3.0
FETCH_S = 0.5
"""``heartbeat.interval.ms`` and ``fetch.max.wait.ms`` of a Java consumer: 2,333 requests a second of 1,000 members."""
LEAST_HEARTBEATS, MOST_SHARE, MOST_MB, MOST_START_MS = 4_000, 0.60, 300, 50


def serve(told: Connection) -> None:
    """The broker's process: tells its address and how long the start took, then its costs whenever it is asked."""

    async def run() -> None:
        began = perf_counter()
        world = Sockets()
        cluster = ServedCluster(world, topics={"orders": 6}, settings={"group.initial.rebalance.delay.ms": 3000})
        await cluster.start()
        address = cluster.addresses["broker-1"]
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\xff\xff")
        await reader.readexactly(4)
        told.send((address, (perf_counter() - began) * 1000))
        writer.close()
        loop, ends = asyncio.get_running_loop(), asyncio.Event()

        def asked() -> None:
            if told.recv() == "end":
                ends.set()
            else:
                told.send((process_time(), _memory_mb()))

        loop.add_reader(told.fileno(), asked)
        await ends.wait()
        await world.close()

    asyncio.run(run())


def _memory_mb() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        found = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(found.split()[1]) / 1024
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


def fetch_frame(member: Member) -> bytes:
    """A Fetch of version 4 that waits for records of one partition that has none."""
    partition = pack(">i", 1) + pack(">iqi", 0, 0, 1_000_000)
    body = pack(">iiiib", -1, int(FETCH_S * 1000), 1, 50_000_000, 0) + pack(">i", 1) + text("orders") + partition
    return member.frame(1, 4, body)


async def beat(members: list[Member], seconds: float) -> int:
    """How many heartbeats are answered when each member sends the next one at once."""
    end, answered = perf_counter() + seconds, 0

    async def one(member: Member) -> None:
        nonlocal answered
        while perf_counter() < end:
            assert await member.heartbeat() == 0
            answered += 1

    await asyncio.gather(*[one(each) for each in members])
    return answered


async def idle(
    members: list[Member], fetchers: list[Member], seconds: float, cost: Callable[[], tuple[float, float]]
) -> tuple[float, float, float]:
    """Members do what idle consumers do: requests a second that are answered once all have begun, the broker's share of
    a core, its memory in MB."""
    end, answered = perf_counter() + HEARTBEAT_S + seconds, 0

    async def beats(place: int, member: Member) -> None:
        nonlocal answered
        await asyncio.sleep(HEARTBEAT_S * place / len(members))
        while perf_counter() < end:
            assert await member.heartbeat() == 0
            answered += 1
            await asyncio.sleep(HEARTBEAT_S)

    async def fetches(place: int, member: Member) -> None:
        nonlocal answered
        await asyncio.sleep(FETCH_S * place / len(fetchers))
        frame = fetch_frame(member)
        while perf_counter() < end:
            member.writer.write(frame)
            await member.read()
            answered += 1

    async def measured() -> tuple[float, float, float]:
        await asyncio.sleep(HEARTBEAT_S)
        began, before, (cpu, _) = perf_counter(), answered, cost()
        await asyncio.sleep(seconds - 0.5)
        wall, (after, memory) = perf_counter() - began, cost()
        return (answered - before) / wall, (after - cpu) / wall, memory

    found, *_ = await asyncio.gather(
        measured(),
        *[beats(place, each) for place, each in enumerate(members)],
        *[fetches(place, each) for place, each in enumerate(fetchers)],
    )
    return found


async def load(address: BrokerAddress, cost: Callable[[], tuple[float, float]]) -> list[list[object]]:
    """Rows of the table."""
    members = [await Member.of(address, f"c{number}", f"g{number // 10}") for number in range(MEMBERS)]
    await asyncio.gather(*[each.join() for each in members])
    some = members[:50]
    cpu, _ = cost()
    began = perf_counter()
    answered = await beat(some, 5.0)
    wall, (after, _) = perf_counter() - began, cost()
    rows: list[list[object]] = [
        ["heartbeats a second, as they came", "", round(answered / wall)],
        ["heartbeats a second of processor time", f"at least {LEAST_HEARTBEATS:,}", round(answered / (after - cpu))],
    ]
    fetchers = [await Member.of(address, f"c{number}") for number in range(MEMBERS)]
    rate, share, memory = await idle(members, fetchers, 10.0, cost)
    rows += [
        [f"requests a second of {MEMBERS:,} idle members", "some 2,300", round(rate)],
        ["their share of a core", f"below {MOST_SHARE:.0%}", f"{share:.0%}"],
        ["the same at 2,333 requests a second", f"below {MOST_SHARE:.0%}", f"{share / rate * 2333:.0%}"],
        ["memory of the broker's process (MB)", f"below {MOST_MB}", round(memory)],
    ]
    for each in (*members, *fetchers):
        each.close()
    return rows


def members_of_a_group() -> None:
    """Print the table."""
    ours, theirs = Pipe()
    process = Process(target=serve, args=(theirs,))
    process.start()
    address, start_ms = ours.recv()

    def cost() -> tuple[float, float]:
        ours.send("cost")
        found: tuple[float, float] = ours.recv()
        return found

    rows = [["start to first answer (ms)", f"below {MOST_START_MS}", f"{start_ms:.1f}"]]
    try:
        rows += asyncio.run(load(address, cost))
    finally:
        ours.send("end")
        process.join()
    print(tabulate(rows, headers=["what", "must be", "is"], colalign=("left", "right", "right")))
    sys.stdout.flush()


RECORDS, BYTES, SHARED = 500_000, 100, 300_000
_TICK = os.sysconf("SC_CLK_TCK")


def serve_records() -> None:
    """A broker with topics for this benchmark, until its input ends."""
    from kafka_coordinator.wire.served import ServedCluster
    from protocols.engine.sockets import Sockets

    async def told() -> None:
        world = Sockets()
        cluster = ServedCluster(world, topics={"large": 6, "small": 6})
        await cluster.start()
        print(cluster.bootstrap, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await world.close()

    asyncio.run(told())


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """Its bootstrap address and process id."""
    command = [sys.executable, "-c", "from benchmarks.serving import serve_records; serve_records()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.stdin.close()
        process.wait(10)


def cpu_s(pid: int) -> float:
    """Seconds of CPU time that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def resident_mb(pid: int) -> float:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def through(bootstrap: str, pid: int, topic: str, batch: int, records: int) -> tuple[float, float]:
    """Produce and consume at the same time; seconds by the clock and of the server's CPU time. ``batch``: bytes of a
    producer's batches at most."""
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "batch.size": batch,
        "linger.ms": 5,
        "queue.buffering.max.messages": 1_000_000,
        "log_level": 0,
    }
    producer = Producer(settings)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench", "log_level": 0})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(6)])
    value, read = b"x" * BYTES, [0]

    def consume() -> None:
        while read[0] < records:
            read[0] += len(consumer.consume(10_000, 1.0))

    began, used = time.perf_counter(), cpu_s(pid)
    thread = Thread(target=consume)
    thread.start()
    for number in range(records):
        producer.produce(topic, value, partition=number // 100 % 6)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush(60)
    thread.join(60)
    assert read[0] == records
    took = time.perf_counter() - began, cpu_s(pid) - used
    consumer.close()
    return took


def shared(bootstrap: str, pid: int, topic: str, records: int) -> tuple[float, float]:
    """Records that were written before are read and acknowledged by one share consumer: seconds as `through`."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, topic, incremental_configs=[earliest])
    for done in admin.incremental_alter_configs([resource]).values():
        done.result()
    consumer = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": topic, "log_level": 0})
    consumer.subscribe([topic])
    began, used, read = time.perf_counter(), cpu_s(pid), 0
    while read < records:
        read += len(consumer.poll(1.0))
    consumer.commit_sync(10.0)
    took = time.perf_counter() - began, cpu_s(pid) - used
    consumer.close()
    return took


def records() -> None:
    with server() as (bootstrap, pid):
        through(bootstrap, pid, "large", 1_000_000, 10_000)
    print("50,000 records a second on one core must be possible, 20,000 in a share group.\n")
    print("| records of 100 bytes | by the clock | server's CPU | records per second of CPU |")
    print("|---|---|---|---|")
    with server() as (bootstrap, pid):
        for label, topic, batch in (("batches to 1 MB", "large", 1_000_000), ("batches to 16 KB", "small", 16_384)):
            clock, cpu = through(bootstrap, pid, topic, batch, RECORDS)
            print(f"| {RECORDS:,}, {label} | {clock:.1f} s | {cpu:.2f} s | {RECORDS / max(cpu, 0.01):,.0f} |")
        for label, topic in (("of batches to 1 MB", "large"), ("of batches to 16 KB", "small")):
            clock, cpu = shared(bootstrap, pid, topic, SHARED)
            rate = SHARED / max(cpu, 0.01)
            print(f"| {SHARED:,} {label}, read by a share group | {clock:.1f} s | {cpu:.2f} s | {rate:,.0f} |")
        print(f"\nresident after that: {resident_mb(pid):.0f} MB")


if __name__ == "__main__":
    run_parts({"members": members_of_a_group, "records": records, "turns": turns})
