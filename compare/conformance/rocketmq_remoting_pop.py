"""Recordings of Java push consumers that pop from real 5.5.0 brokers over remoting, played against the served nodes in
virtual time: each frame of a client comes when it came, and what the brokers answer is compared.

Handles in acks, and places in the commit log, are those of this run. Not compared is what chance decided: the order of
sets, where a pop began to look, the number of a revive queue, and which of two members got a record. A frame was
recorded some milliseconds before or after the broker read it, and whoever lost his place in the line once is behind
from then on. Where the threads that bring records back were in their rounds nobody has recorded either: their phases
are those with which this run comes nearest.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeAlias

from pydantic import Field

from compare.conformance.cases import Difference, Line, Measure, Played, validated
from compare.conformance.recordings import MOST_MS, Part, closest
from compare.conformance.rocketmq_proxy.comparing import ALLOWED_MS
from protocols.engine.nodes import Time
from rocketmq_selfbalance.wire import ONEWAY, Frame, VirtualCluster, encode

QUERY, POP, ACK, CHANGE, SEND_BACK = 400, 200_050, 200_051, 200_053, 36
_NO_MESSAGE: Final = 208
_BACK_MS: Final = 3_000.0
"""A record comes back within so long of its time, whatever the phases are (spec pop 5.4)."""
_SWITCH_MS: Final = 5_000.0
"""While a group goes over to pulling, requests for both wait: who gets a record is a matter of milliseconds then."""

Place: TypeAlias = tuple[str, int, int, int]
"""Broker, kind (0: of the topic; else of a retry topic), queue, offset."""


class Topology(Part):
    """Broker to its address, and topic to broker to its number of queues."""

    brokers: dict[str, str]
    topics: dict[str, dict[str, int]]


class Recording(Part):
    """``frames`` and ``script`` as they were written down."""

    name: str
    topology: Topology
    recordedAt_ms: int  # noqa: N815 - as the recording calls it
    lengthMs: float = Field(ge=0, le=MOST_MS)  # noqa: N815
    script: list[dict[str, Any]]
    frames: list[dict[str, Any]]


def recognises(line: Line) -> bool:
    """Whether a line is meant to be such a recording."""
    return isinstance(line.get("frames"), list) and isinstance(line.get("topology"), Mapping)


def popped(broker: str, fields: Mapping[str, str]) -> Iterator[tuple[Place, str]]:
    """The records in an answer, with their handles."""
    starts = {part.rsplit(" ", 1)[0]: part.rsplit(" ", 1)[1] for part in fields["startOffsetInfo"].split(";") if part}
    for part in filter(None, fields["msgOffsetInfo"].split(";")):
        key, offsets = part.rsplit(" ", 1)
        kind, number = key.split(" ")
        for offset in offsets.split(","):
            told = [starts[key], fields["popTime"], fields["invisibleTime"], fields["reviveQid"], kind]
            yield (broker, int(kind), int(number), int(offset)), " ".join([*told, broker, number, offset])


@dataclass(slots=True)
class Replay:
    """A story that is played; ``answers``: connection and opaque number to what the served brokers answered."""

    recording: Recording
    phases: Mapping[str, Sequence[Time]]
    answers: dict[tuple[int, int], Frame] = field(default_factory=dict)
    world: VirtualCluster = field(init=False)
    _servers: dict[int, str] = field(default_factory=dict)
    _handles: dict[Place, str] = field(default_factory=dict)

    def run(self) -> None:
        """Let the story happen."""
        topology = self.recording.topology
        epoch = float(self.recording.recordedAt_ms)
        self.world = VirtualCluster(topology.brokers, topology.topics, epoch, self.phases)
        modes = list(self.modes())
        for time, frame in self._in_order():
            while modes and modes[0][0] <= time:
                at, action = modes.pop(0)
                self._until(at)
                self.world.set_mode(action["topic"], action["group"], action["mode"], action["popShareQueueNum"])
            self._until(time)
            self._servers[frame["conn"]] = frame["server"]
            place, peer = self.world.places[frame["server"]], str(frame["conn"])
            if frame.get("event") == "connect":
                place.connect(peer)
            elif frame.get("event") == "close":
                place.disconnect(peer)
            elif frame.get("dir") == "c>s" and "code" in frame and peer in place.conversations:
                place.read(peer, encode(self._frame(frame)))
        self._until(self.recording.lengthMs)

    def modes(self) -> Iterator[tuple[Time, Mapping[str, Any]]]:
        """When modes are set; what was set before the story has a time of its own."""
        began = False
        for action in self.recording.script:
            began = began or action["action"] == "start"
            if action["action"] == "setConsumeMode":
                yield action["t_ms"] if began else 0.0, action

    def _in_order(self) -> list[tuple[Time, dict[str, Any]]]:
        """When each frame takes effect: a heartbeat, with which a real broker is busy for a while, when answered."""
        frames = self.recording.frames
        answered = {
            (frame["conn"], frame["opaque"]): frame["t_ms"] for frame in frames if frame.get("answerTo") == "HEART_BEAT"
        }
        found = []
        for frame in frames:
            beats = frame.get("name") == "HEART_BEAT"
            found.append((answered.get((frame["conn"], frame["opaque"])) if beats else None, frame))
        return sorted([(frame["t_ms"] if at is None else at, frame) for at, frame in found], key=lambda timed: timed[0])

    def _until(self, time: Time) -> None:
        """Let time pass, and take what the servers have said in it."""
        self.world.run_until(max(time, self.world.now))
        for conn, server in self._servers.items():
            for frame in self.world.places[server].take(str(conn)):
                if frame.is_answer:
                    self.answers[conn, frame.opaque] = frame
                    if "msgOffsetInfo" in frame.fields:
                        self._handles.update(popped(server, frame.fields))

    def _frame(self, recorded: Mapping[str, Any]) -> Frame:
        fields = dict(recorded["ext"])
        body = (recorded.get("body") or "").encode() or b"x" * recorded["bodyLen"]
        if recorded["code"] in (ACK, CHANGE):
            kind = int(fields["topic"].startswith("%"))
            place = recorded["server"], kind, int(fields["queueId"]), int(fields["offset"])
            fields["extraInfo"] = self._handles.get(place, fields["extraInfo"])
        elif recorded["code"] == SEND_BACK:
            fields["offset"] = str(self.world.position(recorded["server"], fields["originMsgId"]))
        flag = ONEWAY if recorded["kind"] == "oneway" else 0
        return Frame(recorded["code"], recorded["opaque"], fields, body, flag=flag, language="JAVA")

    def answered(self, *codes: int) -> Iterator[tuple[dict[str, Any], dict[str, Any], Frame | None]]:
        """Each recorded request of these numbers that was answered, the recorded answer, and ours."""
        asked: dict[tuple[int, int], dict[str, Any]] = {}
        for frame in self.recording.frames:
            key = frame.get("conn", 0), frame.get("opaque", 0)
            if frame.get("dir") == "c>s" and frame.get("code") in codes:
                asked[key] = frame
            elif frame.get("kind") == "response" and key in asked:
                yield asked.pop(key), frame, self.answers.get(key)

    def given(self) -> tuple[dict[Place, Time], dict[Place, Time]]:
        """When each record was given out first, as recorded and here."""
        recorded: dict[Place, Time] = {}
        here: dict[Place, Time] = {}
        for request, answer, ours in self.answered(POP):
            for told, fields in ((recorded, answer["ext"]), (here, {} if ours is None else ours.fields)):
                if "popTime" in fields:
                    for place, _ in popped(request["server"], fields):
                        told.setdefault(place, int(fields["popTime"]) - self.recording.recordedAt_ms)
        return recorded, here


def _queues(body: str | bytes) -> list[str]:
    told = json.loads(body).get("messageQueueAssignments", ()) if body else ()
    return sorted(f"{sorted(each['messageQueue'].items())} {each['mode']}" for each in told)


def _compared(replay: Replay) -> tuple[list[Difference], list[Measure]]:
    name, differences = replay.recording.name, list[Difference]()
    for request, answer, ours in replay.answered(QUERY):
        queues, our_queues = _queues(answer["body"]), None if ours is None else _queues(ours.body)
        if queues != our_queues:
            differences.append(Difference(name, f"assignment of {request['t_ms']} ms", queues, our_queues))
    differences += _refused(replay)
    switches = [at for at, action in replay.modes() if at and action["mode"] == "PULL"]
    recorded, here = replay.given()
    for place in sorted({*recorded, *here}):
        real, our = recorded.get(place), here.get(place)
        told = f"delivery of {place}"
        if real is None or our is None:
            at = real if our is None else our
            if not any(0 <= (at or 0.0) - switch <= _SWITCH_MS for switch in switches):
                differences.append(Difference(name, told, real, our))
    off = {place: here[place] - at for place, at in recorded.items() if place in here}
    allowed = {place: _BACK_MS if place[1] else float(ALLOWED_MS) for place in off}
    late = [place for place in off if abs(off[place]) > allowed[place]]
    differences += [Difference(name, f"time of {place}, ms", recorded[place], here[place]) for place in late]
    worst = max((abs(each) for place, each in off.items() if not place[1]), default=0.0)
    back = max((abs(each) for place, each in off.items() if place[1]), default=0.0)
    return differences, [
        Measure(name, "deliveries: furthest from its time, ms", 0, worst, ALLOWED_MS, worst <= ALLOWED_MS),
        Measure(name, "records that came back: furthest from its time, ms", 0, back, _BACK_MS, back <= _BACK_MS),
    ]


def _refused(replay: Replay) -> Iterator[Difference]:
    """Answers to acks, changes and pops with other codes or fields than recorded."""
    for request, answer, ours in replay.answered(ACK, CHANGE):
        expected = answer["code"], sorted(answer["ext"])
        got = None if ours is None else (ours.code, sorted(ours.fields))
        # What comes back somewhat later here is not there yet.
        is_early = ours is not None and ours.code == _NO_MESSAGE and request["ext"]["topic"].startswith("%RETRY%")
        if got != expected and not is_early:
            yield Difference(
                replay.recording.name, f"answer to {request['name']} of {request['t_ms']} ms", expected, got
            )
    for request, answer, ours in replay.answered(POP):
        if ours is not None and ours.code == answer["code"] and set(ours.fields) != set(answer["ext"]):
            what = f"answer to {request['name']} of {request['t_ms']} ms"
            yield Difference(replay.recording.name, what, sorted(answer["ext"]), sorted(ours.fields))


MOST_RUNS: Final = 4
"""With other phases of what is periodic, until one is as recorded."""
_ROUND_MS: Final = 8_000


def _phases(recording: Recording, run: int) -> Mapping[str, Sequence[Time]]:
    thrown = Random(run)
    if run == 0:
        return {}
    return {broker: [float(thrown.randrange(_ROUND_MS)) for _ in range(8)] for broker in recording.topology.brokers}


def play(line: Line) -> Played:
    """Play a story until it comes as recorded, or so many times; then the closest is told."""
    recording = validated(Recording, line)

    def replayed(number: int) -> tuple[list[Difference], list[Measure]]:
        replay = Replay(recording, _phases(recording, number))
        replay.run()
        return _compared(replay)

    return closest(MOST_RUNS, replayed)
