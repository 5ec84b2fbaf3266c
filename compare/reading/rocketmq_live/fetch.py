"""From a cluster's answers to facts, the same ones that mqadmin's views give.

Asked for are: the topics (206), the route of each group's retry topic and of each topic read (105); at every broker of
a group its connections (203) and offsets (208); at every client what it owns (307). Brokers know different members
for a while, so all of them are asked.
"""

import asyncio
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import TypeVar

from compare.reading.observed import ObservedGroup, Skipped, SourceText
from compare.reading.rocketmq import join
from compare.reading.rocketmq.facts import Connection, Connections, Fact, NoRoute, Offline, Progress, Route, Running
from compare.reading.rocketmq.lines import is_retry
from compare.reading.rocketmq.running_info import orderly_of, strategy_of, tells_owned
from compare.reading.rocketmq_live import answers
from compare.reading.rocketmq_live.client import Address, Client, Refused, name_servers
from compare.reading.sources import MOST_EARLIER, NOTHING_KNOWN, TIMEOUT_S, Known, answer_s, end_of
from protocols import Queue, UserError, sort_queues
from rocketmq_selfbalance.cluster import CONSUMER_NOT_ONLINE, RETRY_PREFIX, TOPIC_NOT_EXIST

_ROUTE, _CLUSTER, _TOPICS, _CONNECTIONS, _STATS, _RUNNING = 105, 106, 206, 203, 208, 307
_GROUPS_AT_ONCE = 16

T = TypeVar("T")


