"""What mqadmin prints that is no table of queues: ``consumerStatus`` without -i (who answered, whether subscriptions
are equal, which queues are stuck), Java exceptions, some of which are answers about a group, and text that says nothing
about who owns which queue.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from compare.reading.observed import Block, BlockKind, Skipped, quoted, skipped
from compare.reading.rocketmq.facts import Answered, NoRoute, Offline
from compare.reading.rocketmq.lines import Lines, group_of, is_noise, is_retry
from rocketmq_selfbalance.cluster import DLQ_PREFIX, RETRY_PREFIX

_INDEX = re.compile(r"\d{1,9}")
_FILE = re.compile(r"\d+/")
_STUCK = (" can't lock for a while, ", " can't consume for a while, ", " times, still failed")
_SAME = "Same subscription in the same group of consumer"
_DIFFERENT = "WARN: Different subscription in the same group of consumer"
_MOST_COMPLAINTS = 100


def _starts(line: str) -> bool:
    if line.startswith("#Index"):
        return "#ConsumerRunningInfoFile" in line
    # Versions before 4.9 print no header.
    return line.startswith("001  ") and len(line) < 4096 and client(line) is not None


def client(line: str) -> tuple[int, str] | None:
    """Index and client id of a row ``index, client id, version, time/client id``; None if it is none.

    Client ids may hold blanks: the row's last column repeats the id, which tells where it ends.
    """
    index, _, rest = line.partition(" ")
    rest = rest.strip()
    if not _INDEX.fullmatch(index) or not rest:
        return None
    for word in list(filter(None, rest.split(" ")))[2:]:
        file = _FILE.match(word)
        if file:
            at = rest.index(f" {word}") + 1 + file.end()
            client_id = rest[at:].rstrip()
            return (int(index), client_id) if rest.startswith(f"{client_id} ") else None
    return None


def answered(block: Block, clients: Iterable[tuple[int, str]], told: Iterable[str]) -> Answered | None:
    """The fact in rows and the lines below them; None if they tell nothing."""
    clients = tuple(clients)
    same: bool | None = None
    complaints: list[str] = []
    for line in told:
        if line.startswith((_SAME, _DIFFERENT)):
            same = line.startswith(_SAME)
        elif len(complaints) < _MOST_COMPLAINTS and any(stuck in line for stuck in _STUCK):
            complaints.append(line.strip())
    if not clients and same is None and not complaints:
        return None
    return Answered(block.source, None, clients, same, tuple(complaints))


def is_told(line: str) -> bool:
    """Whether the line is one of those below the rows."""
    return line.startswith((_SAME, _DIFFERENT, "Rebalance ")) or any(stuck in line for stuck in _STUCK)


def _parse(block: Block) -> Iterator[Answered | Skipped]:
    clients = []
    told = []
    lines = Lines(block)
    first = client(block.lines[0])
    if first is not None:
        clients.append(first)
    for offset, line in lines:
        if is_told(line):
            told.append(line)
            continue
        found = client(line)
        if found is None:
            lines.refuse(offset, line, "a row of #Index, #ClientId, #Version, #ConsumerRunningInfoFile")
        else:
            clients.append(found)
    yield from lines.skipped()
    fact = answered(block, clients, told)
    if fact is not None and fact.same_subscription is None and not _goes_on(block):
        yield skipped(block, 0, f"ends before {_SAME!r} or {_DIFFERENT!r}: clients may be cut off")
        fact = replace(fact, complete=False)
    missed = [n for n, (index, _) in enumerate(clients, 1) if index != n]
    if fact is not None and missed:
        yield skipped(block, 0, f"the rows below skip number {missed[0]}: clients are missing")
        fact = replace(fact, complete=False)
    if fact is None:
        yield skipped(block, 0, "expected a line per client that answered below the header")
    else:
        yield fact


def _goes_on(block: Block) -> bool:
    """Whether the failure of one client interrupts the list, which goes on below it."""
    behind = block.source.lines[block.first - 1 + len(block.lines) :]
    return bool(behind) and behind[0].startswith(("org.apache.rocketmq.", "com.alibaba.rocketmq."))


STATUS = BlockKind("rocketmq", "consumerStatus", _starts, _parse)


_CODE = re.compile(r"CODE: (\d{1,9}) {1,2}DESC: (.*)")
_NO_ROUTE = re.compile(r"for the topic: (\S+)")
_OFFLINE = re.compile(r"the consumer group\[(.*?)\] not online")
_NOT_ONLINE = "206"
_NO_TOPIC = "17"
_BROADCASTING = "213"


def _starts_error(line: str) -> bool:
    return line.startswith(("org.apache.rocketmq.", "com.alibaba.rocketmq.")) and "Exception" in line


def _parse_error(block: Block) -> Iterator[Offline | Answered | NoRoute | Skipped]:
    causes = [line for line in block.lines if line is block.lines[0] or line.startswith("Caused by: ")]
    telling = next((line for line in causes if _CODE.search(line)), causes[-1])
    code = _CODE.search(telling)
    offline = _OFFLINE.search(telling) if code is not None and code[1] == _NOT_ONLINE else None
    if offline is not None:
        yield Offline(block.source, offline[1])
    else:
        said = telling.removeprefix("Caused by: ").strip() if code is None else code[0].strip()
        yield skipped(block, 0, f"mqadmin failed: {quoted(said, 200)}; {_remedy(code)}")
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
            return (
                f"expected a group that had a member before: check the name {quoted(group_of(topic[1]) or '')}."
                " Members of the 5.x line (gRPC) make no such topic, and one of POP may be missing: of such a group"
                " consumerProgress -g GROUP -t TOPIC and brokerConsumeStats -b BROKER show the lag, and nothing shows"
                " the members"
            )
        return "expected an existing topic: check its name"
    if code[1] == _NOT_ONLINE:
        return "expected a connected group or client: no member is connected, or the name is wrong"
    if code[1] == _BROADCASTING:
        return "expected consumerConnection, because members of a broadcasting group store their offsets locally"
    return "expected the tool's output: run the command again"


ERROR = BlockKind("rocketmq", "error", _starts_error, _parse_error)


_EXPECTED = "expected consumerProgress, consumerConnection, consumerStatus or topicRoute"
_SYSTEM_TOPICS = (
    *("RMQ_SYS_", "SCHEDULE_TOPIC_", "TBW102", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT"),
    *(RETRY_PREFIX, DLQ_PREFIX),
)


_VIEWS = {
    "#Topic": "statsAll",
    "#Broker Name": "topicStatus",
    "#Cluster Name": "clusterList or topicList",
    "start reset consumer offset": "resetOffsetByTime",
    "rollback consumer offset": "resetOffsetByTime",
    "create subscription group to ": "updateSubGroup",
    "delete subscription group [": "deleteSubGroup",
    "create topic to ": "updateTopic",
    "Subscription data:": "queryCq",
    "=============================": "getConsumerConfig",
    "usage: mqadmin": "mqadmin's help",
    "The most commonly used mqadmin commands are:": "mqadmin's help",
    "The sub command ": "mqadmin's help",
    "producer group (": "producer",
}
"""How the first lines of views begin."""

_HEADS = tuple(_VIEWS)


def _starts_other(line: str) -> bool:
    if line.startswith("#Topic"):
        return "#Accumulation" in line
    # queryCq has lines of dashes without a name.
    return line.startswith(_HEADS) and (not line.startswith("=") or ":" in line)


def _parse_other(block: Block) -> Iterator[Skipped]:
    view = next(view for head, view in _VIEWS.items() if block.lines[0].startswith(head))
    yield skipped(block, 0, f"{view} does not show which member owns which queue, {_EXPECTED}")


def _parse_noise(block: Block) -> Iterator[Skipped]:
    for offset, line in enumerate(block.lines):
        if line.strip() and not is_noise(line):
            yield skipped(block, offset, f"no view of mqadmin, {_EXPECTED}, found {quoted(line)}")
            return


def explain(block: Block) -> Skipped | None:
    """Why a text that no `BlockKind` knows tells nothing, if it is the plain list of ``topicList``; else None."""
    lines = [line.strip() for line in block.lines if line.strip()]
    if any(" " in line for line in lines) or not any(line.startswith(_SYSTEM_TOPICS) for line in lines):
        return None
    return skipped(block, 0, f"topicList does not show which member owns which queue, {_EXPECTED}")


NOISE = BlockKind("rocketmq", "logger", is_noise, _parse_noise, aside=True)
OTHER = BlockKind("rocketmq", "other views", _starts_other, _parse_other)
