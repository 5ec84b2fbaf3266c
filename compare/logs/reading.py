"""Log files into streams of events: which lines mean something, whose they are, and which are not understood."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import chain, islice, pairwise
from pathlib import PurePath

from compare.formatting import many
from compare.logs.broker_events import BrokerStarted, Coordinates, OtherKind
from compare.logs.client_events import (
    Assigned,
    ClientBooted,
    ClientStarted,
    Epoch,
    PolledAgain,
    PollTimeout,
    Rebootstrapped,
    SessionOver,
    Setting,
    Subscribed,
    Threw,
)
from compare.logs.disorder import NOT_READ, READ, TextOrder, in_order
from compare.logs.events import Event, Place, Stream
from compare.logs.foreign import foreign
from compare.logs.kafka_broker import of_broker
from compare.logs.kafka_clients import is_idle_java, of_java, of_kafkajs, of_librdkafka, of_python
from compare.logs.kafka_go_clients import of_go
from compare.logs.layouts import Unwrapped, stated_east, unwrapped
from compare.logs.lines import LogFile, Reading, decoded, lines_with
from compare.logs.rocketmq_lines import AtBroker, of_rocketmq
from compare.logs.unnamed import is_told

KEYS = (
    b"roup",
    b"Kafka startTimeMs: ",
    b"max.poll.interval.ms = ",
    b"session.timeout.ms = ",
    b"metadata.max.age.ms = ",
    b"Created log for partition ",
    b"shut down completed (",
    b"BrokerRegistrationChangeRecord",
    b"poll timeout has expired",
    b"[thrd:",
    b"Server started (kafka.",
    b"kafka.coordinator",
    b"kafka.errors.",
    b"IO loop starting (client_id=",
    b"Updating subscribed topics to",
    b"Subscribed to topic(s)",
    b"kafkajs",
    b"forced rejoin quitting",
    b"consumer/broker/",
    b"client/coordinator",
    b"Exception",
    b"Traceback (most recent",
    b"ot authorized to ",
    b"\tAssigned partitions: ",
    b"_MAX_POLL_EXCEEDED",
    b"doRebalance, ",
    b" route info changed, old[",
    b"the client factory [",
    b"from brokerAddrTable OK",
    b"PIPELINE: IDLE exception [",
    b" boot success. serializeType",
    b"updateTopicRouteInfoFromNameServer E",
    b"PIPELINE: channelInactive",
    b"M org.apache.kafka.",
)
"""A line without one of these means nothing; looked for in whole blocks, where long keys
are found faster."""

_NO_LOGS = (".json", ".md", ".yaml", ".yml", ".properties")
_QUIET = {
    "librdkafka": "prints joins and leaves only with debug=cgrp",
    "aiokafka": "says nothing about its poll interval",
    "kafkajs": "prints no generation, and does not say why it left",
    "sarama": "prints no joins, and does not say why a session of its member ended",
    "segmentio": "lines of segmentio's kafka-go are not read",
}
"""Libraries of which a part is never printed."""

_START_TIME = re.compile(r"Kafka startTimeMs: (1\d{12})$")
_SETTING = re.compile(r"(max\.poll\.interval\.ms|session\.timeout\.ms|metadata\.max\.age\.ms) = (\d{1,9})$")
_ASSIGNED = "Assigned partitions: "
_THREW = re.compile(r"(?:Caused by: )?([a-z_$][\w$]*(?:\.[\w$]+){1,12}(?:Exception|Error))(?::|$)")
_STACKS = ("stack_trace", "exc_info", "exception")
_NAME = re.compile(r"[A-Za-z_$][\w$.]{1,200}")
_SOMEBODYS = re.compile(r"\[(?:Consumer|ShareConsumer) (?:instanceId|clientId)=|\[GroupCoordinator |\[thrd:main\]: ")
"""What a client's or a broker's message about a group begins with, or a thread of librdkafka's."""
ALONE = (Assigned, Setting, Threw, ClientBooted, PolledAgain)
"""Lines that others print, too."""
_KAFKA_LOGGERS = ("org.apache.kafka.", "o.a.k", "kafka.", "state.change")
_CLASSES = frozenset(
    {
        "AbstractConfig",
        "AbstractCoordinator",
        "AbstractHeartbeatRequestManager",
        "AbstractMembershipManager",
        "AppInfoParser",
        "AsyncKafkaConsumer",
        "ClassicKafkaConsumer",
        "CommitRequestManager",
        "ConsumerConfig",
        "ConsumerCoordinator",
        "ConsumerHeartbeatRequestManager",
        "ConsumerMembershipManager",
        "ConsumerRebalanceListenerInvoker",
        "CoordinatorRequestManager",
        "CoordinatorRuntime",
        "GroupCoordinator",
        "GroupMetadata",
        "GroupMetadataManager",
        "KafkaConsumer",
        "LegacyKafkaConsumer",
        "Metadata",
        "NetworkClient",
        "WorkerCoordinator",
    }
)
"""Loggers of Kafka, as layouts that shorten names to fit leave them."""
_LOOKED_AT = 200
"""Lines whose times tell in which order a file stands."""
_ONE_TROUBLE = 40
"""Exceptions so many lines apart are told as one."""


