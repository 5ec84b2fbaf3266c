"""From a cluster's answers to facts, the same ones that mqadmin's views give.

Asked for are: the topics (206), the route of each group's retry topic and of each topic read (105); at every broker of
a group its connections (203) and offsets (208); at every client what it owns (307). Brokers know different members
for a while, so all of them are asked.
"""

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from compare.reading.blocks import SourceText
from compare.reading.observed import Skipped
from compare.reading.rocketmq.facts import Connection, Connections, Fact, Offline, Progress, Route, Running
from compare.reading.rocketmq.retry import RETRY, is_retry
from compare.reading.rocketmq.running import tells_owned
from compare.reading.rocketmq.strategies import strategy_of
from compare.reading.rocketmq_live.address import Address, parsed
from compare.reading.rocketmq_live.client import Client, Refused
from compare.reading.rocketmq_live.loose_json import loads
from protocols import Queue, UserError

_ROUTE, _TOPICS, _CONNECTIONS, _STATS, _RUNNING = 105, 206, 203, 208, 307
_NO_TOPIC, _NOT_ONLINE = 17, 206
"""Codes of answers."""

_READABLE = 4
_MASTER = "0"
_GROUPS_AT_ONCE = 16


class _Told(NamedTuple):
    """A topic's route: its readable queues, and who answers for each of its brokers."""

    queues: tuple[Queue, ...]
    brokers: dict[str, Address]


class Cluster:
    """A cluster that is being asked. ``source`` is what messages call it."""

    def __init__(self, client: Client, servers: Sequence[Address], source: str) -> None:
        self._client, self._servers = client, servers
        self._source = SourceText(source, ())
        self._routes: dict[str, asyncio.Task[_Told | None]] = {}

    async def fetch(self, progress: Callable[[str], None]) -> list[Fact | Skipped]:
        """Everything about all groups, in the order of their names; `UserError` if no name server answers."""
        topics = await self._topics()
        groups = sorted(topic.removeprefix(RETRY) for topic in topics if is_retry(topic) and topic != RETRY)
        if not groups:
            return [self._skipped("the cluster has no consumer groups")]
        room = asyncio.Semaphore(_GROUPS_AT_ONCE)
        done = 0

        async def one(group: str) -> list[Fact | Skipped]:
            nonlocal done
            async with room:
                found = await self._group(group)
                done += 1
                progress(f"{self._source.name}: group {done} of {len(groups)}")
                return found

        of_groups = await asyncio.gather(*map(one, groups))
        routes = [await self._routes[topic] for topic in sorted(self._routes)]
        facts: list[Fact | Skipped] = [each for found in of_groups for each in found]
        facts += (
            Route(self._source, topic, told.queues, preview=False)
            for topic, told in zip(sorted(self._routes), routes, strict=True)
            if told is not None
        )
        return facts

    async def _topics(self) -> list[str]:
        refusals = []
        for server in self._servers:
            try:
                answer = await self._client.ask(server, _TOPICS, {})
                listed = _json(answer.body).get("topicList")
                return [str(topic) for topic in listed] if isinstance(listed, list) else []
            except Refused as refused:
                refusals.append(str(refused))
        raise UserError(f"no name server answers: {'; '.join(refusals)}; expected host:port of a name server")

    async def _group(self, group: str) -> list[Fact | Skipped]:
        route = await self._route(RETRY + group)
        if route is None:
            return [self._skipped(f"group {group!r} has a retry topic but no broker: its brokers are down")]
        brokers = sorted(route.brokers.items())
        views = await asyncio.gather(*(self._connections(group, *each) for each in brokers))
        found: list[Fact | Skipped] = [view for view in views if isinstance(view, Skipped)]
        connections = [view for view in views if isinstance(view, Connections)]
        if any(view.connections for view in connections):
            found += connections
        elif len(connections) == len(brokers):
            found.append(Offline(self._source, group))
        asked: dict[str, Address] = {}
        for (_, at), view in zip(brokers, views, strict=True):
            if isinstance(view, Connections):
                asked.update((each.client_id, at) for each in view.connections if each.client_id not in asked)
        found += await asyncio.gather(*(self._running(group, client, at) for client, at in sorted(asked.items())))
        found += await self._progress(group, brokers, found)
        return found

    async def _route(self, topic: str) -> _Told | None:
        """None where there is no such topic, or nobody tells of it."""
        if topic not in self._routes:
            self._routes[topic] = asyncio.ensure_future(self._ask_route(topic))
        return await self._routes[topic]

    async def _ask_route(self, topic: str) -> _Told | None:
        for server in self._servers:
            try:
                answer = await self._client.ask(server, _ROUTE, {"topic": topic})
            except Refused as refused:
                if refused.code == _NO_TOPIC:
                    return None
                continue
            return _told(topic, _json(answer.body))
        return None

    async def _connections(self, group: str, broker: str, at: Address) -> Connections | Skipped:
        try:
            answer = await self._client.ask(at, _CONNECTIONS, {"consumerGroup": group})
            told = _json(answer.body)
        except Refused as refused:
            if refused.code == _NOT_ONLINE:
                return Connections(self._source, group, (), None, None, complete=True)
            return self._skipped(f"group {group!r}: broker {broker} does not tell its members: {refused}")
        listed = [each for each in told.get("connectionSet") or () if isinstance(each, dict)]
        return Connections(
            source=self._source,
            group=group,
            connections=tuple(
                sorted(Connection(str(each.get("clientId")), str(each.get("clientAddr"))) for each in listed)
            ),
            topics=tuple(sorted(told.get("subscriptionTable") or ())),
            broadcasting=told.get("messageModel") == "BROADCASTING",
            complete=True,
        )

    async def _running(self, group: str, client_id: str, at: Address) -> Running | Skipped:
        fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}
        try:
            told = _json((await self._client.ask(at, _RUNNING, fields)).body)
        except Refused as refused:
            return self._skipped(f"group {group!r}: member {client_id} does not tell what it owns: {refused}")
        properties = {str(name): str(value) for name, value in _mapping(told.get("properties")).items()}
        owned = [
            queue
            for key, about in _mapping(told.get("mqTable")).items()
            if (queue := _queue(key)) is not None and not _mapping(about).get("droped")
        ]
        popped = [queue.topic for key in _mapping(told.get("mqPopTable")) if (queue := _queue(key)) is not None]
        return Running(
            source=self._source,
            group=group,
            client_id=client_id,
            owned=tuple(sorted(owned)) if tells_owned(properties) else None,
            popped=tuple(sorted(set(popped))),
            topics=tuple(sorted(str(each.get("topic")) for each in map(_mapping, told.get("subscriptionSet") or ()))),
            strategy=strategy_of(properties.get("allocateMessageQueueStrategy", "")),
            broadcasting=properties.get("messageModel") == "BROADCASTING" if "messageModel" in properties else None,
        )

    async def _progress(
        self, group: str, brokers: Iterable[tuple[str, Address]], found: Iterable[Fact | Skipped]
    ) -> list[Fact | Skipped]:
        """How far the group has come, at every broker of every topic that it reads."""
        topics = {topic for fact in found if isinstance(fact, Connections | Running) for topic in fact.topics or ()}
        places = dict(brokers)
        for topic in sorted(topics):
            told = await self._route(topic)
            places |= told.brokers if told is not None else {}
        skipped: list[Fact | Skipped] = []
        lag: dict[Queue, int] = {}
        for broker, at in sorted(places.items()):
            try:
                table = _json((await self._client.ask(at, _STATS, {"consumerGroup": group})).body).get("offsetTable")
            except Refused as refused:
                skipped.append(self._skipped(f"group {group!r}: broker {broker} does not tell its lag: {refused}"))
                continue
            for key, about in _mapping(table).items():
                queue, offsets = _queue(key), _mapping(about)
                if queue is not None:
                    lag[queue] = int(offsets.get("brokerOffset", 0)) - int(offsets.get("consumerOffset", 0))
        if not lag:
            return skipped
        # Nothing is cut here, and nobody is shown as an owner: the members were asked themselves.
        table_of = Progress(self._source, group, False, lag, None, sys.maxsize, sys.maxsize, complete=not skipped)
        return [table_of, *skipped]

    def _skipped(self, why: str) -> Skipped:
        return Skipped(self._source.name, None, why)


