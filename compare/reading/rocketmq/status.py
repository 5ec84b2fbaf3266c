"""``consumerStatus`` without -i: who answered, whether the subscriptions are equal, and queues that are stuck."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from compare.reading.observed import Block, BlockKind, Skipped, skipped
from compare.reading.rocketmq.facts import Answered
from compare.reading.rocketmq.lines import Lines

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
