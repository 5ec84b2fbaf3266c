"""Minimal members of a group in one process: a connection each, on the codec of the project, as many as are asked for.

They do what a group needs of its members and nothing else: join, send heartbeats, own what they are told to, leave.
They neither fetch records nor commit, so what a broker is asked is the group's protocol alone.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from io import BytesIO
from struct import pack, unpack
from typing import Any, ClassVar
from uuid import UUID, uuid5

from kio.index import load_request_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from kafka_coordinator import assign, messages
from kafka_coordinator.wire import entities
from kafka_coordinator.wire.opaque import bytes_of
from protocols import Group

CONSUMER_HEARTBEAT, SHARE_HEARTBEAT, JOIN, HEARTBEAT, LEAVE, SYNC, FIND = 68, 76, 11, 12, 13, 14, 10
VERSIONS: Mapping[int, int] = {
    FIND: 4,
    CONSUMER_HEARTBEAT: 1,
    SHARE_HEARTBEAT: 1,
    JOIN: 9,
    HEARTBEAT: 4,
    LEAVE: 5,
    SYNC: 5,
}
_REBALANCE_MS, _SESSION_MS, _HEARTBEAT_S = 300_000, 45_000, 3.0
_RETRY_S, _RECONNECT_S, _MOST_S = 0.1, 0.05, 1.0
"""Pauses of a Java client: ``retry.backoff.ms``, ``reconnect.backoff.ms``, and the most of both, to which they double.
"""
_ELSEWHERE = (ErrorCode.not_coordinator, ErrorCode.coordinator_not_available)


@dataclass
class Tally:
    """What all members together have seen."""

    requests: Counter[int] = field(default_factory=Counter)
    """API key to how many were sent; of Kafka's members those that were answered."""
    bytes: Counter[int] = field(default_factory=Counter)
    """API key to the bytes of frames in both directions."""
    largest: int = 0
    """Bytes of the largest answer."""
    changed: float = 0.0
    """When a member owned something else the last time, in seconds of the monotonic clock."""
    joined: list[float] = field(default_factory=list)
    """When each member had its first answer of the group."""
    errors: Counter[str] = field(default_factory=Counter)
    moved: dict[str, float] = field(default_factory=dict)
    """Member that lost its coordinator to when the next one answered it the first time without an error."""

    def clear(self) -> None:
        """Begin to count anew."""
        self.requests.clear()
        self.errors.clear()
        self.bytes.clear()


@dataclass
class Member:
    """One member: `open` connects, `run` joins and lives until it is told to leave. ``partitions``: of the topic."""

    rest_s: ClassVar[float] = 15.0
    """How long rest is watched."""

    name: str
    group: str
    topic: str
    partitions: int
    tally: Tally
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    owned: tuple[object, ...] = ()

    async def open(self, address: str) -> None:
        """Connect to the server that is asked first."""
        raise NotImplementedError

    async def run(self) -> None:
        """Join, own what the group gives, and leave."""
        raise NotImplementedError

    def leave(self) -> None:
        """Tell it to leave."""
        self.leaving.set()

    def own(self, queues: tuple[object, ...]) -> None:
        """From now on it owns these."""
        if queues != self.owned:
            self.owned, self.tally.changed = queues, time.monotonic()

    async def rest(self, seconds: float) -> None:
        """Until so many seconds are over, or it is told to leave."""
        try:
            await asyncio.wait_for(self.leaving.wait(), seconds)
        except TimeoutError:
            return


_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connected(address: str) -> _Streams:
    host, port = address.rsplit(":", 1)
    return await asyncio.open_connection(host, int(port))


