"""Records through a served Kafka broker: how much of one core 50,000 records of 100 bytes per second take, produced and
consumed, and what consumers that wait for records cost.

The broker runs in a process of its own; what counts is that process's CPU time. The clients are librdkafka's.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

RECORDS, BYTES, WAITING, WAIT_S = 500_000, 100, 200, 10
_TICK = os.sysconf("SC_CLK_TCK")


def serve() -> None:
    """A broker with topics for this benchmark, until its input ends."""
    from kafka_coordinator.wire.served import ServedCluster
    from protocols.engine.sockets import Sockets

    async def told() -> None:
        world = Sockets()
        cluster = ServedCluster(world, topics={"large": 6, "small": 6, "idle": WAITING})
        await cluster.start()
        print(cluster.bootstrap, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await world.close()

    asyncio.run(told())


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """Its bootstrap address and process id."""
    command = [sys.executable, "-m", "benchmarks.serving_records", "serve"]
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


def waiting(bootstrap: str, pid: int) -> tuple[float, float]:
    """Share of a core, and of it per second and waiting consumer in microseconds, while consumers read nothing."""
    from aiokafka import AIOKafkaConsumer
    from aiokafka import TopicPartition as Partition

    async def told() -> tuple[float, float]:
        consumers = [AIOKafkaConsumer(bootstrap_servers=bootstrap) for _ in range(WAITING)]
        for number, each in enumerate(consumers):
            await each.start()
            each.assign([Partition("idle", number)])
            await each.seek_to_end()
        await asyncio.sleep(2)
        used, began = cpu_s(pid), time.perf_counter()
        await asyncio.sleep(WAIT_S)
        share = (cpu_s(pid) - used) / (time.perf_counter() - began)
        for each in consumers:
            await each.stop()
        return share, share / WAITING * 1e6

    return asyncio.run(told())


def main() -> None:
    with server() as (bootstrap, pid):
        through(bootstrap, pid, "large", 1_000_000, 10_000)
    print("| records of 100 bytes | by the clock | server's CPU | records per second of CPU |")
    print("|---|---|---|---|")
    with server() as (bootstrap, pid):
        for label, topic, batch in (("batches to 1 MB", "large", 1_000_000), ("batches to 16 KB", "small", 16_384)):
            clock, cpu = through(bootstrap, pid, topic, batch, RECORDS)
            print(f"| {RECORDS:,}, {label} | {clock:.1f} s | {cpu:.2f} s | {RECORDS / max(cpu, 0.01):,.0f} |")
        print(f"\nresident after that: {resident_mb(pid):.0f} MB")
        share, each = waiting(bootstrap, pid)
        print(
            f"{WAITING} aiokafka consumers that wait (2 fetches per second each): {share:.1%} of a core, {each:.0f} us "
            "per second and consumer"
        )


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