class Cluster:
    """A cluster that is being asked. ``source`` is what messages call it; ``before``: the brokers that an earlier
    reading has found, some of which may not have registered yet with a name server that has started again. `brokers`
    are those that this one has found, and these."""

    def __init__(self, client: Client, servers: Sequence[Address], source: str, before: Sequence[str] = ()) -> None:
        self._client, self._servers, self._before = client, servers, before
        self.brokers = before
        self._source = SourceText(source, ())
        self._routes: dict[str, asyncio.Task[answers.TopicRoute | Refused]] = {}

    async def fetch(self, progress: Callable[[str], None]) -> list[Fact | Skipped]:
        """Everything about all groups, in the order of their names; `UserError` if no name server answers or knows a
        broker."""
        topics = await self._topics()
        if not topics:
            # Every broker brings topics of its own; a name server that has just started has heard of none.
            why = "the name server knows no topic, so no broker has registered: which groups there are is unknown"
            return [self._hidden(why)]
        unregistered = await self._unregistered()
        groups = sorted(
            topic.removeprefix(RETRY_PREFIX) for topic in topics if is_retry(topic) and topic != RETRY_PREFIX
        )
        if not groups:
            return unregistered or [self._skipped("the cluster has no consumer groups")]
        room = asyncio.Semaphore(_GROUPS_AT_ONCE)
        done = 0
        late: set[str] = set()

        async def one(group: str) -> list[Fact | Skipped]:
            nonlocal done
            async with room:
                if self._client.is_over:
                    late.add(group)
                    return []
                found = await self._group(group)
                done += 1
                progress(f"{self._source.name}: group {done} of {len(groups)}")
                return found

        of_groups = await asyncio.gather(*map(one, groups))
        if len(late) == len(groups):
            raise UserError(
                f"the cluster does not describe its {len(late)} groups in time, expected a longer --timeout"
            )
        unknown = [
            route
            for group in groups
            if group not in late and isinstance(route := await self._route(RETRY_PREFIX + group), Refused)
        ]
        if len(unknown) == len(groups) - len(late) and all(each.code != TOPIC_NOT_EXIST for each in unknown):
            raise UserError(
                f"no name server returns a route for the groups: {unknown[0]}; expected a route of RocketMQ"
            )
        told = _without_popped(dict(zip(groups, of_groups, strict=True)), topics)
        facts = [*unregistered, *(each for found in told for each in found)]
        if late:
            why = f"{len(late)} of {len(groups)} groups are not read in time, expected a longer --timeout"
            facts.append(self._hidden(why))
        for topic in sorted(self._routes):
            route = await self._routes[topic]
            if isinstance(route, answers.TopicRoute):
                facts.append(Route(self._source, topic, route.queues, preview=False))
            elif is_retry(topic):
                continue
            elif route.code == TOPIC_NOT_EXIST:
                facts.append(NoRoute(self._source, topic))
            else:
                facts.append(self._skipped(f"topic {topic!r}: no name server returns its route: {route}"))
        return facts

    async def _topics(self) -> tuple[str, ...]:
        try:
            return await self._ask_name_servers(_TOPICS, {}, answers.topics)
        except Refused as refused:
            raise UserError(f"no name server answers: {refused}; expected host:port of a name server") from None

    async def _unregistered(self) -> list[Fact | Skipped]:
        """What is to be said of brokers that were there before and are not now: groups that only they know are not
        listed."""
        try:
            there = await self._ask_name_servers(_CLUSTER, {}, answers.broker_names)
        except Refused as refused:
            return [self._hidden(f"the name server does not list its brokers: {refused}")] if self._before else []
        earlier = [name for name in self._before if name not in there]
        self.brokers = (*there, *earlier[:MOST_EARLIER])
        why = "is not registered with the name server any more: groups that it alone knows are not listed"
        return [self._hidden(f"broker {name} {why}") for name in earlier]

    async def _ask_name_servers(self, code: int, fields: Mapping[str, str], take: Callable[[bytes], T]) -> T:
        """What ``take`` makes of the first answer that makes sense; `Refused` with all reasons where none does, and at
        once where there is no such topic."""
        refusals = []
        for server in self._servers:
            try:
                return take((await self._client.ask(server, code, fields)).body)
            except Refused as refused:
                if refused.code == TOPIC_NOT_EXIST:
                    raise
                refusals.append(str(refused))
        raise Refused("; ".join(refusals))

    async def _group(self, group: str) -> list[Fact | Skipped]:
        route = await self._route(RETRY_PREFIX + group)
        if isinstance(route, Refused):
            if route.code == TOPIC_NOT_EXIST:
                return [self._hidden(f"group {group!r} has a retry topic but no broker, because its brokers are down")]
            return [self._hidden(f"group {group!r}: no name server returns its brokers: {route}")]
        brokers = sorted(route.brokers.items())
        views = await asyncio.gather(*(self._connections(group, *broker) for broker in brokers))
        found: list[Fact | Skipped] = [view for view in views if isinstance(view, Skipped)]
        connections = [view for view in views if isinstance(view, Connections)]
        if any(view.connections for view in connections):
            found += connections
        elif len(connections) == len(brokers):
            found.append(Offline(self._source, group))
        asked: dict[str, Address] = {}
        for (_, at), view in zip(brokers, views, strict=True):
            if isinstance(view, Connections):
                asked.update(
                    (connection.client_id, at) for connection in view.connections if connection.client_id not in asked
                )
        found += await asyncio.gather(*(self._running(group, client, at) for client, at in sorted(asked.items())))
        found += await self._progress(group, brokers, found)
        return found

    async def _route(self, topic: str) -> answers.TopicRoute | Refused:
        """The topic's route, or why nobody tells it."""
        if topic not in self._routes:
            self._routes[topic] = asyncio.ensure_future(self._ask_route(topic))
        return await self._routes[topic]

    async def _ask_route(self, topic: str) -> answers.TopicRoute | Refused:
        try:
            return await self._ask_name_servers(_ROUTE, {"topic": topic}, lambda body: answers.route(topic, body))
        except Refused as refused:
            return refused

    async def _connections(self, group: str, broker: str, at: Address) -> Connections | Skipped:
        try:
            answer = await self._client.ask(at, _CONNECTIONS, {"consumerGroup": group})
            body = answers.body_of(answer.body)
        except Refused as refused:
            if refused.code == CONSUMER_NOT_ONLINE:
                return Connections(self._source, group, (), None, None, complete=True)
            return self._hidden(f"group {group!r}: broker {broker} does not list the members: {refused}")
        return Connections(
            source=self._source,
            group=group,
            connections=tuple(
                sorted(
                    Connection(str(each.get("clientId")), str(each.get("clientAddr")))
                    for each in answers.objects(body.get("connectionSet"))
                )
            ),
            topics=answers.names(body.get("subscriptionTable")),
            broadcasting=body.get("messageModel") == "BROADCASTING",
            complete=True,
        )

    async def _running(self, group: str, client_id: str, at: Address) -> Running | Skipped:
        fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}
        try:
            body = answers.body_of((await self._client.ask(at, _RUNNING, fields)).body)
        except Refused as refused:
            return self._skipped(f"group {group!r}: member {client_id} does not report its queues: {refused}")
        properties = {str(name): str(value) for name, value in answers.mapping(body.get("properties")).items()}
        dropped = {
            queue: answers.mapping(about).get("droped")
            for key, about in answers.mapping(body.get("mqTable")).items()
            if (queue := answers.queue(key)) is not None
        }
        owned = sort_queues(queue for queue, is_dropped in dropped.items() if not is_dropped)
        popped = {
            queue: answers.mapping(about).get("waitAckCount")
            for key, about in answers.mapping(body.get("mqPopTable")).items()
            if (queue := answers.queue(key)) is not None
        }
        return Running(
            source=self._source,
            group=group,
            client_id=client_id,
            owned=owned if tells_owned(properties) else None,
            popped=tuple(sorted({queue.topic for queue in popped})),
            topics=answers.names([each.get("topic") for each in answers.objects(body.get("subscriptionSet"))]),
            strategy=strategy_of(properties.get("allocateMessageQueueStrategy", "")),
            broadcasting=properties.get("messageModel") == "BROADCASTING" if "messageModel" in properties else None,
            orderly=orderly_of(properties),
            in_hand=sum(count for count in popped.values() if isinstance(count, int)),
        )

    async def _progress(
        self, group: str, brokers: Iterable[tuple[str, Address]], found: Iterable[Fact | Skipped]
    ) -> list[Fact | Skipped]:
        """How far the group has come, at every broker of every topic that it reads."""
        topics = {topic for fact in found if isinstance(fact, Connections | Running) for topic in fact.topics or ()}
        places = dict(brokers)
        for topic in sorted(topics):
            route = await self._route(topic)
            places |= route.brokers if isinstance(route, answers.TopicRoute) else {}
        skipped: list[Fact | Skipped] = []
        found_offsets: dict[Queue, tuple[int, int]] = {}
        for broker, at in sorted(places.items()):
            try:
                answer = await self._client.ask(at, _STATS, {"consumerGroup": group})
                found_offsets |= answers.offsets(answers.body_of(answer.body))
            except Refused as refused:
                skipped.append(self._skipped(f"group {group!r}: broker {broker} does not report the lag: {refused}"))
        if not found_offsets:
            return skipped
        # Nothing is cut here, and nobody is shown as an owner: the members were asked themselves.
        lag = {queue: end - come_to for queue, (come_to, end) in found_offsets.items()}
        ends = {queue: end for queue, (_, end) in found_offsets.items()}
        return [Progress(self._source, group, False, lag, None, sys.maxsize, sys.maxsize, not skipped, ends), *skipped]

    def _skipped(self, why: str) -> Skipped:
        return Skipped(self._source.name, None, why)

    def _hidden(self, why: str) -> Skipped:
        return Skipped(self._source.name, None, why, hides_groups=True)


