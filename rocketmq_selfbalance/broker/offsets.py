"""A broker's committed offsets, RocketMQ's ``ConsumerOffsetManager``: a table in memory, written to a file now and then
(spec 2.7, 2.8, 15).

Whoever sends a commit wins; nobody is asked whether it owns the queue. The key of the table is ``topic@group``, as in
the file; what RocketMQ derives by splitting it concerns only keys that fall into exactly two parts. The file
``consumerOffset.json`` is no JSON: queue numbers are keys without quotes (spec 6.8).
"""

import json
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from protocols.engine.nodes import Time
from protocols.java import sorted_as_java
from protocols.node_state import Apart, NodeState
from rocketmq_selfbalance.codes import QUERY_NOT_FOUND, SUBSCRIPTION_GROUP_NOT_EXIST, SUCCESS, TOPIC_NOT_EXIST
from rocketmq_selfbalance.messages.nameserver import DataVersion
from rocketmq_selfbalance.versions import DEFAULT, Version

Table: TypeAlias = dict[str, dict[int, int]]
"""``topic@group`` to queue number to offset of the next record."""


class PersistedOffsets(NamedTuple):
    """What a flush writes: nobody changes it afterwards."""

    version: DataVersion
    offsets: Table

    def with_offset(self, group: str, topic: str, number: int, offset: int) -> "PersistedOffsets":
        key = _key(topic, group)
        return self._replace(offsets={**self.offsets, key: {**self.offsets.get(key, {}), number: offset}})


class CommitAnswer(NamedTuple):
    """The answer to a commit: its code, and the remark that RocketMQ gives with it."""

    code: int
    remark: str | None = None


