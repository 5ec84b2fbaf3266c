"""Recorded sessions of real clients, played against the served nodes in virtual time: the answers are those that a real
name server and real brokers gave.

What may differ, and why:

- order within sets (brokers and queues of a route, members, locked queues): Java's hash order
- opaque numbers of notices: each server counts for itself
- language and version of an answer's frame: ours is not Java
- when and how often a broker notifies: real ones do it in threads, and see connections end at other times
- of records: where they stand in the commit log, store time and store host, and the order of properties
- addresses are keys without quotes in routes that real servers give to clients who do not ask for standard JSON
- msgId of a sent record, which is the place in the commit log
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketmq_selfbalance.broker import Broker, Disk
from rocketmq_selfbalance.broker.offsets import parse
from rocketmq_selfbalance.broker.state import SubscriptionGroupManager, TopicConfigManager
from rocketmq_selfbalance.codes import SUCCESS, TOPIC_NOT_EXIST
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.remoting import Frame, decode
from rocketmq_selfbalance.wire import requests, sending, stored_messages
from rocketmq_selfbalance.wire.broker import ServedBroker
from rocketmq_selfbalance.wire.conversation import maker
from rocketmq_selfbalance.wire.name_server import ServedNameServer
from rocketmq_selfbalance.wire.ownership import Ownership
from rocketmq_selfbalance.wire.pulling import arrived
from rocketmq_selfbalance.wire.served import RecordStore, Served, WireSettings
from rocketmq_selfbalance.wire.stored_messages import Stored
from rocketmq_selfbalance.wire.virtual import Virtual
from tests.rows import rows

CAPTURES = Path(__file__).parents[2] / "captures" / "rocketmq"
SESSIONS = {
    "ali_ons_consumer": 290,
    "mqadmin_consumerProgress": 22,
    "producer": 22,
    "push_concurrent": 228,
    "push_heartbeat_v2": 146,
    "push_orderly": 150,
    "push_retry": 108,
    "push_rocketmq_serialization": 84,
}
"""Session to the number of its frames."""

QUICKER = {("push_heartbeat_v2", 7)}
"""Session and opaque number of a request that came while a real broker was still busy with the heartbeat by which the
topic asked for comes into being; ours is not busy for so long."""


def records_in(body: bytes) -> Iterator[Stored]:
    while body:
        size = int.from_bytes(body[:4])
        yield stored_messages.decode(body[:size])
        body = body[size:]


@dataclass
class Session:
    """A recording, and what it says about the time before it."""

    events: list[dict[str, Any]]
    frames: dict[int, Frame] = field(default_factory=dict)
    epoch_ms: int = 0

    @classmethod
    def read(cls, name: str) -> "Session":
        (path,) = CAPTURES.glob(f"wire*/{name}.jsonl")
        session = cls([json.loads(line) for line in path.read_text("utf-8").splitlines()])
        for number, event in enumerate(session.events):
            if event.get("hex"):
                session.frames[number] = decode(bytes.fromhex(event["hex"])[4:])
        # A held pull is answered when its record is stored: the latest store time seen tells when 0 was.
        for number, frame in session.pulled():
            newest = max(each.stored for each in records_in(frame.body))
            session.epoch_ms = max(session.epoch_ms, newest - session.events[number]["t_ms"])
        return session

    def pulled(self) -> Iterator[tuple[int, Frame]]:
        """Answers that hold records."""
        for number, frame in self.frames.items():
            if frame.body and self.events[number].get("answerTo") == "PULL_MESSAGE":
                yield number, frame

    def records(self) -> list[tuple[str, Stored]]:
        """Broker and record, each once, in the order of their storing."""
        found = {
            (self.events[number]["server"], each.record.topic, each.record.queue_number, each.offset): each
            for number, frame in self.pulled()
            for each in records_in(frame.body)
        }
        return sorted(((key[0], each) for key, each in found.items()), key=lambda pair: pair[1].stored)

    def addresses(self) -> dict[str, str]:
        """Broker to its address, as routes told it."""
        for _, answer, _ in self.answers_of(105):
            if answer.body:
                brokers = parse(answer.body.decode())["brokerDatas"]
                return {each["brokerName"]: each["brokerAddrs"]["0"] for each in brokers}
        raise AssertionError("no route in the recording")

    def answers_of(self, code: int) -> Iterator[tuple[Mapping[str, str], Frame, str]]:
        """Fields of the requests of this number with their answers and servers."""
        asked: dict[tuple[int, int], Frame] = {}
        for number, frame in self.frames.items():
            event = self.events[number]
            if event["dir"] == "c>s" and frame.code == code:
                asked[event["conn"], frame.opaque] = frame
            elif frame.is_answer and (request := asked.pop((event["conn"], frame.opaque), None)) is not None:
                yield request.fields, frame, event["server"]


class Played:
    """A recording that is being played."""

    def __init__(self, session: Session) -> None:
        self.session, self.world = session, Virtual()
        wire = WireSettings(cluster="EvenkeelLab")
        self.addresses = session.addresses()
        make = maker(requests.NAME_SERVER, "namesrv", wire, "5.3")
        self.world.start("namesrv", ServedNameServer(self.addresses), make)
        ownership = Ownership()
        self.brokers = {name: self._broker(name, wire, ownership) for name in ("broker-a", "broker-b")}
        self.later = self._seed()
        self.peers: dict[int, str] = {}
        self.expected: dict[int, list[tuple[str, Frame]]] = {}
        self.given: dict[int, list[Frame]] = {}

    def _broker(self, name: str, wire: WireSettings, ownership: Ownership) -> Served:
        store = RecordStore(wire.most_stored_bytes, float(self.session.epoch_ms))
        host, port = self.addresses.setdefault(name, "127.0.0.1:1").split(":")
        store.host = stored_messages.host(host, int(port))
        topics = TopicConfigManager(configs=[TopicConfig("WireA", 2, 2)])
        topics.configs = sending.with_defaults(topics.configs, 8)
        disk = Disk(topics, SubscriptionGroupManager(), store)
        state = Broker(name, disk)
        served = Served(state, store, wire, ownership, self.addresses[name], float(self.session.epoch_ms))
        self.world.start(name, ServedBroker(served), maker(requests.BROKER, name, wire, "5.3"))
        return served

    def _seed(self) -> list[tuple[str, Stored]]:
        """What was there before the recording began; what came into it from elsewhere is returned."""
        later = []
        for name, stored in self.session.records():
            if stored.stored < self.session.epoch_ms:
                self.fill(name, stored.record.topic, stored.record.queue_number, stored.offset)
                self.write(name, stored)
            elif not stored.record.topic.startswith("%"):
                later.append((name, stored))
        for event in self.session.events:
            if event.get("answerTo") == "PULL_MESSAGE" and "hex" not in event:  # too long to be recorded
                asked = next(
                    each.fields
                    for number, each in self.session.frames.items()
                    if self.session.events[number]["conn"] == event["conn"]
                    and (each.opaque, each.is_answer) == (event["opaque"], False)
                )
                self.fill(event["server"], "WireA", int(asked["queueId"]), int(event["ext"]["maxOffset"]))
        for fields, answer, name in self.session.answers_of(310):
            end = int(answer.fields["queueOffset"])
            if not any(queue.stored for queue in [self.queue(name, "WireA", int(fields["e"]))]):
                self.fill(name, "WireA", int(fields["e"]), end)
        self._seed_offsets()
        return later

    def _seed_offsets(self) -> None:
        seen = set()
        for fields, answer, name in self.session.answers_of(14):
            group, topic, number = fields["consumerGroup"], fields["topic"], int(fields["queueId"])
            if (group, topic, number, name) not in seen and answer.fields.get("offset", "0") != "0":
                broker = self.brokers[name].broker
                broker.offsets.commit(0.0, group, topic, number, int(answer.fields["offset"]))
            seen.add((group, topic, number, name))
        for fields, answer, name in self.session.answers_of(208):
            for place, row in loose_rows(answer.body):
                if row["brokerOffset"]:
                    self.fill(name, place["topic"], place["queueId"], row["brokerOffset"])
                broker = self.brokers[name].broker
                offset = row["consumerOffset"]
                broker.offsets.commit(0.0, fields["consumerGroup"], place["topic"], place["queueId"], offset)
                if place["topic"].startswith("%"):
                    broker.disk.topics.put(0.0, TopicConfig(place["topic"], 1, 1))
        for name in self.brokers:
            place = self.world.places[name]
            place.node.node.timeout(0.0, "register", place)

    def queue(self, name: str, topic: str, number: int) -> Any:
        queue = self.brokers[name].store.records(topic, number)
        assert queue is not None
        return queue

    def fill(self, name: str, topic: str, number: int, end: int) -> None:
        """Records of which nobody tells more than that they are there."""
        store = self.brokers[name].store
        record = stored_messages.Record(topic, number, 0, 0, 0, bytes(8), 0, "", b"")
        while store.max_offset(topic, number, 0.0) < end:
            store.append(self.world.now, record, {})

    def write(self, name: str, stored: Stored) -> None:
        """A record of somebody who is not in the recording."""
        served = self.brokers[name]
        properties = stored_messages.parse_properties(stored.record.properties)
        served.store.position = max(served.store.position, stored.position)  # clients name it when they send back
        served.store.append(self.world.now, stored.record, properties)
        place = self.world.places[name]
        arrived(served, self.world.now, stored.record.topic, stored.record.queue_number, place)

    def play(self) -> None:
        for number, event in enumerate(self.session.events):
            now = float(event["t_ms"])
            while self.later and self.later[0][1].stored - self.session.epoch_ms <= now:
                name, stored = self.later.pop(0)
                self.world.run_until(max(float(stored.stored - self.session.epoch_ms), self.world.now))
                self.write(name, stored)
            self.world.run_until(max(now, self.world.now))
            place, peer = self.world.places[event["server"]], f"127.0.0.1:{50_000 + event['conn']}"
            if event.get("event") == "connect":
                place.connect(peer)
            elif event.get("event") == "close" and event["dir"] == "c>s":
                place.disconnect(peer)
            elif event.get("dir") == "c>s" and number in self.session.frames:
                place.read(peer, bytes.fromhex(event["hex"]))
            elif number in self.session.frames:
                told = event.get("answerTo") or event["name"]
                self.expected.setdefault(event["conn"], []).append((told, self.session.frames[number]))
            self.given.setdefault(event["conn"], []).extend(place.take(peer))


def loose_rows(body: bytes) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The rows of an object whose keys are objects."""
    text, rows = body.decode(), []
    at = text.index("{{") + 1
    decoder = json.JSONDecoder()
    while text[at] == "{":
        key, at = decoder.raw_decode(text, at)
        row, at = decoder.raw_decode(text, at + 1)
        rows.append((key, row))
        at += text[at] == ","
    return rows


