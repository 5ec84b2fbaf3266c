"""Records rebalances of released Java members at a released broker, in the form that `equipoise conformance` plays.

`python -m tests.slow.kafka_recorder VERSION FOLDER [NAME...]` plays the scripts of `SCRIPTS`, all at once, at one node
of this version, and writes ``NAME.json`` for each (captures/kafka/traces, INDEX.md says what is in it). ``NAME-2`` is
the script of ``NAME`` once more.
"""

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final, NamedTuple

from compare.conformance.kafka_recordings.happened import (
    CALLBACKS,
    FIGURES,
    Delivery,
    Happened,
    delivered_again,
    figures_of,
    happened,
    silences,
)
from compare.conformance.kafka_recordings.reading import queue_named, read
from compare.conformance.recordings import longest, ownership, summed
from tests.kafka_coordinator.wire.plain import request
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.slow.java_members import Members, Program
from tests.slow.kafka_scripts import SCRIPTS, Script, Step
from tests.slow.real_kafka import RealKafka, running
from tests.slow.scripts import follow

_RATE: Final = 10
_TICK_S: Final = 0.1
_WARM_S: Final = 6.0
_DESCRIBE_CLASSIC, _DESCRIBE_CONSUMER, _ALTER, _GROUP_RESOURCE = 15, 69, 44, 32
_LOGS: Final = (
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.coordinator.group=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
)
_LINE: Final = re.compile(
    r"(?P<at>\S+) \[.*?\] INFO \S+GroupMetadataManager - (?:\[GroupCoordinator .*?\] )?(?P<log>.*)"
)
_AT_BROKER: Final = {
    "group.initial.rebalance.delay.ms": "3000",
    "group.consumer.heartbeat.interval.ms": "5000",
    "group.consumer.min.session.timeout.ms": "6000",
    "offsets.topic.num.partitions": "50",
}


class Seen(NamedTuple):
    """An event as it is written, at milliseconds since the epoch."""

    at: float
    event: Mapping[str, Any]


