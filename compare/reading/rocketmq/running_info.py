"""From the class that a client names as its strategy to the design's name.

``consumerStatus -i CLIENT``: what one client says of itself; also the files that ``consumerStatus`` writes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from compare.catalogues import ROCKETMQ_CLASSES
from compare.reading.observed import Block, BlockKind, RowError, Skipped, skipped
from compare.reading.rocketmq.facts import Running
from compare.reading.rocketmq.lines import Columns, Lines, columns_of, number, starting, tool_name, values
from protocols import Queue

_NAMES = {java_class: name for name, java_class in ROCKETMQ_CLASSES.items()}
_PACKAGES = ("org.apache.rocketmq.client.consumer.rebalance.", "com.alibaba.rocketmq.client.consumer.rebalance.")


def strategy_of(printed: str) -> str | None:
    """The strategy in ``class@hash``: one of the design's names, else the class; None if there is nothing.

    A class of someone else's package is not ours, whatever it is called.
    """
    name = printed.rsplit("@", 1)[0].strip()
    for package in _PACKAGES:
        if name.startswith(package):
            return _NAMES.get(name.removeprefix(package), name)
    return name or None


_KEYS = {
    key: key
    for key in (
        "consumerGroup",
        "clientIP",
        "instanceName",
        "unitName",
        "enableStreamRequestType",
        "allocateMessageQueueStrategy",
        "messageModel",
        "PROP_CONSUME_TYPE",
        "PROP_CONSUMEORDERLY",
        "defaultLitePullConsumerImpl",
    )
}
_SECTION = re.compile(r"#(Consumer [A-Za-z&]+(?: Detail)?|User Consume Info)#")
_TOPIC = re.compile(r"\d+ Topic: ")
_PROPERTY = re.compile(r"[\w.-]+\s*:(?:\s|$)")
_DROPPED = re.compile(r"dropp?ed[=:](true|false)")
_IN_HAND = re.compile(r"waitAckCount[=:](\d{1,9})")
_OWNED, _POPPED = "Consumer MQ Detail", "Consumer Pop Detail"
_BEHIND_OWNED = (_POPPED, "Consumer RT&TPS")
_ENDINGS = (".txt", ".log", ".out")


@dataclass(slots=True)
class _Found:
    section: str = "Consumer Properties"
    columns: Columns | None = None
    settings: dict[str, str] = field(default_factory=dict)
    topics: list[str] = field(default_factory=list)
    owned: list[Queue] = field(default_factory=list)
    popped: list[str] = field(default_factory=list)
    in_hand: int = 0
    lists_owned: bool = False
    ended: bool = False
    complete: bool = True


def _parse(block: Block) -> Iterator[Running | Skipped]:
    found = _Found()
    lines = Lines(block)
    for offset, line in lines:
        section = _SECTION.fullmatch(line.rstrip()) if line.startswith("#") else None
        if section is not None:
            found.section, found.columns = section[1], None
            found.lists_owned = found.lists_owned or section[1] == _OWNED
            found.ended = found.ended or (found.lists_owned and section[1] in _BEHIND_OWNED)
        else:
            try:
                _line(found, line)
            except RowError as error:
                found.complete = found.complete and found.section != _OWNED
                lines.refuse(offset, line, str(error))
    yield from lines.skipped()
    if not found.ended:
        why = f"ends in #{found.section}#, expected #{_OWNED}# and the rows below it: the client's queues are cut off"
        yield skipped(block, 0, why)
    client_id = _client_id(found.settings) or _file_name(block)
    if client_id is None:
        yield skipped(block, 0, "names no client, expected clientIP and instanceName, or a file named after the client")
        return
    yield Running(
        source=block.source,
        group=found.settings.get("consumerGroup") or None,
        client_id=client_id,
        owned=tuple(found.owned) if found.complete and found.ended and tells_owned(found.settings) else None,
        popped=tuple(dict.fromkeys(found.popped)),
        topics=tuple(dict.fromkeys(found.topics)),
        strategy=strategy_of(found.settings.get("allocateMessageQueueStrategy", "")),
        broadcasting=None if "messageModel" not in found.settings else found.settings["messageModel"] == "BROADCASTING",
        orderly=orderly_of(found.settings),
        in_hand=found.in_hand,
    )


def _line(found: _Found, line: str) -> None:
    if found.section == "Consumer Properties":
        if _PROPERTY.match(line) is None:
            raise RowError("a property and its value, name : value")
        values(line, found.settings, _KEYS)
    elif found.section == "Consumer Subscription":
        numbered = _TOPIC.match(line)
        end = line.rfind(" ClassFilter: ")
        if numbered is None or end < numbered.end():
            raise RowError("a topic, ClassFilter and SubExpression")
        found.topics.append(tool_name(line[numbered.end() : end].strip(), "Topic"))
    elif found.section in (_OWNED, _POPPED):
        if line.startswith("#Topic"):
            found.columns = columns_of(line, names=2)
        else:
            _queue(found, line)


def _queue(found: _Found, line: str) -> None:
    at = line.find("ProcessQueueInfo [")
    dropped = _DROPPED.search(line, max(at, 0))
    # Where two rows run together, nothing tells where the second one's name begins.
    alone = line.count("ProcessQueueInfo [") == 1 and line.rstrip().endswith("]")
    if found.columns is None or at < 0 or dropped is None or not alone:
        raise RowError("a queue and its ProcessQueueInfo [..., droped=...]")
    (topic, broker), cells = found.columns.split(line[:at].removesuffix("Pop"))
    if not cells:
        raise RowError("a number under #QID")
    queue = Queue(tool_name(topic, "#Topic"), broker, number(cells[0], "#QID"))
    in_hand = _IN_HAND.search(line, at)
    found.in_hand += 0 if in_hand is None else int(in_hand[1])
    if dropped[1] == "true":
        return
    if found.section == _OWNED:
        found.owned.append(queue)
    else:
        found.popped.append(queue.topic)


def tells_owned(settings: dict[str, str]) -> bool:
    """The first pull consumer reports no queues, whatever it owns."""
    return settings.get("PROP_CONSUME_TYPE") != "CONSUME_ACTIVELY" or "defaultLitePullConsumerImpl" in settings


def orderly_of(settings: dict[str, str]) -> bool | None:
    """Whether the client says that it consumes in order; None where it does not say (lite pull, other languages)."""
    return {"true": True, "false": False}.get(settings.get("PROP_CONSUMEORDERLY", "").lower())


def _client_id(settings: dict[str, str]) -> str | None:
    """Put together as the client does (spec rocketmq 3.1)."""
    if not settings.get("clientIP") or "instanceName" not in settings:
        return None
    parts = [settings["clientIP"], settings["instanceName"]]
    if settings.get("unitName"):
        parts.append(settings["unitName"])
    if settings.get("enableStreamRequestType") == "true":
        parts.append("STREAM")
    return "@".join(parts)


def _file_name(block: Block) -> str | None:
    """Versions that do not print the parts of the client id write files that are called like the client."""
    name = PurePath(block.source.name).name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name if "@" in name else None


RUNNING = BlockKind("rocketmq", "consumerStatus -i", starting("#Consumer Properties#"), _parse)