@dataclass(slots=True)
class Sources:
    """What was read: the streams, and of each file how much of it (``read``, by name)."""

    files: Sequence[LogFile]
    streams: list[Stream]
    read: dict[str, Reading] = field(default_factory=dict)

    def not_understood(self) -> list[dict[str, object]]:
        """Sources with lines of clients that were not understood, or with nothing that is known at all."""
        rows: list[dict[str, object]] = []
        used: set[str] = set()
        for stream in self.streams:
            told = any(not isinstance(event, ALONE) for event in stream.events)
            used.update(stream.files if told or stream.is_known else ())
            name = stream.container or stream.name
            for what, number in sorted(stream.foreign.items()):
                rows.append(_row(name, number, None, f"{what}: of no group, and no cause of a rebalance by itself"))
            if stream.quoted:
                why = "a client's or a broker's, quoted within other text, or in a layout that is not known"
                rows.append(_row(name, stream.quoted, None, why))
            lost = [each for each in stream.events if isinstance(each, PollTimeout | SessionOver) and not each.group]
            lost = [each for each in lost if not each.client or not is_told(each)]
            if lost:
                slow = sum(isinstance(each, PollTimeout) for each in lost)
                counts = {"poll timeout": slow, "lost session": len(lost) - slow}
                what = " and ".join(many(number, each) for each, number in counts.items() if number)
                why = f"{what} of {lost[0].client or 'a client'}, whose group no line names"
                rows.append(_row(name, len(lost), stream.library, why))
            for library, number in sorted(stream.lines.items()):
                unread = number - stream.read.get(library, 0)
                has_debug = library == "librdkafka" and any(isinstance(event, ClientStarted) for event in stream.events)
                if has_debug:
                    continue
                if library in _QUIET and unread:
                    rows.append(_row(name, unread, library, _QUIET[library]))
                elif not stream.read.get(library) and library != "java":
                    rows.append(_row(name, unread, library, "none of its lines that was understood tells of a group"))
        for file in self.files:
            known = self.read.get(file.name, Reading())
            if file.name not in used and known.lines and not (known.unread or file.name.endswith(_NO_LOGS)):
                why = "no line of a client or a broker that is known; librdkafka and sarama print none by default"
                rows.append(_row(file.name, known.lines, None, why))
        return rows

    def skipped(self) -> list[dict[str, str]]:
        """Files that are no logs, and those that end before their end."""
        rows: list[dict[str, str]] = []
        for file in self.files:
            reading = self.read.get(file.name, Reading(lines=1))
            if reading.unread or file.name.endswith(_NO_LOGS) or not reading.lines:
                is_empty = not (reading.lines or reading.cut or file.name.endswith(_NO_LOGS))
                why = "an empty file" if is_empty else "no log: neither a broker's nor a client's"
                rows.append({"file": file.name, "why": reading.unread or why})
        for name, reading in sorted(self.read.items()):
            if reading.cut:
                why = f"the packed file is {reading.cut} after line {reading.lines}: what comes before was read"
                rows.append({"file": name, "why": why})
            if reading.mixed:
                rows.append({"file": name, "why": reading.mixed})
        return rows