@dataclass
class Stage:
    """One script that is played: the processes of its members, and what was seen."""

    name: str
    script: Script
    kafka: RealKafka
    processes: Mapping[str, Members]
    seen: list[Seen] = field(default_factory=list)

    def settings(self, member: str) -> dict[str, str]:
        given = self.script.members[member]
        own = {"group.id": self.name, "client.id": member.partition("#")[0], "auto.offset.reset": "earliest"}
        return {**own, **given}

    def told_as(self, member: str) -> str:
        return f"{self.name}/{member}"

    def note(self, **event: Any) -> None:
        self.seen.append(Seen(time.time() * 1000, event))

    def do(self, step: Step) -> None:
        """What the script does at one moment."""
        member = step.member
        topics = [f"{self.name}.{topic}" for topic in step.topics or self.script.topics]
        about: dict[str, Any] = {"member": member} if member else {}
        if step.what == "change subscription":
            about["topics"] = topics
        elif step.what == "add partitions":
            about = {"topic": topics[0], "to": step.count}
        self.note(ev="step", what=step.what, **about)
        match step.what:
            case "start member":
                settings = {**self.settings(member), "bootstrap.servers": self.kafka.plaintext}
                self.processes[member].start(self.told_as(member), topics, settings)
            case "stop member (clean close)":
                self.processes[member].say("close", self.told_as(member))
            case "kill -9":
                self.processes[member].kill()
            case "stop polling":
                self.processes[member].say("sleep", self.told_as(member), str(step.count))
            case "change subscription":
                self.processes[member].say("subscribe", self.told_as(member), ",".join(topics))
            case "add partitions":
                _grow(self.kafka, topics[0], step.count)
                self.note(ev="step", what="partitions added", **about)

    def recording(self, began: float, version: str, loads: Sequence[float]) -> dict[str, Any]:
        """All of it as a file has it; ``began``: milliseconds since the epoch."""
        told = [each for member in self.script.members for each in self._told(member)]
        end = max(each.at for each in self.seen if each.event.get("what") == "end")
        seen = sorted(
            (each for each in (*self.seen, *told, *_logged(self.kafka, self.name)) if each.at <= end),
            key=lambda each: each.at,
        )
        written: dict[str, Any] = {
            "scenario": self.name,
            "what": self.script.about,
            "broker": f"{version}, KRaft, 1 node",
            "group": self.name,
            "topics": {f"{self.name}.{topic}": count for topic, count in self.script.in_the_end().items()},
            "records_per_second_per_partition": _RATE,
            "machine_load_start_end": [round(each, 1) for each in loads],
            "group_config": self.script.group or None,
            "members": {
                member: {
                    "client": "java",
                    "protocol": given.get("group.protocol", "classic"),
                    "settings": self.settings(member),
                }
                for member, given in self.script.members.items()
            },
            "totals": {},
            "per_partition": {},
            "events": [{"ms": round(each.at - began, 1), **each.event} for each in seen],
        }
        return _summed_up(written, self._deliveries(began, end))

    def _told(self, member: str) -> Iterator[Seen]:
        """What the member's own program said."""
        owned: set[str] = set()
        for each in self.processes[member].of_any(self.told_as(member)):
            at, event = each.at * 1000, {"ev": each.kind, "member": member}
            if each.kind in CALLBACKS:
                names = [_named(partition) for partition in each.partitions]
                owned = owned | set(names) if each.kind == "assigned" else owned - set(names)
                known = {"gen": each.generation, "member_id": each.id} if each.generation > 0 else {}
                whole = {"all": sorted(owned)} if each.kind == "assigned" else {}
                yield Seen(at, {**event, "tp": names, **whole, **known})
            elif each.kind in ("started", "closing", "closed", "paused", "resumed"):
                yield Seen(at, event)
            elif each.kind == "subscribe":
                yield Seen(at, {**event, "topics": each.about[0].split(",")})
            elif each.kind == "error":
                yield Seen(at, {**event, "error": each.about[0]})

    def _deliveries(self, began: float, end: float) -> dict[str, list[Delivery]]:
        found: dict[str, list[Delivery]] = {}
        for member in self.script.members:
            for each in self.processes[member].of(self.told_as(member), "read"):
                at = each.at * 1000
                if at <= end:
                    partition, first, last = each.about
                    one = Delivery(at - began, at - began, int(first), int(last))
                    found.setdefault(_named(partition), []).append(one)
        return {name: sorted(each) for name, each in found.items()}


def _named(partition: str) -> str:
    topic, _, number = partition.rpartition("-")
    return f"{topic}:{number}"


def _summed_up(written: dict[str, Any], deliveries: Mapping[str, Sequence[Delivery]]) -> dict[str, Any]:
    """The recording with its summary, which is made of its events."""
    nothing = dict.fromkeys(("unowned_partition_ms", "double_owned_partition_ms", "longest_unowned_ms"), 0.0)
    counts = dict.fromkeys(
        ("partitions", "records_delivered_again", "partitions_revoked", "partitions_lost", "callbacks"), 0
    )
    found: Happened = happened(read({**written, "totals": {**nothing, **counts}}))
    owned = ownership(found.changes, found.end)
    for topic, count in written["topics"].items():
        for name in (f"{topic}:{number}" for number in range(count)):
            first = owned.first.get(queue_named(name))
            told = deliveries.get(name, [])
            figures = figures_of(owned, queue_named(name))
            written["per_partition"][name] = {
                "first_owned_ms": None if first is None else round(first, 1),
                **{figure: round(figures[figure], 1) for figure in FIGURES},
                "records_delivered_again": sum(count for _, count in delivered_again(told)),
                "longest_silence_ms": round(max(ms for _, ms in silences(told)), 1) if told else None,
            }
    written["totals"] = {
        "partitions": len(written["per_partition"]),
        "unowned_partition_ms": round(summed(owned.unowned), 1),
        "double_owned_partition_ms": round(summed(owned.double), 1),
        "longest_unowned_ms": round(longest(owned.unowned), 1),
        "records_delivered_again": sum(each["records_delivered_again"] for each in written["per_partition"].values()),
        "partitions_revoked": sum(len(each.queues) for each in found.callbacks if each.kind == "revoked"),
        "partitions_lost": sum(len(each.queues) for each in found.callbacks if each.kind == "lost"),
        "callbacks": len(found.callbacks),
    }
    return written


