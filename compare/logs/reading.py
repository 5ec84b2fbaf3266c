"""Log files into facts: which lines mean something, whose they are."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from pathlib import PurePath

from compare.logs import kafka_broker, kafka_clients, rocketmq_lines
from compare.logs.facts import Fact, Stream
from compare.logs.kafka_broker import first_match
from compare.logs.lines import LogFile, Unwrapped, decoded, lines_with, stated_east, unwrapped

KEYS = (
    b"roup",
    b"Kafka startTimeMs: ",
    b"max.poll.interval.ms = ",
    b"session.timeout.ms = ",
    b"metadata.max.age.ms = ",
    b"Created log for partition ",
    b"shut down completed (",
    b"poll timeout has expired",
    b"IO loop starting (client_id=",
    b"Updating subscribed topics to",
    b" owned partition(s) and ",
    b"partition count changed from ",
    b"doRebalance, ",
    b" route info changed, old[",
    b"the client factory [",
    b"from brokerAddrTable OK",
    b"PIPELINE: IDLE exception [",
    b" boot success. serializeType",
)
"""A line without one of these means nothing; looked for in whole blocks, where long keys
are found faster."""

_SAMPLE = 128 << 10
_NO_LOGS = (".json", ".md", ".yaml", ".yml", ".properties")

_JAVA_STARTS = (
    "(Re-)joining",
    "Successfully ",
    "Finished assi",
    "Request join",
    "Attempt to h",
    "Resetting gen",
    "OffsetCommit f",
    "Offset commit f",
    "JoinGroup fai",
    "Member ",
    "Consumer poll",
    "consumer poll",
    "Adding newly",
    "Revoke prev",
    "Lost previ",
    "Group coord",
    "Caught fenc",
    "Cluster ID: ",
    "Subscribed t",
    "ConsumerGroupH",
    "Requesting to",
    "Time between",
    "Received fatal",
)
_START_TIME = re.compile(r"Kafka startTimeMs: (1\d{12})\b")
_SETTING = re.compile(r"^\s*(max\.poll\.interval\.ms|session\.timeout\.ms|metadata\.max\.age\.ms) = (\d{1,9})\b")
_SEEN = re.compile(r"\b(?:kafka\.(?:coordinator|net|consumer|cluster)|kafka\.\w+\.\w+)\b")


def read(
    files: Sequence[LogFile], zones: Mapping[str, tzinfo], kept: dict[tuple[str, int], str] | None = None
) -> list[Stream]:
    """The streams with their facts in the order of the lines, their times still as printed.

    ``zones``: by name of a file (with or without its folder) or of a container; ``kept``: takes the lines of standard
    input by file and number, which cannot be read again. Raises `UserError` for a file that cannot be read.
    """
    streams: dict[tuple[str, str | None], Stream] = {}
    for file in files:
        for fact, container in _facts(file, kept if file.path is None else None):
            key = (file.base, container)
            stream = streams.get(key)
            if stream is None:
                stream = streams[key] = Stream(file.base, container)
                stream.zone = _zone_of(file, container, zones)
            fact.stream = stream
            if fact.clock == "utc" and stream.stated is None:
                stream.stated = fact.east
            if file.name not in stream.files:
                stream.files.append(file.name)
            _append(stream, fact)
    return [stream for _, stream in sorted(streams.items(), key=lambda item: (item[0][0], item[0][1] or ""))]


def silent_sources(files: Sequence[LogFile], streams: Sequence[Stream]) -> bool:
    """Whether there are files or containers that print nothing about groups, as librdkafka's clients do."""
    used = {name for stream in streams for name in stream.files}
    if any(file.name not in used and not file.name.endswith(_NO_LOGS) for file in files):
        return True
    wrapped = {name for stream in streams if stream.container for name in stream.files}
    known = {stream.container for stream in streams}
    shown = {container for file in files if file.name in wrapped for container in _containers(file)}
    return bool(shown - known)


def _containers(file: LogFile) -> set[str]:
    """The containers with lines at the beginning or the end of a file."""
    if file.path is None or file.name.endswith(".gz"):
        return set()
    try:
        with file.path.open("rb") as stream:
            text = stream.read(_SAMPLE)
            stream.seek(max(0, stream.seek(0, 2) - _SAMPLE))
            text += b"\n" + stream.read(_SAMPLE)
    except OSError:
        return set()
    containers = {unwrapped(decoded(row)).container for row in text.split(b"\n")[1:-1]}
    return {container for container in containers if container}