@dataclass
class KafkaMember(Member):
    """Of either protocol of Kafka's."""

    asks_in_polls: ClassVar[bool] = False
    """Whether each poll() of 100 ms begins its pauses between lookups anew, as the classic consumer's does (4.3)."""

    generations: int = 0
    """How many it has joined; of the classic protocol alone."""
    _correlation: int = 0

    _lost: bool = False

    async def open(self, address: str) -> None:
        """Connect to this broker, and to the group's coordinator once it has one."""
        self._first, self._any = address, await _connected(address)
        await self._connect(0)

    def close(self) -> None:
        """End both connections."""
        for _, writer in {self._any, self._coordinator}:
            writer.close()

    async def _connect(self, failures: int) -> None:
        """To the coordinator that the first broker names; ``failures``: how often that was in vain.

        A Java client, too, asks on and on, and connects in vain until the controller has fenced a broker that died
        (docs/spec/kafka.md, 1.6 and 4.7)."""
        refused, unknown, refused_at = failures, 0, time.monotonic()
        while True:
            answer = await self._exchange(self._any, FIND, key_type=0, coordinator_keys=(self.group,))
            (named,) = answer.coordinators
            wait_s = refused_at + min(_MOST_S, _RECONNECT_S * 2 ** (refused - 1)) - time.monotonic() if refused else 0
            if named.error_code or (self.asks_in_polls and wait_s > 0):
                await asyncio.sleep(_RETRY_S if self.asks_in_polls else min(_MOST_S, _RETRY_S * 2**unknown))
                unknown += 1
                continue
            address = f"{named.host}:{named.port}"
            await asyncio.sleep(max(0, wait_s))
            self.coordinator = address
            try:
                self._coordinator = self._any if address == self._first else await _connected(address)
            except OSError:
                refused, refused_at = refused + 1, time.monotonic()
            else:
                return

    async def ask(self, key: int, **values: Any) -> Any:
        """The coordinator's answer to a request of this API; the next one's, if it is not the coordinator any more."""
        while True:
            failures = 0
            try:
                answer = await self._exchange(self._coordinator, key, **values)
            except (OSError, asyncio.IncompleteReadError):
                self._lost, failures = True, 1
            else:
                error = getattr(answer, "error_code", ErrorCode.none)
                if error is ErrorCode.none and self._lost:
                    self.tally.moved.setdefault(self.name, time.monotonic())
                    self._lost = False
                if not self._lost or error not in _ELSEWHERE:
                    return answer
                await asyncio.sleep(_RETRY_S)
            await self._connect(failures)

    async def _exchange(self, connection: _Streams, key: int, **values: Any) -> Any:
        reader, writer = connection
        kind: Any = load_request_schema(key, VERSIONS[key])
        header = kind.__header_schema__
        self._correlation += 1
        frame = BytesIO()
        head = entities.make(
            header,
            request_api_key=key,
            request_api_version=VERSIONS[key],
            correlation_id=self._correlation,
            client_id=self.name,
        )
        entity_writer(header)(frame, head)
        entity_writer(kind)(frame, entities.make(kind, **values))
        writer.write(pack(">i", len(frame.getvalue())) + frame.getvalue())
        size = unpack(">i", await reader.readexactly(4))[0]
        content = await reader.readexactly(size)
        tally = self.tally
        tally.requests[key] += 1
        tally.bytes[key] += 8 + size + len(frame.getvalue())
        tally.largest = max(tally.largest, 4 + size)
        answer_kind: Any = entities.response(key, VERSIONS[key])
        _, at = entity_reader(answer_kind.__header_schema__)(content, 0)
        answer, _ = entity_reader(answer_kind)(content, at)
        if getattr(answer, "error_code", ErrorCode.none) is not ErrorCode.none:
            tally.errors[answer.error_code.name] += 1
        return answer


class ConsumerMember(KafkaMember):
    """Of the consumer protocol."""

    async def run(self) -> None:
        """Join, acknowledge each target at once, and leave."""
        member_id = str(uuid5(UUID(int=1), f"{self.name} {time.monotonic()}"))
        epoch, owned, told, topic_id = 0, None, None, UUID(int=0)
        full: dict[str, Any] = {
            "rebalance_timeout": timedelta(milliseconds=_REBALANCE_MS),
            "subscribed_topic_names": (self.topic,),
        }
        schema = load_request_schema(CONSUMER_HEARTBEAT, VERSIONS[CONSUMER_HEARTBEAT])
        of_topics = entities.part(schema, "topic_partitions")  # type: ignore[arg-type]
        while not self.leaving.is_set():
            said = None if owned == told and epoch else owned or ()
            topics = said and (entities.make(of_topics, topic_id=topic_id, partitions=said),)
            answer = await self.ask(
                CONSUMER_HEARTBEAT,
                group_id=self.group,
                member_id=member_id,
                member_epoch=epoch,
                **{"rebalance_timeout": timedelta(milliseconds=-1), **(full if not epoch else {})},
                topic_partitions=topics if said is not None else None,
            )
            if told is None and not epoch:
                self.tally.joined.append(time.monotonic())
            told = owned
            if answer.error_code is not ErrorCode.none:
                epoch = epoch if answer.error_code is not ErrorCode.fenced_member_epoch else 0
                await self.rest(1.0)
                continue
            epoch = answer.member_epoch
            if answer.assignment is not None:
                owned = tuple(each for topic in answer.assignment.topic_partitions for each in topic.partitions)
                topic_id = next((topic.topic_id for topic in answer.assignment.topic_partitions), topic_id)
                if owned != self.owned or told is None:
                    self.own(owned)
                    continue
            await self.rest(answer.heartbeat_interval.total_seconds())
        await self.ask(
            CONSUMER_HEARTBEAT, group_id=self.group, member_id=member_id, member_epoch=-1, topic_partitions=None
        )
        self.close()