def _json(body: bytes) -> dict[Any, Any]:
    try:
        value = loads(body.decode("utf-8", "replace")) if body else {}
    except ValueError as error:
        raise Refused(f"an answer that is not RocketMQ's: {error}") from None
    return _mapping(value)


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _queue(key: Any) -> Queue | None:
    told = dict(key) if isinstance(key, tuple) else {}
    topic, broker, number = told.get("topic"), told.get("brokerName"), told.get("queueId")
    if isinstance(topic, str) and isinstance(broker, str) and isinstance(number, int):
        return Queue(topic, broker, number)
    return None


def _told(topic: str, route: dict[Any, Any]) -> _Told:
    queues = [
        Queue(topic, str(data.get("brokerName")), number)
        for data in map(_mapping, route.get("queueDatas") or ())
        if int(data.get("perm", 0)) & _READABLE
        for number in range(int(data.get("readQueueNums", 0)))
    ]
    brokers: dict[str, Address] = {}
    for data in map(_mapping, route.get("brokerDatas") or ()):
        addresses = _mapping(data.get("brokerAddrs"))
        # The master keeps members and offsets; a replica answers where there is none.
        first = addresses.get(_MASTER) or next((addresses[id] for id in sorted(addresses)), None)
        at = parsed(str(first)) if first is not None else None
        if at is not None:
            brokers[str(data.get("brokerName"))] = at
    return _Told(tuple(sorted(queues)), brokers)
