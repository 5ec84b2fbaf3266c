"""Read texts with the RocketMQ reader alone, and the captures' ground truth."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from compare.reading import rocketmq
from compare.reading.observed import ObservedGroup, Skipped, SourceText
from compare.reading.sources import load
from protocols import Queue
from tests.compare.reading.reading_kafka import read_with

CAPTURES = Path(__file__).parent.parent.parent / "captures" / "rocketmq"
GROUPS = sorted((CAPTURES / "groups").iterdir())

Owned = Mapping[str, frozenset[Queue]]


def read_all(sources: Iterable[SourceText | Skipped]) -> tuple[list[ObservedGroup], list[Skipped]]:
    """All groups, and what was skipped."""
    return read_with(rocketmq, sources)


def read_files(*paths: Path) -> tuple[dict[str, ObservedGroup], list[Skipped]]:
    """Groups by name."""
    groups, skipped = read_all(load(map(str, paths)))
    assert len({group.name for group in groups}) == len(groups)
    return {group.name: group for group in groups}, skipped


def read_one(*sources: SourceText) -> ObservedGroup:
    """The only group that the sources tell of; nothing may be skipped."""
    groups, skipped = read_all(sources)
    assert skipped == []
    assert len(groups) == 1
    return groups[0]


def text(*lines: str, name: str = "/logs/g/out.txt", group: str | None = None) -> SourceText:
    """A file made of lines."""
    path = Path(name)
    return SourceText(name, lines, group, path.parent.name, path.stem)


def owned(group: ObservedGroup) -> dict[str, frozenset[Queue] | None]:
    """What each member owns, None where not told."""
    members = group.seen if group.members is None else group.members
    return {member.id: None if member.owned is None else frozenset(member.owned) for member in members}


def queue_of(text: str) -> Queue:
    """``topic|broker|number``."""
    topic, broker, number = text.split("|")
    return Queue(topic, broker, int(number))


def truth(folder: Path) -> tuple[str, Owned]:
    """A group's name and what its members really owned, dropped queues left out."""
    told = json.loads((folder / "truth.json").read_text())
    return told["group"], {member["clientId"]: frozenset(map(queue_of, member["owned"])) for member in told["members"]}


def wrong(group: ObservedGroup, true: Owned) -> dict[str, frozenset[Queue] | None]:
    """Members whose shown queues are not theirs, or lack one of a topic that is not named as untold."""
    untold = () if group.partial is None else group.partial.topics
    return {
        id: queues
        for id, queues in owned(group).items()
        if queues is not None
        and not frozenset(queue for queue in true[id] if queue.topic not in untold) <= queues <= true[id]
    }