def _append(stream: Stream, fact: Fact) -> None:
    if fact.kind in _BROKER_KINDS:
        stream.role = "broker"
    if fact.kind == "k_epoch":  # one line a heartbeat: only a new epoch is news
        last = next((each for each in reversed(stream.facts[-40:]) if each.kind == "k_epoch"), None)
        if last and (last.member, last.generation) == (fact.member, fact.generation):
            return
    stream.facts.append(fact)


_BROKER_KINDS = frozenset(each.kind for each in kafka_broker.COORDINATOR) | {"r_connected", "r_closed", "r_expired"}


def _zone_of(file: LogFile, container: str | None, zones: Mapping[str, tzinfo]) -> tzinfo | None:
    names = [file.name, PurePath(file.name).name, file.base, container or ""]
    return next((zones[name] for name in names if name in zones), None)


def _facts(file: LogFile, kept: dict[tuple[str, int], str] | None) -> Iterator[tuple[Fact, str | None]]:
    nobody = Stream("", None)
    for number, raw in lines_with(file, KEYS):
        line = decoded(raw)
        if "groupId=" in line and "startTimeMs" not in line and not _of_use_in_java(line):
            continue
        shape = unwrapped(line)
        found = _meaning(shape)
        if found is None:
            continue
        kind, parts = found
        fact = Fact(kind, nobody, file.name, number, stamp=shape.stamp, clock=shape.clock, hint=shape.hint)
        fact.east = stated_east(line) if shape.clock == "utc" and shape.hint is None else 0.0
        _fill(fact, parts)
        if kind == "start_time":
            fact.hint = int(parts["text"]) / 1000
        elif kind.startswith("r_"):
            fact.hint = rocketmq_lines.stated_time(shape.text) or fact.hint
            if shape.clock == "local" and rocketmq_lines.in_east_8(shape.text):
                fact.names = (*fact.names, "GMT+8")
        if kept is not None:
            kept[fact.evidence] = line
        yield fact, shape.container


def _of_use_in_java(line: str) -> bool:
    at = line.find("groupId=")
    end = line.find("] ", at)
    return end < 0 or line.startswith(_JAVA_STARTS, end + 2) or "GroupCoordinator" in line


def _meaning(shape: Unwrapped) -> tuple[str, dict[str, str]] | None:
    message = shape.text
    if shape.fields.get("logger") == "kafkajs":
        return kafka_clients.of_kafkajs(message, shape.fields)
    if "groupId=" in message and (found := kafka_clients.of_java(message)):
        return found
    if match := _START_TIME.search(message):
        return "start_time", {"text": match.group(1)}
    if match := _SETTING.search(message):
        return "setting", {"text": match.group(1), "generation": match.group(2)}
    if message.startswith("%") and (found := kafka_clients.of_librdkafka(message)):
        return found
    if any(mark in message for mark in kafka_broker.MARKS) and (
        found := first_match(kafka_broker.COORDINATOR, message)
    ):
        return found
    if any(mark in message for mark in rocketmq_lines.MARKS) and (
        found := first_match(rocketmq_lines.ROCKETMQ, message)
    ):
        return found
    logger = str(shape.fields.get("logger_name") or shape.fields.get("name") or shape.fields.get("logger") or "")
    if _SEEN.search(message[:200]) or logger.startswith("kafka."):
        if found := first_match(kafka_broker.OTHERS, message):
            return found
        return first_match(kafka_clients.PYTHON, message)
    return first_match(kafka_broker.OTHERS, message)


def _fill(fact: Fact, parts: Mapping[str, str]) -> None:
    fact.group = parts.get("group")
    fact.member = parts.get("member")
    fact.client = parts.get("client")
    fact.text = parts.get("text", "")
    instance = parts.get("instance")
    if instance is not None:
        instance = re.sub(r"^(?:Some\(|Optional\[)(.*)[)\]]$", r"\1", instance)
    fact.instance = None if instance in (None, "None", "null") else instance
    if "generation" in parts:
        fact.generation = int(parts["generation"])
    if "names" in parts:
        fact.names = tuple(name.strip() for name in parts["names"].split(",") if name.strip())