def _row(source: str, lines: int, client: str | None, why: str) -> dict[str, object]:
    return {"source": source, "lines": lines, "client": client, "why": why}


def read(
    files: Sequence[LogFile], zones: Mapping[str, tzinfo], kept: dict[tuple[str, int], str] | None = None
) -> Sources:
    """The streams with their events in the order of the lines, their times still as printed.

    ``zones``: by name of a file (with or without its folder) or of a container; ``kept``: takes the lines of standard
    input by file and number, which cannot be read again. Raises `UserError` for a file that cannot be read.
    """
    streams: dict[tuple[str, str | None], Stream] = {}
    found = Sources(files, [])
    for file in files:
        found.read[file.name] = reading = Reading()
        head: tuple[int, Unwrapped] | None = None
        text = TextOrder()
        for order, raw in _oldest_first(lines_with(file, KEYS, reading)):
            number, line = abs(order), decoded(raw)
            if is_idle_java(line):
                continue
            shape = unwrapped(line)
            if shape.message is None:
                head = number, shape
                continue
            if head is not None and shape.stamp is None and not shape.logger:
                if abs(head[0] - number) != 1:
                    continue  # of another logger, whose first line says nothing that is looked for
                shape.completed(head[1])
            key = (file.base, shape.container)
            stream = streams.get(key)
            if stream is None:
                stream = streams[key] = Stream(file.base, shape.container)
                stream.zone = _zone_of(file, shape.container, zones)
            text.see(raw, shape.stamp)
            place = Place(stream, file.name, number, order, shape.stamp, shape.clock, shape.hint)
            event = _meaning(shape, shape.message, line, place)
            if (event is not None or stream.is_known) and file.name not in stream.files:
                stream.files.append(file.name)
            if event is None:
                continue
            if kept is not None and file.path is None:
                kept[event.evidence] = line
            _append(stream, event, line, shape)
        for stream in streams.values():
            if file.name in stream.files:
                stream.lengths[file.name] = reading.lines
                _bring_in_order(stream, file, text, reading)
    found.streams = [
        stream
        for _, stream in sorted(streams.items(), key=lambda item: (item[0][0], item[0][1] or ""))
        if stream.events or stream.is_known
    ]
    return found


def _bring_in_order(stream: Stream, file: LogFile, text: TextOrder, reading: Reading) -> None:
    """Put what was read of a file into the order of time, or leave it out where that is lost."""
    own = [event for event in stream.events if event.place.file == file.name]
    ordered = in_order(own, text) if own else None
    if ordered is None:
        return
    reading.mixed, reading.unread = (READ, reading.unread) if ordered else ("", NOT_READ)
    for order, event in enumerate(ordered, 1):
        event.place.order = order
    stream.lengths[file.name] = len(ordered)
    stream.events[-len(own) :] = ordered


