"""Sizes of frames are those that real Java clients and servers sent in recorded sessions."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protocols.java import Queue
from rocketmq_selfbalance.frame_sizes import frame_size
from rocketmq_selfbalance.messages import membership, offsets
from rocketmq_selfbalance.messages import requests as plain
from rocketmq_selfbalance.remoting import Frame, decode
from rocketmq_selfbalance.wire import messages, requests

CAPTURES = Path(__file__).parents[1] / "captures" / "rocketmq"
ASKED = {14, 15, 34, 35, 38, 41, 42, 105}


def recorded() -> Iterator[tuple[dict[str, Any], Frame, int]]:
    """Frames of Java clients and servers with their bytes."""
    for path in sorted([*(CAPTURES / "wire").glob("push*.jsonl"), *(CAPTURES / "wire_sessions").glob("push*.jsonl")]):
        for line in path.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            if told.get("serialize") == "JSON" and told.get("language") == "JAVA" and "hex" in told:
                raw = bytes.fromhex(told["hex"])
                told["path"] = path.name
                yield told, decode(raw[4:]), len(raw)


def answer(code: int, frame: Frame) -> Any:
    """The simulation's answer to such a request."""
    body = json.loads(frame.body) if frame.body and code in ASKED else {}
    match code:
        case 38:
            return membership.ConsumerList(frame.opaque, 0, tuple(body["consumerIdList"]))
        case 14:
            return offsets.OffsetAnswer(frame.opaque, 0, int(frame.fields["offset"]))
        case 41:
            locked = (Queue(each["topic"], each["brokerName"], each["queueId"]) for each in body["lockOKMQSet"])
            return plain.LockBatchMqAnswer(frame.opaque, 0, tuple(locked))
        case 34:
            return plain.Answer(frame.opaque, 0)
        case _:
            return None


def test_frames_have_as_many_bytes_as_java_writes() -> None:
    seen = Counter[str]()
    open_requests: dict[tuple[str, int, int], int] = {}
    for told, frame, size in recorded():
        key = told["path"], told["conn"], frame.opaque
        message: Any = None
        if told["dir"] == "c>s" and frame.code in ASKED:
            open_requests[key] = frame.code
            decoder = (requests.NAME_SERVER if frame.code == 105 else requests.BROKER)[frame.code]
            message = decoder(frame.opaque, frame, told["server"])
            if isinstance(message, messages.ClientHeartbeat):
                # Of version 2 the answer says other things.
                message = message.beat if not message.fingerprint else open_requests.pop(key) and None
            if isinstance(message, membership.UnregisterClient) and not message.group:
                message = None  # of a producer
        elif told["dir"] == "s>c" and frame.code == 40:
            message = membership.NotifyConsumerIdsChanged(frame.opaque, frame.fields["consumerGroup"])
        elif told["dir"] == "s>c" and frame.code == 0 and frame.is_answer:
            message = answer(open_requests.pop(key, 0), frame)
        if message is not None:
            seen[type(message).__name__] += 1
            assert frame_size(message) == size, (message, told)
    assert set(seen) >= {"HeartBeat", "GetConsumerListByGroup", "ConsumerList", "UpdateConsumerOffset", "GetRouteInfo"}
    assert seen.total() > 100