class ShareMember(KafkaMember):
    """Of a share group. It fetches nothing, so that it has partitions and no records."""

    async def run(self) -> None:
        """Join, take the partitions that the group names, and leave."""
        beat = {"group_id": self.group, "member_id": str(uuid5(UUID(int=1), f"{self.name} {time.monotonic()}"))}
        epoch = 0
        while not self.leaving.is_set():
            topics = None if epoch else (self.topic,)
            answer = await self.ask(SHARE_HEARTBEAT, **beat, member_epoch=epoch, subscribed_topic_names=topics)
            if answer.error_code is not ErrorCode.none:
                await self.rest(1.0)
                continue
            if not epoch:
                self.tally.joined.append(time.monotonic())
            epoch = answer.member_epoch
            if answer.assignment is not None:
                self.own(tuple(each for topic in answer.assignment.topic_partitions for each in topic.partitions))
            await self.rest(answer.heartbeat_interval.total_seconds())
        await self.ask(SHARE_HEARTBEAT, **beat, member_epoch=-1, subscribed_topic_names=None)
        self.close()


class ClassicMember(KafkaMember):
    """Of the classic protocol, eager, with the assignor ``range``."""

    asks_in_polls: ClassVar[bool] = True

    async def run(self) -> None:
        """Join, take what the leader gives, join anew whenever the group rebalances, and leave."""
        member_id = ""
        while not self.leaving.is_set():
            member_id, generation = await self._join(member_id)
            while not self.leaving.is_set():
                await self.rest(_HEARTBEAT_S)
                if self.leaving.is_set():
                    break
                beat = {"group_id": self.group, "generation_id": generation, "member_id": member_id}
                if (await self.ask(HEARTBEAT, **beat)).error_code is not ErrorCode.none:
                    self.own(())
                    break
        identity = entities.part(load_request_schema(LEAVE, VERSIONS[LEAVE]), "members")  # type: ignore[arg-type]
        leaver = entities.make(identity, member_id=member_id, reason="the consumer is being closed")
        await self.ask(LEAVE, group_id=self.group, members=(leaver,))
        self.close()

    async def _join(self, member_id: str) -> tuple[str, int]:
        subscription = bytes_of(messages.ConsumerMetadata((self.topic,), (), -1, None))
        protocol = entities.part(load_request_schema(JOIN, VERSIONS[JOIN]), "protocols")  # type: ignore[arg-type]
        while True:
            joined = await self.ask(
                JOIN,
                group_id=self.group,
                session_timeout=timedelta(milliseconds=_SESSION_MS),
                rebalance_timeout=timedelta(milliseconds=_REBALANCE_MS),
                member_id=member_id,
                protocol_type="consumer",
                protocols=(entities.make(protocol, name="range", metadata=subscription),),
            )
            member_id = joined.member_id or member_id
            if joined.error_code is not ErrorCode.none:
                if joined.error_code is not ErrorCode.member_id_required:
                    await self.rest(1.0)
                continue
            is_leader = joined.leader == member_id
            shares = self._shares([each.member_id for each in joined.members]) if is_leader else ()
            if not self.generations:
                self.tally.joined.append(time.monotonic())
            self.generations += 1
            synced = await self.ask(
                SYNC,
                group_id=self.group,
                generation_id=joined.generation_id,
                member_id=member_id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=shares,
            )
            if synced.error_code is ErrorCode.none:
                self.own(_partitions(synced.assignment))
                return member_id, joined.generation_id
            if synced.error_code is not ErrorCode.rebalance_in_progress:
                await self.rest(1.0)

    def _shares(self, members: list[str]) -> tuple[Any, ...]:
        group = Group.of(topics={self.topic: self.partitions}, members={each: [self.topic] for each in members})
        schema = load_request_schema(SYNC, VERSIONS[SYNC])
        assignment = entities.part(schema, "assignments")  # type: ignore[arg-type]
        return tuple(
            entities.make(
                assignment,
                member_id=member,
                assignment=bytes_of(tuple((queue.topic, queue.number) for queue in queues)),
            )
            for member, queues in assign("range", group).items()
        )