def _without_popped(
    of_groups: Mapping[str, list[Fact | Skipped]], topics: Collection[str]
) -> Iterator[list[Fact | Skipped]]:
    """What is told of groups, without names that have neither member nor offset and may be those of a group and a topic
    that it pops: the retry topics of both look alike (spec pop 5.5)."""
    for name, found in of_groups.items():
        ends = (topic for topic in topics if name.endswith((f"_{topic}", f"+{topic}")))
        is_told = any(isinstance(each, Connections | Progress) for each in found)
        if is_told or not any(name[: -len(topic) - 1] in of_groups for topic in ends):
            yield found


def observe(
    address: str,
    *,
    timeout_s: float = TIMEOUT_S,
    progress: Callable[[str], None] = lambda text: None,
    known: MutableMapping[str, Known] | None = None,
) -> list[ObservedGroup | Skipped]:
    """The consumer groups of the cluster at ``rocketmq://host:port[;host:port...]`` (name servers), sorted by name.

    ``Skipped`` stands for what the cluster would not tell about a broker, a group or a member, or not in time.
    ``timeout_s`` is how long the whole reading may take; a single answer is waited for up to a third of it. ``known``:
    what an earlier reading found out, kept here for the next one. `UserError` if no name server answers.
    """
    known = {} if known is None else known
    progress(address)
    before = known.get(address, NOTHING_KNOWN).brokers
    found, brokers = asyncio.run(_fetch(name_servers(address), address, timeout_s, progress, before))
    known[address] = Known(brokers=tuple(brokers))
    facts = [each for each in found if not isinstance(each, Skipped)]
    return [*join(facts), *(each for each in found if isinstance(each, Skipped))]


async def _fetch(
    servers: list[Address], source: str, timeout_s: float, progress: Callable[[str], None], before: Sequence[str]
) -> tuple[list[Fact | Skipped], Sequence[str]]:
    async with Client(answer_s(timeout_s), end_of(timeout_s)) as client:
        cluster = Cluster(client, servers, source, before)
        return await cluster.fetch(progress), cluster.brokers
