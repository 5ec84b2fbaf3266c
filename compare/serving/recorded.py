"""What clients ask a served coordinator and are answered, written down as it happens (`compare.conformance.served`),
and at the end made into traces that `equipoise conformance` plays.

Every line goes to the file within the same turn of the event loop, so that what was recorded survives whatever ends the
process. Nothing of it is kept in memory but the connections' groups.
"""

import asyncio
import base64
import json
import logging
from collections.abc import Mapping
from io import FileIO
from pathlib import Path

from compare.conformance.kafka_coordinator_shapes import ANSWERS, OPERATIONS, answer, written
from compare.conformance.served import traces
from compare.conformance.served import written as what_is_written
from compare.formatting import many
from compare.serving.kafka import KafkaService
from compare.serving.service import Service
from kafka_coordinator.cluster import TxnOffsetCommit
from protocols import files
from protocols.engine.nodes import Message, Time

LOG = logging.getLogger("equipoise.serving")


class Journal:
    """The file that grows while a cluster of Kafka is served, from `begins` on. What is wrong later is logged once, and
    ``failure`` says it."""

    def __init__(self, path: Path, settings: Mapping[str, object]) -> None:
        self.path, self._settings = path, settings
        self._loop = asyncio.get_running_loop()
        self._ids: Mapping[str, int] = {}
        self.failure: OSError | None = None
        self._lines: list[str] = []
        self._asked: set[tuple[str, int]] = set()
        """Connection and number of requests that were written and are not answered."""
        self._file: FileIO | None = None
        self._has_transactions = False

    def begins(self, service: Service) -> None:
        """The file is begun with the topics that there are; the service is Kafka's. Raises `OSError`."""
        self._file = self.path.open("wb", buffering=0)  # a full disk is met here, and not when the file is closed
        assert isinstance(service, KafkaService)
        self._ids = service.cluster.controller.topic_ids
        topics = {topic: sum(queues.values()) for topic, queues in service.topics().items()}
        ids = {topic: _base64(self._ids.get(topic, 0)) for topic in topics}
        version = service.version
        begin = {"served": "kafka", "kafka": version, "config": dict(self._settings)}
        self._write({**begin, "topics": topics, "topic_ids": ids})
        if len(service.brokers) > 1:
            self.untraceable(0.0, "its traces are of one broker")

    def heard(self, at: Time, peer: str, message: Message, is_answer: bool) -> None:
        """A message between a client and the coordinator; others are passed over."""
        if is_answer:
            if type(message) in ANSWERS and (peer, message[0]) in self._asked:
                self._asked.discard((peer, message[0]))
                self._write({"at": at, "to": peer, "n": message[0], "resp": answer(message)})
            return
        if isinstance(message, TxnOffsetCommit) and not self._has_transactions:
            self._has_transactions = True
            self.untraceable(at, "offsets were committed within transactions, for which traces have no step")
        op, group = OPERATIONS.get(type(message)), getattr(message, "group", None)
        if op is not None and group is not None:
            self._asked.add((peer, message[0]))
            req = written(message)
            if "client_id" in req:  # members are called otherwise in facts (`kafka_coordinator.wire.names`)
                req["client_id"] = getattr(req["client_id"], "client_id", req["client_id"])
            self._write({"at": at, "from": peer, "n": message[0], "op": op, "group": group, "req": req})

    def topic(self, at: Time, topic: str, partitions: int | None) -> None:
        """The topic has so many partitions from now on; None: it is gone."""
        self._write({"at": at, "topic": topic, "partitions": partitions, "id": _base64(self._ids.get(topic, 0))})

    def untraceable(self, at: Time, why: str) -> None:
        """Something has happened to servers, for which traces have no step."""
        self._write({"at": at, "untraceable": why})

    def close(self) -> None:
        """Nothing more comes."""
        self._flush()
        if self._file is not None:
            self._file.close()

    def _write(self, line: Mapping[str, object]) -> None:
        if not self._lines:
            self._loop.call_soon(self._flush)
        self._lines.append(json.dumps(line))

    def _flush(self) -> None:
        lines, self._lines = self._lines, []
        if not lines or self.failure is not None or self._file is None or self._file.closed:
            return
        try:
            left = memoryview("".join(f"{line}\n" for line in lines).encode())
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self.failure = error
            LOG.warning("--record %s: %s; what comes from now on is not recorded", self.path, error.strerror)


def _base64(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")


def make_traces(path: Path) -> list[str]:
    """Put the traces of its groups in the place of what was written down. What is to be said about them; what was
    written down stays where there can be no traces. Raises `OSError`."""
    with path.open("rb") as lines:
        found = what_is_written(lines)
    if found.untraceable:
        return [f"{path} holds no traces for conformance: {found.untraceable}"]
    told = []
    with files.replaced(path) as beside, beside.open("w", encoding="utf-8") as out:
        for group, content, differing in traces(found):
            out.write(json.dumps(content, allow_nan=False) + "\n")
            if differing:
                told.append(
                    f"{many(differing, 'answer')} to group {group!r} differ from what the model answers in whole ms:"
                    " conformance shows them"
                )
    told.append(f"{path} holds what clients asked and were answered here, by a model: it says nothing of a real Kafka")
    return told
