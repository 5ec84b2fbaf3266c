"""Text of mqadmin that says nothing about who owns which queue."""

from collections.abc import Callable, Iterator

from compare.reading.blocks import Block, BlockKind, skipped
from compare.reading.observed import Skipped
from compare.reading.rocketmq.lines import is_noise, quoted, starting

_EXPECTED = "expected consumerProgress, consumerConnection, consumerStatus or topicRoute"
_SYSTEM_TOPICS = ("RMQ_SYS_", "SCHEDULE_TOPIC_", "TBW102", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "%RETRY%", "%DLQ%")


def _config_starts(line: str) -> bool:
    return line.startswith("====") and line.rstrip().endswith("====") and ":" in line[:4096]


_OTHERS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("topicStatus", starting("#Broker Name", holding="#Min Offset")),
    ("clusterList", starting("#Cluster Name", holding="#Broker Name")),
    ("topicList", starting("#Cluster Name", holding="#Consumer Group")),
    ("statsAll", starting("#Topic", holding="#Consumer Group")),
    ("resetOffsetByTime", starting("start reset consumer offset", "rollback consumer offset")),
    ("getConsumerConfig", _config_starts),
    ("updateSubGroup", starting("create subscription group to ")),
    ("deleteSubGroup", starting("delete subscription group [")),
    ("updateTopic", starting("create topic to ")),
    ("queryCq", starting("Subscription data:")),
    ("mqadmin's help", starting("usage: mqadmin", "The most commonly used mqadmin commands are:", "The sub command ")),
)


def _nothing(view: str) -> Callable[[Block], Iterator[Skipped]]:
    def parse(block: Block) -> Iterator[Skipped]:
        yield skipped(block, 0, f"{view} does not tell who owns which queue, {_EXPECTED}")

    return parse


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
    return skipped(block, 0, f"topicList does not tell who owns which queue, {_EXPECTED}")


NOISE = BlockKind("rocketmq", "logger", is_noise, _parse_noise)
OTHERS = tuple(BlockKind("rocketmq", view, starts, _nothing(view)) for view, starts in _OTHERS)
