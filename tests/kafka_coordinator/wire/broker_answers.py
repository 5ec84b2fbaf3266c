"""What a broker answers in all conversations, with everything left out that differs from run to run."""

import re
import time
from struct import unpack_from
from typing import Any

from tests.kafka_coordinator.wire.broker_cases import RECORD_CASES, Case
from tests.kafka_coordinator.wire.heartbeat_cases import refused_heartbeats, renamed_instances, repeated_heartbeats
from tests.kafka_coordinator.wire.newest_cases import NEWEST_CASES
from tests.kafka_coordinator.wire.offset_cases import offsets_by_topic_id
from tests.kafka_coordinator.wire.plain import plain
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.share_cases import SHARE_CASES
from tests.kafka_coordinator.wire.topic_cases import TOPIC_CASES, altering_what_is_not_there

CASES: dict[str, Case] = {
    **RECORD_CASES,
    **TOPIC_CASES,
    "refused_heartbeats": refused_heartbeats,
    "repeated_heartbeats": repeated_heartbeats,
}
CASES_OF_4_4: dict[str, Case] = {
    "offsets_by_topic_id": offsets_by_topic_id,
    "refused_heartbeats": refused_heartbeats,
    "renamed_instances": renamed_instances,
    "altering_what_is_not_there": altering_what_is_not_there,
    **NEWEST_CASES,
    **SHARE_CASES,
}
"""Conversations with a broker of 4.4."""

_NO_ID = "id 00000000-0000-0000-0000-000000000000"
_VARYING = ("port", "cluster_id", "heartbeat_interval")
_DESCRIBE_CONFIGS = 32


def answers_of(address: str, name: str, topic: str, *, late: float = 0.0) -> list[Any]:
    """Of the broker that listens there, to one conversation about a topic of this name. ``late``: for how many seconds
    it may describe settings as they were before a change: a real broker hears of the change from its controller."""
    return steady_answers(address, {**CASES, **CASES_OF_4_4}[name], topic, late=late)


def steady_answers(address: str, case: Case, topic: str, *, late: float = 0.0) -> list[Any]:
    """The same of any conversation."""
    clients = [RawClient(address)]

    def ask(body: Any) -> Any:
        if body.__api_key__ == _DESCRIBE_CONFIGS:
            time.sleep(late)
        answer = clients[-1].ask(body)
        if answer is None:
            clients.append(RawClient(address))
        return answer

    try:
        answers = [plain(each) for each in case(ask, topic)]
    finally:
        for each in clients:
            each.close()
    ids: dict[str, str] = {}
    return [_steady(each, topic, ids) for each in answers]


def _steady(value: Any, topic: str, ids: dict[str, str]) -> Any:
    """Ids by the order in which they appear; the topic as TOPIC; settings and partitions sorted, as Kafka's order
    follows from hashes; of records whole batches, as Kafka cuts the last one at the limit."""
    if isinstance(value, dict):
        value = {name: _steady(each, topic, ids) for name, each in value.items()}
        for name, each in value.items():
            if name in _VARYING and each:
                value[name] = "varies"
            elif name == "session_id" and each:
                value[name] = "a session"
            elif name == "topic_id" and each is None:
                value[name] = _NO_ID
            elif name == "records" and each:
                value[name] = whole_batches(each)
            elif name == "configs" and each:
                value[name] = sorted(each, key=lambda one: str(one["name"]))
            elif name == "partitions" and each and _is_of_records(each[0]):
                value[name] = sorted(each, key=lambda one: int(one["partition_index"]))
        return value
    if isinstance(value, list):
        return [_steady(each, topic, ids) for each in value]
    if isinstance(value, str):
        if value.startswith("id ") and not value.startswith("id 00000000"):
            return ids.setdefault(value, f"id {len(ids) + 1}")
        return re.sub(r"within \[.*?\]", "within [...]", value.replace(topic, "TOPIC"))
    return value


def _is_of_records(partition: Any) -> bool:
    return isinstance(partition, dict) and ("low_watermark" in partition or "timestamp" in partition)


def whole_batches(content: str) -> str:
    """Records without a batch at their end of which only a part was sent."""
    data, at = bytes.fromhex(content), 0
    while at + 12 <= len(data):
        end = at + 12 + unpack_from(">i", data, at + 8)[0]
        if end > len(data):
            break
        at = end
    return data[:at].hex()
