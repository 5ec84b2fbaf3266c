"""The text of a broker's ``consumerOffset.json``, as ``ConsumerOffsetManager.encode`` writes and ``decode`` reads it.
It is no JSON: queue numbers are keys without quotes (spec 6.8)."""

import json
import re
from collections.abc import Mapping
from typing import Any

from protocols.engine.nodes import Time
from rocketmq_selfbalance.broker.offsets import PersistedOffsets, pairs_of
from rocketmq_selfbalance.messages.topics import DataVersion

_STRING_OR_BARE_KEY = re.compile(r'("(?:[^"\\]|\\.)*")|(?<=[{,])(\s*)(-?\d+)(?=\s*:)')


def text_of(stored: PersistedOffsets, epoch_ms: Time = 0) -> str:
    """The file's content. Times in it count from 1970: ``epoch_ms`` is where virtual time begins."""
    version = stored.version
    topics: dict[str, list[str]] = {}
    for topic, group in pairs_of(stored.offsets):
        topics.setdefault(group, []).append(topic)
    dated = {
        "counter": version.counter,
        "stateVersion": version.state_version,
        "timestamp": int(version.timestamp + epoch_ms),
    }
    tables = ",".join(f"{_json(key)}:{{{_bare(offsets)}}}" for key, offsets in stored.offsets.items())
    return f'{{"dataVersion":{_json(dated)},"groupTopicMap":{_json(topics)},"offsetTable":{{{tables}}}}}'


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
