"""What mqadmin prints where a command fails: a Java exception. Some of them are answers about a group."""

import re
from collections.abc import Iterator

from compare.reading.observed import Block, BlockKind, Skipped, skipped
from compare.reading.rocketmq.facts import Answered, NoRoute, Offline
from compare.reading.rocketmq.lines import group_of, is_retry, quoted
from compare.reading.rocketmq.status import answered, client, is_told

_CODE = re.compile(r"CODE: (\d{1,9}) {1,2}DESC: (.*)")
_NO_ROUTE = re.compile(r"for the topic: (\S+)")
_OFFLINE = re.compile(r"the consumer group\[(.*?)\] not online")
_NOT_ONLINE = "206"
_NO_TOPIC = "17"
_BROADCASTING = "213"
_LONGEST = 200


def _starts(line: str) -> bool:
    return line.startswith(("org.apache.rocketmq.", "com.alibaba.rocketmq.")) and "Exception" in line


def _parse(block: Block) -> Iterator[Offline | Answered | NoRoute | Skipped]:
    causes = [line for line in block.lines if line is block.lines[0] or line.startswith("Caused by: ")]
    telling = next((line for line in causes if _CODE.search(line)), causes[-1])
    code = _CODE.search(telling)
    offline = _OFFLINE.search(telling) if code is not None and code[1] == _NOT_ONLINE else None
    if offline is not None:
        yield Offline(block.source, offline[1])
    else:
        said = telling.removeprefix("Caused by: ").strip() if code is None else code[0].strip()
        yield skipped(block, 0, f"mqadmin failed: {_quoted(said)}; {_remedy(code)}")
        topic = _NO_ROUTE.search(code[2]) if code is not None and code[1] == _NO_TOPIC else None
        if topic is not None and not is_retry(topic[1]):
            yield NoRoute(block.source, topic[1])
    # Where one client of several did not answer, consumerStatus goes on with the next below the exception.
    clients = [found for found in map(client, block.lines[1:]) if found is not None]
    fact = answered(block, clients, filter(is_told, block.lines[1:]))
    if fact is not None:
        yield fact


def _remedy(code: re.Match[str] | None) -> str:
    if code is None:
        return "expected the tool's output: check that the name server and the brokers are reachable"
    if code[1] == _NO_TOPIC:
        topic = _NO_ROUTE.search(code[2])
        if topic is not None and is_retry(topic[1]):
            return f"expected a group that had a member before: check the name {quoted(group_of(topic[1]) or '')}"
        return "expected an existing topic: check its name"
    if code[1] == _NOT_ONLINE:
        return "expected a connected group or client: no member is connected, or the name is wrong"
    if code[1] == _BROADCASTING:
        return "expected consumerConnection, because members of a broadcasting group store their offsets locally"
    return "expected the tool's output: run the command again"


def _quoted(text: str) -> str:
    # The tool's own words, cut where they are endless.
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


ERROR = BlockKind("rocketmq", "error", _starts, _parse)