def _logged(kafka: RealKafka, group: str) -> Iterator[Seen]:
    """The coordinator's lines about a group."""
    named = re.compile(rf"(?<![\w-]){re.escape(group)}(?![\w-])")
    for line in (kafka.folder / "broker.log").read_text("utf-8", "replace").splitlines():
        if (found := _LINE.match(line)) and named.search(found["log"]):
            yield Seen(datetime.fromisoformat(found["at"]).timestamp() * 1000, {"ev": "broker", "log": found["log"]})


def _grow(kafka: RealKafka, topic: str, count: int) -> None:
    from confluent_kafka import admin

    client = admin.AdminClient({"bootstrap.servers": kafka.plaintext})
    client.create_partitions([admin.NewPartitions(topic, count)])[topic].result(30)


class _Watcher:
    """Describes every group each 100 ms, and keeps what is new."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages, self._ended = stages, Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self._last: dict[str, object] = {}

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join(30)

    def _watch(self) -> None:
        with RawClient(self._stages[0].kafka.plaintext) as client:
            while not self._ended.wait(0.1):
                names = [stage.name for stage in self._stages]
                consumer = client.ask(
                    request(_DESCRIBE_CONSUMER, 1, group_ids=names, include_authorized_operations=False)
                )
                classic = client.ask(request(_DESCRIBE_CLASSIC, 5, groups=names, include_authorized_operations=False))
                shown_as = {each.group_id: _classic(each) for each in classic.groups}
                shown_as.update({each.group_id: _consumer(each) for each in consumer.groups if not each.error_code})
                for stage in self._stages:
                    shown = shown_as[stage.name]
                    if shown != self._last.get(stage.name):
                        self._last[stage.name] = shown
                        stage.note(ev="group", g=shown)


def _consumer(group: Any) -> dict[str, Any]:
    return {
        "state": group.group_state,
        "type": "Consumer",
        "assignor": group.assignor_name,
        "group_epoch": group.group_epoch,
        "target_epoch": group.assignment_epoch,
        "members": [
            {
                "id": each.member_id,
                "client": each.client_id,
                **({"instance": each.instance_id} if each.instance_id else {}),
                "epoch": each.member_epoch,
                "tp": _partitions(each.assignment.topic_partitions),
                "target": _partitions(each.target_assignment.topic_partitions),
            }
            for each in group.members
        ],
    }


def _partitions(topics: Iterable[Any]) -> list[str]:
    return sorted(f"{each.topic_name}:{number}" for each in topics for number in each.partitions)


def _classic(group: Any) -> dict[str, Any]:
    if group.error_code or group.group_state == "Dead":
        return {"error": "not found"}
    members = []
    for each in group.members:
        members.append(
            {
                "id": each.member_id,
                "client": each.client_id,
                **({"instance": each.group_instance_id} if each.group_instance_id else {}),
                "tp": _assigned(each.member_assignment) if group.group_state == "Stable" else [],
            }
        )
    return {"state": group.group_state, "type": "Classic", "assignor": group.protocol_data, "members": members}


def _assigned(written: bytes) -> list[str]:
    """A classic member's partitions (schema: version, topics of name and partitions, user data)."""
    if not written:
        return []
    at, found = 6, []
    for _ in range(int.from_bytes(written[2:6], "big")):
        length = int.from_bytes(written[at : at + 2], "big")
        topic = written[at + 2 : at + 2 + length].decode()
        at += 2 + length
        count = int.from_bytes(written[at : at + 4], "big")
        numbers = [int.from_bytes(written[at + 4 + 4 * n : at + 8 + 4 * n], "big") for n in range(count)]
        at += 4 + 4 * count
        found += [f"{topic}:{number}" for number in numbers]
    return sorted(found)