def in_any_order(value: Any) -> Any:
    if isinstance(value, list):
        return sorted((in_any_order(each) for each in value), key=repr)
    return {name: in_any_order(each) for name, each in value.items()} if isinstance(value, dict) else value


def record_told(stored: Stored) -> tuple[Any, ...]:
    record = stored.record
    properties = stored_messages.parse_properties(record.properties)
    if record.topic.startswith("%"):
        properties.pop("ORIGIN_MESSAGE_ID")  # a place in the commit log
    told = record._replace(born_host=b"", properties="")
    return told, sorted(properties.items()), stored.offset, stored.crc


def told(frame: Frame, request: str) -> tuple[Any, ...]:
    """What is compared of an answer."""
    fields = {name: value for name, value in frame.fields.items() if name != "msgId"}
    body: Any = frame.body
    if request == "PULL_MESSAGE":
        body = [record_told(each) for each in records_in(frame.body)]
    elif request == "GET_CONSUME_STATS":
        body = sorted((repr(key), {**row, "lastTimestamp": 0}) for key, row in loose_rows(frame.body))
    elif frame.body:
        body = in_any_order(parse(frame.body.decode()))
    return frame.code, fields, frame.remark, frame.form, frame.flag, frame.version, body


@rows("name", SESSIONS)
def test_the_answers_are_those_of_real_servers(name: str) -> None:
    session = Session.read(name)
    assert len([each for each in session.events if "kind" in each]) == SESSIONS[name]
    played = Played(session)
    played.play()
    compared = 0
    for connection, expected in played.expected.items():
        given = {frame.opaque: frame for frame in played.given[connection] if frame.is_answer}
        for request, frame in expected:
            if frame.is_answer:
                assert frame.opaque in given, f"{request} {frame.opaque} of connection {connection} has no answer"
                if (name, frame.opaque) in QUICKER:
                    assert (given[frame.opaque].code, frame.code) == (SUCCESS, TOPIC_NOT_EXIST)
                else:
                    assert told(given[frame.opaque], request) == told(frame, request), (request, frame.opaque)
                compared += 1
        notices = Counter(frame.code for frame in played.given[connection] if not frame.is_answer)
        assert notices.keys() == {frame.code for _, frame in expected if not frame.is_answer}
    assert compared == sum(frame.is_answer for frame in session.frames.values())
