"""``kafka-topics --describe``: a line per topic, below it one per partition."""

import re
from collections.abc import Iterator

from compare.reading.blocks import Block, BlockKind, skipped
from compare.reading.kafka.facts import TopicQueues
from compare.reading.kafka.rows import RowError, read_rows
from compare.reading.observed import Skipped

_TOPIC = re.compile(r"Topic: ?([a-zA-Z0-9._-]+)\s+(?:TopicId: ?\S+\s+)?PartitionCount: ?([0-9]{1,10})(?!\S)")
_CONFIGS = re.compile(r"\sConfigs:[ \t]*(\S*)")
_POLICY = re.compile(r"(?:^|,)cleanup\.policy=([a-z,]*)(?:,[^,=]+=|$)")
_PARTITION = re.compile(r"\s*Topic: ?([a-zA-Z0-9._-]+)\s+Partition: ?([0-9]{1,10})\s+Leader: ?")

_MOST_PARTITIONS = 1 << 20


def _starts(line: str) -> bool:
    return line.startswith("Topic:") and _TOPIC.match(line) is not None


def _parse(block: Block) -> Iterator[TopicQueues | Skipped]:
    header = _TOPIC.match(block.lines[0])
    if header is None:
        return
    topic, count = header[1], int(header[2])

    def read(line: str) -> int:
        found = _PARTITION.match(line)
        if found is None or found[1] != topic:
            raise RowError(f"expected a partition of topic {topic}")
        return int(found[2])

    rows = read_rows(block, read)
    yield from rows.skipped
    numbers = sorted({number for _, number in rows.found})
    if len(numbers) != count:
        yield skipped(block, 0, f"expected {count} partitions of topic {topic} below it, found {len(numbers)}")
    if numbers and numbers[-1] < count <= _MOST_PARTITIONS:
        # A topic has all numbers from 0 on; the first line says how many, whatever became of the others.
        numbers = list(range(count))
    if numbers:
        yield TopicQueues(block.source.name, topic, tuple(numbers), _is_compacted(block.lines[0]))


def _is_compacted(header: str) -> bool:
    """Whether the settings in the topic's line say so; a policy that is the brokers' default may be missing there."""
    configs = _CONFIGS.search(header)
    policy = None if configs is None else _POLICY.search(configs[1])
    return policy is not None and "compact" in policy[1].split(",")


TOPIC = BlockKind("kafka", "kafka-topics --describe", _starts, _parse)
