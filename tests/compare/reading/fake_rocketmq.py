"""Name server and brokers on loopback that answer as a test says, in RocketMQ's own frames."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from rocketmq_selfbalance.remoting import RESPONSE, Frame, decode, encode, length_of

Answer: TypeAlias = tuple[int, str | None, str] | None
"""Code, remark and body; None: silence."""

Answerer: TypeAlias = Callable[[int, Mapping[str, str]], Answer]


@contextmanager
def serving(answer: Answerer) -> Iterator[str]:
    """A server (``host:port``) that answers each request's code and fields."""
    loop = asyncio.new_event_loop()
    started = threading.Event()
    ports: list[int] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                frame = decode(await reader.readexactly(length_of(await reader.readexactly(4))))
                told = answer(frame.code, frame.fields)
                if told is not None:
                    code, remark, body = told
                    reply = Frame(code, frame.opaque, {}, body.encode(), remark, RESPONSE, "JAVA", form=frame.form)
                    writer.write(encode(reply))
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def listen() -> asyncio.Server:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        started.set()
        return server

    def run() -> None:
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(listen())
        loop.run_forever()
        server.close()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield f"127.0.0.1:{ports[0]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


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