def _prepare(stages: Sequence[Stage]) -> None:
    """Topics and the groups' own settings."""
    from confluent_kafka import admin

    kafka = stages[0].kafka
    client = admin.AdminClient({"bootstrap.servers": kafka.plaintext})
    topics = [
        admin.NewTopic(f"{stage.name}.{topic}", count, 1)
        for stage in stages
        for topic, count in stage.script.topics.items()
    ]
    for done in client.create_topics(topics).values():
        done.result(60)
    with RawClient(kafka.plaintext) as raw:
        for stage in stages:
            if not stage.script.group:
                continue
            configs = [
                {"name": name, "config_operation": 0, "value": str(value)} for name, value in stage.script.group.items()
            ]
            resource = {"resource_type": _GROUP_RESOURCE, "resource_name": stage.name, "configs": configs}
            answer = raw.ask(request(_ALTER, 1, resources=[resource], validate_only=False))
            assert not answer.responses[0].error_code, answer


def script_of(name: str) -> Script:
    """The script of a recording of this name."""
    return SCRIPTS[name if name in SCRIPTS else name.rpartition("-")[0]]


def record(kafka: RealKafka, version: str, program: Program, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Play these scripts at once; their recordings."""
    from confluent_kafka import Producer

    doomed = {(name, step.member) for name in names for step in script_of(name).steps if step.what == "kill -9"}
    shared, alone = Members(program), {each: Members(program) for each in sorted(doomed)}
    producer = Producer(
        {"bootstrap.servers": kafka.plaintext, "linger.ms": 5, "topic.metadata.refresh.interval.ms": 500}
    )
    try:
        stages = [
            Stage(
                name,
                script_of(name),
                kafka,
                {each: alone.get((name, each), shared) for each in script_of(name).members},
            )
            for name in names
        ]
        _prepare(stages)
        for stage in stages:
            for topic in stage.script.topics:
                producer.list_topics(f"{stage.name}.{topic}")  # it asks for metadata when it is told to write
        _warm(kafka, [shared, *alone.values()])
        before = os.getloadavg()[0]
        began = time.time()
        with _Watcher(stages):
            follow(began, _moments(stages, producer))
        loads = before, os.getloadavg()[0]
        time.sleep(1)
        for stage in stages:
            yield stage.recording(began * 1000, version, loads)
    finally:
        for members in (shared, *alone.values()):
            members.kill()
        producer.flush(10)


def _moments(stages: Sequence[Stage], producer: Any) -> Iterator[tuple[float, Callable[[], None]]]:
    for stage in stages:
        yield 0.0, partial(stage.note, ev="step", what="start")
        for step in stage.script.steps:
            yield step.seconds * 1000, partial(stage.do, step)
        yield stage.script.seconds * 1000, partial(stage.note, ev="step", what="end")
        growth = {step.seconds: step.count for step in stage.script.steps if step.what == "add partitions"}
        for tick in range(int(stage.script.seconds / _TICK_S)):
            at = tick * _TICK_S
            for topic, count in stage.script.topics.items():
                grown = max([count, *(to for since, to in growth.items() if since + 1 < at)])
                yield at * 1000, partial(_write, producer, f"{stage.name}.{topic}", grown)


def _write(producer: Any, topic: str, count: int) -> None:
    from confluent_kafka import KafkaException

    for number in range(count):
        try:
            producer.produce(topic, b"value", partition=number)
        except KafkaException:
            break  # it does not know the new partitions yet
    producer.poll(0)


def _warm(kafka: RealKafka, processes: Sequence[Members]) -> None:
    """Let every process have loaded its classes, so that members start within milliseconds."""
    own = {"bootstrap.servers": kafka.plaintext, "group.id": "warm", "client.id": "warm", "group.protocol": "consumer"}
    for members in processes:
        members.start("warm", ["warm"], own)
    time.sleep(_WARM_S)
    for members in processes:
        members.close("warm")


def main(version: str, folder: str, *names: str) -> None:
    with tempfile.TemporaryDirectory() as where:
        program = Program.compiled(version, Path(where))
        (Path(where) / "kafka").mkdir()
        with running(Path(where) / "kafka", _AT_BROKER, version=version, options=_LOGS) as kafka:
            for written in record(kafka, version, program, names or tuple(SCRIPTS)):
                name = f"{written['scenario']}-{''.join(version.split('.')[:2])}.json"
                (Path(folder) / name).write_text(json.dumps(written), encoding="utf-8")
                print(name, written["totals"])


if __name__ == "__main__":
    main(*sys.argv[1:])