def _partitions(assignment: bytes) -> tuple[int, ...]:
    """The partitions of an assignment of one topic (version 2 bytes, topics 4, name 2 and so many, partitions 4)."""
    if len(assignment) < 12:
        return ()
    at = 8 + unpack(">h", assignment[6:8])[0]
    (count,) = unpack(">i", assignment[at : at + 4])
    return unpack(f">{count}i", assignment[at + 4 : at + 4 + 4 * count])


@dataclass(frozen=True)
class Story:
    """What came of one event: seconds from it to the last change of what anybody owns (None: nothing changed), requests
    and bytes of frames in both directions by API key, the largest answer so far, seconds from the first to the last
    member's joining (of the start alone), the errors that members were told."""

    settle_s: float | None
    requests: Mapping[int, int]
    bytes: Mapping[int, int]
    largest: int
    spread_s: float
    errors: Mapping[str, int]


AWAY_S, QUIET_S, MOST_S = 5.0, 17.0, 120.0
"""How long deployed members are away; after so long without a change a group is at rest; the longest that a story may
take."""


class Run:
    """A group of so many members of a topic with two partitions for each of them, on a broker that runs."""

    def __init__(self, address: str, kind: type[Member], members: int, group: str, topic: str) -> None:
        self.address, self.tally = address, Tally()
        self._make = lambda number: kind(f"m{number:04d}", group, topic, 2 * members, self.tally)
        self.members: list[Member] = [self._make(number) for number in range(members)]
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Connect everybody, and let them all join at once."""
        await self._open(self.members)
        self.tally.clear()
        self._run(self.members)

    async def stories(self) -> dict[str, Story]:
        """Start, rest, a join, a deploy of one tenth."""
        await self.start()
        found = {"start": await self._story(time.monotonic())}
        began = time.monotonic()
        await asyncio.sleep(self.members[0].rest_s)
        found["rest"] = self._told(began)
        (joiner,) = await self._open([self._make(len(self.members))])
        began = time.monotonic()
        self._run([joiner])
        found["join"] = await self._story(began)
        began, deployed = time.monotonic(), self.members[::10]
        for member in deployed:
            member.leave()
        again = await self._open([self._make(number) for number in range(0, len(self.members), 10)])
        await asyncio.sleep(max(0.0, began + AWAY_S - time.monotonic()))
        self._run(again)
        found["deploy"] = await self._story(began)
        return found

    async def at_rest(self) -> None:
        """Until nobody has owned anything else for so long."""
        await self._story(time.monotonic())

    async def failover(self, kill: Callable[[], None]) -> Story:
        """The coordinator's death, which ``kill`` brings about: until each member is known to the next one. Who owns
        something else then is told by the tally, as it is for `QUIET_S` after that."""
        before = [each.owned for each in self.members]
        self.tally.clear()
        self.tally.moved.clear()
        kill()
        began = time.monotonic()
        while len(self.tally.moved) < len(self.members) and time.monotonic() - began < MOST_S:
            await asyncio.sleep(0.05)
        told = self._told(began)
        assert len(self.tally.moved) == len(self.members), (len(self.tally.moved), told)
        await asyncio.sleep(QUIET_S)
        assert [each.owned for each in self.members] == before
        return replace(told, settle_s=max(self.tally.moved.values()) - began)

    async def end(self) -> None:
        """Everybody stops."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _open(self, members: list[Member]) -> list[Member]:
        for first in range(0, len(members), 50):
            await asyncio.gather(*(each.open(self.address) for each in members[first : first + 50]))
        return members

    def _run(self, members: list[Member]) -> None:
        self._tasks += [asyncio.create_task(each.run()) for each in members]

    async def _story(self, began: float) -> Story:
        """From the event until the group has been at rest for so long."""
        while time.monotonic() - max(self.tally.changed, began) < QUIET_S and time.monotonic() - began < MOST_S:
            await asyncio.sleep(0.2)
        return self._told(began)

    def _told(self, began: float) -> Story:
        tally = self.tally
        changed = tally.changed - began if tally.changed > began else None
        spread = max(tally.joined) - min(tally.joined) if tally.joined else 0.0
        found = Story(changed, dict(tally.requests), dict(tally.bytes), tally.largest, spread, dict(tally.errors))
        tally.clear()
        tally.joined.clear()
        return found
