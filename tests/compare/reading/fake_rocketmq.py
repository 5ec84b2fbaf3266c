"""Name server and brokers on loopback that answer as a test says, in RocketMQ's own frames."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from rocketmq_selfbalance.remoting import RESPONSE, Frame, decode, encode, length_of
from tests.compare.reading.fake_kafka_server import Take, answering

Answer: TypeAlias = tuple[int, str | None, str] | None
"""Code, remark and body; None: silence."""

Answerer: TypeAlias = Callable[[int, Mapping[str, str]], Answer]


def serving(answer: Answerer) -> AbstractContextManager[str]:
    """A server (``host:port``) that answers each request's code and fields."""

    def answered(take: Take) -> Iterator[bytes]:
        frame = decode(take(length_of(take(4))))
        told = answer(frame.code, frame.fields)
        if told is not None:
            code, remark, body = told
            yield encode(Frame(code, frame.opaque, {}, body.encode(), remark, RESPONSE, "JAVA", form=frame.form))

    return answering(answered)


def ok(body: Any) -> Answer:
    """Success with a JSON body."""
    return 0, None, body if isinstance(body, str) else json.dumps(body)


def route(brokers: Mapping[str, str], queues: int, perm: int = 6) -> Answer:
    """A topic's route: broker name to address, and as many queues on each."""
    return ok(
        {
            "brokerDatas": [{"brokerAddrs": {"0": at}, "brokerName": name} for name, at in brokers.items()],
            "queueDatas": [{"brokerName": name, "perm": perm, "readQueueNums": queues} for name in brokers],
        }
    )


def queue_key(topic: str, broker: str, number: int) -> str:
    """A queue as the servers write it where it is the key of a map."""
    return f'{{"brokerName":"{broker}","queueId":{number},"topic":"{topic}"}}'
