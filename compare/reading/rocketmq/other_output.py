"""Text of mqadmin that says nothing about who owns which queue."""

from collections.abc import Iterator

from compare.reading.observed import Block, BlockKind, Skipped, skipped
from compare.reading.rocketmq.lines import is_noise, quoted
from rocketmq_selfbalance.cluster import DLQ_PREFIX, RETRY_PREFIX

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
}
"""How the first lines of views begin."""

_HEADS = tuple(_VIEWS)


def _starts(line: str) -> bool:
    if line.startswith("#Topic"):
        return "#Accumulation" in line
    # queryCq has lines of dashes without a name.
    return line.startswith(_HEADS) and (not line.startswith("=") or ":" in line)


def _parse(block: Block) -> Iterator[Skipped]:
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
OTHER = BlockKind("rocketmq", "other views", _starts, _parse)