def _oldest_first(lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The lines in order of time: tools that search logs print the newest first, whose numbers count down from -1."""
    some = list(islice(lines, _LOOKED_AT))
    shapes = (unwrapped(decoded(raw)) for _, raw in some)
    times = [time for shape in shapes if (time := shape.stamp if shape.hint is None else shape.hint) is not None]
    ups_and_downs = Counter(after > before for before, after in pairwise(times) if after != before)
    if ups_and_downs[False] > 2 * ups_and_downs[True]:
        return ((-number, raw) for number, raw in [*some, *lines][::-1])
    return chain(some, lines)


def _zone_of(file: LogFile, container: str | None, zones: Mapping[str, tzinfo]) -> tzinfo | None:
    names = [file.name, PurePath(file.name).name, file.base, container or ""]
    return next((zones[name] for name in names if name in zones), None)


def _append(stream: Stream, event: Event, line: str, shape: Unwrapped) -> None:
    if shape.clock == "utc" and shape.hint is None:
        event.place.east = stated_east(line)
    if shape.clock == "utc" and stream.stated is None:
        stream.stated = event.place.east
    of_server = isinstance(event, Coordinates) and not isinstance(event, OtherKind)
    if of_server or isinstance(event, AtBroker | BrokerStarted):
        stream.role = "broker"
    if isinstance(event, Epoch):  # one line a heartbeat: only a new epoch is news
        last = next((each for each in reversed(stream.events[-40:]) if isinstance(each, Epoch)), None)
        if last and (last.member, last.epoch) == (event.member, event.epoch):
            return
    if isinstance(event, Threw) and stream.events:
        last_event = stream.events[-1]
        if isinstance(last_event, Threw) and event.place.order - last_event.place.order < _ONE_TROUBLE:
            return
    stream.events.append(event)


def _meaning(shape: Unwrapped, message: str, line: str, place: Place) -> Event | None:
    logger, stream = shape.logger, place.stream
    client = (
        of_kafkajs(message, shape.fields, place)
        or (of_java(message, logger, place) if _may_be_kafkas(logger) else None)
        or of_librdkafka(message, place)
        or of_python(message, logger, place)
    )
    if client is None and not logger.startswith(_KAFKA_LOGGERS):
        client = of_go(message, shape.fields, place)
    if client is not None:
        library, event = client
        stream.lines[library] = stream.lines.get(library, 0) + 1
        stream.read[library] = stream.read.get(library, 0) + (event is not None)
        return _as_a_start(event, library, stream)
    if what := foreign(line):
        stream.foreign[what] = stream.foreign.get(what, 0) + 1
    if (quoted := _SOMEBODYS.search(message)) and quoted.start():
        stream.quoted += 1
    if not logger and (match := _SETTING.match(message)):
        return Setting(place=place, name=match.group(1), value=int(match.group(2)))
    if not logger and shape.clock == "none" and message.startswith(_ASSIGNED):
        return Assigned(place=place, partitions=message.removeprefix(_ASSIGNED).strip())
    if not logger and shape.clock == "none" and (match := _THREW.match(message)):
        return Threw(place=place, exception=match.group(1))
    if trouble := _trouble(shape.fields) or _below(message):
        return Threw(place=place, exception=trouble)
    if "code=_MAX_POLL_EXCEEDED" in message:
        return PolledAgain(place=place)
    if not _may_be_kafkas(logger):
        return of_rocketmq(message, line, place)
    if match := _START_TIME.match(message):
        place.hint = int(match.group(1)) / 1000
        return ClientBooted(place=place, moment=int(match.group(1)))
    return of_broker(message, place) or of_rocketmq(message, line, place)


def _trouble(fields: Mapping[str, object]) -> str:
    """The exception that a JSON line tells of: by its class, or by its stack, which in Java begins with it and in
    Python ends with it."""
    error, thrown = fields.get("error"), fields.get("thrown")
    named = error.get("type") if isinstance(error, dict) else thrown.get("name") if isinstance(thrown, dict) else None
    stack = next((text for key in _STACKS if isinstance(text := fields.get(key), str)), "")
    line = stack.rstrip().rpartition("\n")[2] if stack.startswith("Traceback (") else stack
    name = str(fields.get("error.type") or named or line.partition(":")[0].partition("\n")[0])
    return name if _NAME.fullmatch(name) else ""


def _below(message: str) -> str:
    """The exception that a collector has joined to the message above it."""
    found = (match.group(1) for line in message.splitlines()[1:] if (match := _THREW.match(line)))
    return next(found, "")


def _as_a_start(event: Event | None, library: str, stream: Stream) -> Event | None:
    """aiokafka prints no line of its start: the first subscription stands for it. Java's line of a start comes once
    more where a client has forgotten the cluster."""
    if isinstance(event, ClientStarted) and library == "java":
        kinds = (ClientBooted, ClientStarted, Rebootstrapped)
        own = (
            each for each in reversed(stream.events) if isinstance(each, kinds) and each.client in {"", event.client}
        )
        return None if isinstance(next(own, None), Rebootstrapped) else event
    if library != "aiokafka" or not isinstance(event, Subscribed):
        return event
    if any(isinstance(each, ClientStarted) for each in stream.events):
        return event
    return ClientStarted(place=event.place, topics=event.topics)


def _may_be_kafkas(logger: str) -> bool:
    """An application that prints another's line has a logger of its own; layouts cut long names from the left."""
    return "." not in logger or logger.startswith(_KAFKA_LOGGERS) or logger.rpartition(".")[2] in _CLASSES