@dataclass(slots=True, eq=False)
class ConsumerOffsetManager(NodeState):
    """Committed offsets, pending resets and pull offsets of one broker of this ``version``.

    ``server_side_reset`` is ``useServerSideResetOffset``, ``version_step`` is ``consumerOffsetUpdateVersionStep``: the
    number of commits after which the data version rises.
    """

    now: InitVar[Time]
    server_side_reset: bool = field(default=True, kw_only=True)
    version_step: int = field(default=500, kw_only=True)
    version: Apart[Version] = field(default=DEFAULT, kw_only=True)
    offsets: Table = field(default_factory=dict)
    resets: Table = field(default_factory=dict)
    """Offsets set by an administrator, until the next pull takes them."""
    pulls: Apart[Table] = field(default_factory=dict)
    """Where the last pull of a queue ended; for statistics only."""
    data_version: Apart[DataVersion] = field(init=False)
    _commits: Apart[int] = 0

    def __post_init__(self, now: Time) -> None:
        self.data_version = DataVersion(timestamp=now)

    # What clients ask.

    def update(
        self, now: Time, group: str, topic: str, number: int, offset: int, *, group_known: bool, topic_known: bool
    ) -> CommitAnswer:
        """UPDATE_CONSUMER_OFFSET: a commit, unless there is a `refusal`."""
        answer = self.refusal(group, topic, number, group_known=group_known, topic_known=topic_known)
        if answer is None:
            self.commit(now, group, topic, number, offset)
        return answer or CommitAnswer(SUCCESS)

    def refusal(
        self, group: str, topic: str, number: int, *, group_known: bool, topic_known: bool
    ) -> CommitAnswer | None:
        """Why a commit is not taken: group or topic are unknown, or a reset is pending (which counts as success)."""
        if not group_known:
            return CommitAnswer(SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} not exist!")
        if not topic_known:
            return CommitAnswer(TOPIC_NOT_EXIST, f"Topic {topic} not exist!")
        if self.server_side_reset and self.has_reset(group, topic, number):
            return CommitAnswer(SUCCESS, "Offset has been previously reset")
        return None

    def answer_query(
        self,
        group: str,
        topic: str,
        number: int,
        *,
        set_zero_if_not_found: bool | None,
        min_offset: int,
        first_in_memory: bool,
    ) -> tuple[int, int | None]:
        """QUERY_CONSUMER_OFFSET: code and offset. A queue that still has its first record (``min_offset`` at most 0)
        in memory is read from its start by a group without an offset, unless the asker refuses that."""
        offset = self.query(group, topic, number)
        if offset >= 0:
            return SUCCESS, offset
        if set_zero_if_not_found is not False and min_offset <= 0 and first_in_memory:
            return SUCCESS, 0
        return QUERY_NOT_FOUND, None

    # The tables.

    def commit(self, now: Time, group: str, topic: str, number: int, offset: int) -> None:
        """Take the offset, even if it is smaller than the one before."""
        _of_queues(self.offsets, topic, group)[number] = offset
        self._commits += 1
        if self._commits % self.version_step == 0:
            self.data_version = self.data_version._replace(timestamp=now, counter=self.data_version.counter + 1)

    def query(self, group: str, topic: str, number: int) -> int:
        """The committed offset, or the pending reset; -1 where there is none."""
        key = _key(topic, group)
        reset = self.resets.get(key, {}).get(number) if self.server_side_reset and self.resets else None
        return self.offsets.get(key, {}).get(number, -1) if reset is None else reset

    def known(self, group: str, topic: str) -> Mapping[int, int]:
        """Queue number to what `query` gives; it changes with the offsets. Queues without any are left out."""
        key = _key(topic, group)
        offsets = self.offsets.get(key, {})
        resets = self.resets.get(key) if self.server_side_reset and self.resets else None
        return ChainMap(resets, offsets) if resets else offsets

    def commit_pull(self, group: str, topic: str, number: int, offset: int) -> None:
        _of_queues(self.pulls, topic, group)[number] = offset

    def query_pull(self, group: str, topic: str, number: int) -> int:
        """Where the last pull ended, else the committed offset; -1 where there is neither."""
        pulled = self.pulls.get(_key(topic, group), {}).get(number)
        return self.query(group, topic, number) if pulled is None else pulled

    def clear_pull(self, group: str, topic: str) -> None:
        self.pulls.pop(_key(topic, group), None)

    def clone(self, source: str, target: str, topic: str) -> None:
        """The target group gets the source group's offsets of the topic; nothing where it has none."""
        offsets = self.offsets.get(_key(topic, source))
        if offsets is not None:
            self.offsets[_key(topic, target)] = dict(offsets)

    def assign_resets(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """An administrator sets the offsets of queues; each holds until a pull takes it. Nonsense is ignored."""
        sound = {number: offset for number, offset in offsets.items() if number >= 0 and offset >= 0}
        if group and topic and sound:
            for table in (self.resets, self.offsets):
                _of_queues(table, topic, group).update(sound)

    def has_reset(self, group: str, topic: str, number: int) -> bool:
        """Whether a reset waits for a pull of this queue."""
        return number in self.resets.get(_key(topic, group), ())

    def take_reset(self, group: str, topic: str, number: int) -> int | None:
        """The pending reset, which ends thereby; None where there is none."""
        return self.resets.get(_key(topic, group), {}).pop(number, None) if self.resets else None

    def remove_group(self, group: str) -> None:
        for table in (self.offsets, self.resets, self.pulls):
            _drop(table, group)

    def clean_group(self, group: str) -> None:
        """Forget the group's committed offsets alone."""
        _drop(self.offsets, group)

    def clean_topic(self, topic: str) -> None:
        """The topic is deleted: groups that have committed offsets of it lose these (spec 15)."""
        committed = [key for key in self.offsets if (_parts(key) or ("",))[0] == topic]
        others = (self.pulls, self.resets) if self.version.deleted_topic_has_no_offsets else ()
        for table in (self.offsets, *others):
            for key in committed:
                table.pop(key, None)

    def topics_of(self, group: str) -> list[str]:
        return sorted_as_java(topic for topic, owner in pairs_of(self.offsets) if owner == group)

    def groups_of(self, topic: str) -> list[str]:
        return sorted_as_java(group for each, group in pairs_of(self.offsets) if each == topic)

    def least_over_groups(
        self, topic: str, without: Iterable[str], min_offset: Callable[[str, int], int]
    ) -> dict[int, int]:
        """Queue number to the smallest offset that any group has, of those that the queue still holds
        (``min_offset`` of topic and number).

        As in RocketMQ, the groups left out lose all their committed offsets thereby.
        """
        for group in without:
            for key in [key for key in self.offsets if _split(key)[1:2] == [group]]:
                del self.offsets[key]
        least_over_groups: dict[int, int] = {}
        for key, offsets in self.offsets.items():
            if _split(key)[0] != topic:
                continue
            for number, offset in offsets.items():
                if offset >= min_offset(topic, number):
                    least_over_groups[number] = min(offset, least_over_groups.get(number, offset))
        return least_over_groups

    # The file.

    def stored(self) -> PersistedOffsets:
        return PersistedOffsets(self.data_version, {key: dict(offsets) for key, offsets in self.offsets.items()})

    def text(self, epoch_ms: Time = 0) -> str:
        """What a flush writes into ``consumerOffset.json``; times in it count from 1970, where virtual time begins at
        ``epoch_ms``."""
        pulls = self.pulls if self.version.pull_offsets_are_written else None
        return _text_of(self.stored(), pulls, epoch_ms)

    def load(self, stored: PersistedOffsets) -> None:
        """Go on with what was written last. A new manager has neither later commits nor pending resets."""
        self.data_version = stored.version
        self.offsets = {key: dict(offsets) for key, offsets in stored.offsets.items()}


def pairs_of(table: Table) -> Iterator[tuple[str, str]]:
    """Topic and group of each key that falls into exactly two parts."""
    for key in table:
        parts = _parts(key)
        if parts is not None:
            yield parts


@lru_cache(maxsize=4096)  # asked for with every pull
def _key(topic: str, group: str) -> str:
    return f"{topic}@{group}"


def _of_queues(table: Table, topic: str, group: str) -> dict[int, int]:
    """The group's entries of the topic in a table, which may be changed."""
    key = _key(topic, group)
    found = table.get(key)
    if found is None:
        found = table[key] = {}
    return found


def _parts(key: str) -> tuple[str, str] | None:
    parts = _split(key)
    return (parts[0], parts[1]) if len(parts) == 2 else None


def _split(key: str) -> list[str]:
    """The key's parts as Java's ``split`` gives them: without empty ones at the end."""
    return key.rstrip("@").split("@")


def _drop(table: Table, group: str) -> None:
    for key in list(table):
        parts = _parts(key)
        if parts is not None and parts[1] == group:
            del table[key]


_STRING_OR_BARE_KEY = re.compile(r'("(?:[^"\\]|\\.)*")|(?<=[{,])(\s*)(-?\d+)(?=\s*:)')


def _text_of(stored: PersistedOffsets, pulls: Table | None, epoch_ms: Time) -> str:
    version = stored.version
    topics: dict[str, list[str]] = {}
    for topic, group in pairs_of(stored.offsets):
        topics.setdefault(group, []).append(topic)
    dated = {
        "counter": version.counter,
        "stateVersion": version.state_version,
        "timestamp": int(version.timestamp + epoch_ms),
    }
    parts = {"dataVersion": _json(dated), "groupTopicMap": _json(topics), "offsetTable": _table(stored.offsets)}
    if pulls is not None:
        parts["pullOffsetTable"] = _table(pulls)
    return f"{{{','.join(f'{_json(name)}:{part}' for name, part in parts.items())}}}"


def _table(table: Table) -> str:
    return f"{{{','.join(f'{_json(key)}:{{{_bare(offsets)}}}' for key, offsets in table.items())}}}"


def _bare(offsets: Mapping[int, int]) -> str:
    return ",".join(f"{number}:{offset}" for number, offset in offsets.items())


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parse(text: str) -> Any:
    """The content of such a text, queue numbers as texts. `ValueError` for anything else."""
    return json.loads(_STRING_OR_BARE_KEY.sub(lambda found: found[1] or f'{found[2]}"{found[3]}"', text))


def stored_of(text: str, now: Time, epoch_ms: Time = 0) -> PersistedOffsets:
    """What a broker that starts now reads from the text. A text without a data version gets a new one."""
    content = parse(text)
    version = content.get("dataVersion")
    return PersistedOffsets(
        DataVersion(timestamp=now)
        if version is None
        else DataVersion(version["stateVersion"], version["timestamp"] - epoch_ms, version["counter"]),
        {
            key: {int(number): offset for number, offset in offsets.items()}
            for key, offsets in content.get("offsetTable", {}).items()
        },
    )
