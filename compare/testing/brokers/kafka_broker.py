"""Kafka brokers beside a test: for real clients, and for what no container can do to them.

Members of served groups are found by what a test calls them, requests by which member they belong to.
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event as Flag
from typing import Final, NamedTuple

from compare.serving.kafka import KafkaService
from compare.testing.brokers.background import Background
from compare.testing.brokers.real_group import RealGroup
from kafka_coordinator.cluster import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    NOT_COORDINATOR,
    REFUSE,
    UNKNOWN_MEMBER_ID,
    Core,
    FindCoordinator,
    ListGroups,
    RebalanceGroup,
    refusal,
)
from kafka_coordinator.wire import APIS, Hidden, NewRecord, Request, ServedCluster, batch, code, error_answer
from protocols.engine.interference import Hold, Reply
from protocols.engine.nodes import Message, Time
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.events import AddTopic, Queues
from protocols.scenario.fields import TopicPart

_REFUSED: Final[Sequence[type[Message]]] = (*REFUSE, FindCoordinator, ListGroups)
_APIS: Final[Mapping[str, type[Message]]] = {
    **{api.name: api.request for api in APIS.values() if api.request is not None},
    **{kind.__name__: kind for kind in _REFUSED},
    **{f"{kind.__name__}s": kind for kind in _REFUSED if kind.__name__ in ("DescribeGroup", "DeleteGroup")},
}
"""Kafka's name of an API to the type of its requests."""


class Found(NamedTuple):
    """A member of a group, and the broker that coordinates it."""

    broker: str
    group: str
    member_id: str
    instance_id: str | None
    is_classic: bool

    def fenced_by(self) -> str:
        """The error that tells it that it is fenced."""
        if not self.is_classic:
            return FENCED_MEMBER_EPOCH
        return UNKNOWN_MEMBER_ID if self.instance_id is None else FENCED_INSTANCE_ID


def find(cluster: ServedCluster, member: str, group: str | None) -> Found:
    """The member with this name, member id or instance id. `UserError` where there is none, or more than one."""
    there: list[tuple[str, Found]] = []
    for broker in cluster.brokers:
        if cluster.world.is_running(broker):
            there += _members(broker, cluster.states[broker].broker.coordinator.core)
    of_group = [each for each in there if group in (None, each[1].group)]
    found = [each for name, each in of_group if member in (name, each.member_id, each.instance_id)]
    if len(found) == 1:
        return found[0]
    if found:
        groups = ", ".join(each.group for each in found)
        raise UserError(f"{len(found)} members are called {member!r}, in {groups}: say which group")
    names = ", ".join(name for name, _ in of_group) or "nobody: no member has joined"
    raise UserError(f"no member {member!r}, expected one of {names}")


def _members(broker: str, core: Core) -> list[tuple[str, Found]]:
    classic = [
        (str(member.client_id), Found(broker, group.id, member.id, member.instance_id, True))
        for group in core.groups.values()
        for member in group.members.values()
    ]
    share = [
        (str(member.client_id), Found(broker, group.id, member.id, None, False))
        for group in core.share_groups.values()
        for member in group.members.values()
    ]
    return [*classic, *share] + [
        (
            str(member.profile.client_id),
            Found(broker, group.id, member.id, member.profile.instance_id, member.profile.classic is not None),
        )
        for group in core.consumer_groups.values()
        for member in group.members.values()
    ]


def belongs(message: Message, member: Found) -> bool:
    """Whether a request is the member's own, and can be refused."""
    if type(message) not in _REFUSED or getattr(message, "group", None) != member.group:
        return False
    return getattr(message, "member_id", None) == member.member_id


def named_in(cluster: ServedCluster, message: Message, sender: str, client: str) -> bool:
    """Whether the client with this ``client.id``, or the member of this name, has sent the request."""
    client_id = getattr(message, "client_id", None)
    if client_id is not None:
        return client in (str(client_id), getattr(client_id, "client_id", None))
    member_id, group = getattr(message, "member_id", None), getattr(message, "group", None)
    if member_id and group:
        name = cluster.names.known(group, member_id)
        return name is not None and client in (str(name), name.client_id, member_id)
    return False


def api_of(api: str) -> type[Message]:
    """The type of an API's requests; `UserError` where it is none that can be refused or held."""
    if api not in _APIS:
        raise UserError(f"no API {api!r}, expected one of {', '.join(sorted(_APIS))}")
    return _APIS[api]


def check_error(error: str) -> None:
    """`UserError` for a name that is no error of Kafka's."""
    try:
        code(error)
    except KeyError:
        raise UserError(f"no error {error!r}, expected a name of Kafka's such as {NOT_COORDINATOR}") from None


INITIAL_DELAY_MS = 0
"""A new group's first rebalance does not wait for more members, so that tests are quick; Kafka's default is 3 s."""


class KafkaBroker:
    """A cluster of one broker or several, from here to `close`; clients begin at ``bootstrap``.

    ``topics``: name to number of partitions; others are created when clients ask for them. ``settings``: the
    coordinator's, under Kafka's own names. ``kafka_version``: 4.1 to 4.4; left out, the newest.
    Methods may be called from any thread.
    """

    def __init__(
        self,
        topics: Mapping[str, int] = {},
        *,
        brokers: int = 1,
        settings: Mapping[str, object] = {},
        port: int = 0,
        kafka_version: str | None = None,
    ) -> None:
        given = {"group.initial.rebalance.delay.ms": INITIAL_DELAY_MS, **settings}
        names = [f"broker-{number}" for number in range(1, brokers + 1)]
        there = {topic: {names[0]: count} for topic, count in topics.items()}
        self._background = Background("kafka", names, there, given, port, kafka_version)
        self._groups: dict[str, RealGroup] = {}

    @property
    def bootstrap(self) -> str:
        """``bootstrap.servers`` of the clients under test."""
        return self._cluster.bootstrap

    def close(self) -> None:
        """End the brokers. Raises `AssertionError` where one of them failed: that is a fault of this package."""
        self._background.close("a broker")

    # Topics and records.

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        """Create a topic."""
        self._background.apply(AddTopic(at=0.0, add_topic={topic: TopicPart(queues={self._first: partitions})}))

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Let the topic have so many partitions from now on."""
        self._background.apply(Queues(at=0.0, queues={topic: {self._first: partitions}}))

    def produce(
        self,
        topic: str,
        value: bytes | str | None,
        key: bytes | str | None = None,
        *,
        partition: int = 0,
        headers: Sequence[tuple[str, bytes | None]] = (),
        count: int = 1,
    ) -> None:
        """Write a record, or ``count`` equal ones, to a partition. `UserError` where it does not exist."""
        now = int(time.time() * 1000)
        record = NewRecord(_bytes(value), _bytes(key), headers, now)
        self._background.call(self._service.append, topic, partition, batch([record] * count))

    def end_offset(self, topic: str, partition: int = 0) -> int:
        """The offset of the next record of a partition."""
        return self._background.call(self._service.end, topic, partition)

    # Groups.

    def group(self, name: str) -> RealGroup:
        """The consumer group of this name; its members come by themselves."""
        if name not in self._groups:
            self._groups[name] = RealGroup(self._background, name, self._end_before, self._asked_limit)
        return self._groups[name]

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """(Topic, partition) to the offset that the group has committed."""

        def read() -> dict[tuple[str, int], int]:
            for name in self._cluster.brokers:
                if self._background.served.world.is_running(name):
                    core = self._cluster.states[name].broker.coordinator.core
                    known = core.groups.get(group) or core.consumer_groups.get(group)
                    if known is not None:
                        return {partition: offset.offset for partition, offset in sorted(known.offsets.items())}
            return {}

        return self._background.call(read)

    def rebalance(self, group: str) -> None:
        """Let the group rebalance now, without anything having changed."""

        def begin() -> None:
            for name in self._cluster.brokers:
                if self._background.served.world.is_running(name):
                    self._background.served.world.command(name, RebalanceGroup(group))

        self._background.call(begin)

    def expire(self, member: str, group: str | None = None) -> None:
        """The member's session ends now, without waiting for it. ``member``: its name (`RealGroup.members`), member id
        or instance id; ``group`` where several groups have one of that name."""
        self._background.call(lambda: self._expire(self._find(member, group)))

    def fence(self, member: str, group: str | None = None) -> None:
        """The member is fenced: it is out of the group, and its next request about the group is answered so
        (FENCED_INSTANCE_ID for a static member, FENCED_MEMBER_EPOCH in the consumer protocol, else
        UNKNOWN_MEMBER_ID)."""

        def fence() -> None:
            found = self._find(member, group)
            error = found.fenced_by()
            self._background.interference.reply(
                lambda name, sender, message: belongs(message, found), lambda name, message: refusal(message, error), 1
            )
            self._expire(found)

        self._background.call(fence)

    def configure_group(self, group: str, settings: Mapping[str, object]) -> None:
        """These are all the settings that a group has itself, under Kafka's names, as `kafka-configs --entity-type
        groups` gives them: ``{"share.auto.offset.reset": "earliest"}``. `UserError` for one that no group has."""
        self._background.call(self._service.operations.configure_group, group, settings)

    def hidden(self, group: str) -> list[Hidden]:
        """Records that members of a share group have acquired and nobody else gets now, by topic, partition and
        offset: whose they are, how often they were delivered, until when (`Hidden`)."""
        return self._background.call(self._service.operations.hidden, group)

    def expire_locks(self, group: str) -> None:
        """The locks of all records that members of a share group have acquired end now: others get them."""
        self._background.call(self._service.operations.expire_locks, group)

    def disconnect(self, client: str) -> None:
        """Cut all connections of the clients with this ``client.id``, which go on and connect again."""
        self._background.call(self._service.operations.disconnect, client)

    def move_coordinator(self, group: str) -> None:
        """Another broker coordinates the group from now on. `UserError` where there is only one."""
        if len(self._cluster.brokers) < 2:
            raise UserError(f"move_coordinator({group!r}): there is one broker, expected KafkaBroker(brokers=2)")
        self._background.call(self._service.operations.move_coordinator, group)

    def stop(self, broker: str = "broker-1") -> None:
        """Stop a broker properly."""
        self._background.broker(broker, "stop")

    def start(self, broker: str = "broker-1") -> None:
        """Start a broker that was stopped, at its port."""
        self._background.broker(broker, "return")

    # Interference.

    def fail(
        self, api: str, error: str, *, times: int = 1, group: str | None = None, client: str | None = None
    ) -> Reply:
        """Answer the next so many requests of this API with this error, without letting the broker see them:
        ``fail("OffsetCommit", "REBALANCE_IN_PROGRESS")``. The error stands where the API's answers have it: at each
        partition, topic or group that was asked for, or for the whole request. Returns the rule, whose ``left`` counts
        down."""
        matches, interference = self._matches(api, group, client), self._background.interference
        check_error(error)

        def answer(broker: str, request: Message) -> Message | None:
            if isinstance(request, Request):
                return error_answer(
                    self._cluster.states[broker], self._background.served.world.now, request, code(error)
                )
            return refusal(request, error)

        return self._background.call(interference.reply, matches, answer, times)

    @contextmanager
    def hold(
        self,
        api: str,
        *,
        until: Flag | float | None = None,
        group: str | None = None,
        client: str | None = None,
    ) -> Generator[Hold, None, None]:
        """Keep requests of this API from the broker: to the end of the ``with`` block, or until a `threading.Event` is
        set or so many seconds have passed. ``kept`` of what it gives lists them."""
        with self._background.hold(self._matches(api, group, client), until) as rule:
            yield rule

    # In the servers' thread.

    @property
    def _service(self) -> KafkaService:
        service = self._background.served.service
        assert isinstance(service, KafkaService)
        return service

    @property
    def _cluster(self) -> ServedCluster:
        return self._service.cluster

    @property
    def _first(self) -> str:
        return self._cluster.brokers[0]

    def _find(self, member: str, group: str | None) -> Found:
        return find(self._cluster, member, group)

    def _asked_limit(self, group: str, member: str) -> Time | None:
        return self._background.call(self._rebalance_timeout, group, member)

    def _rebalance_timeout(self, group: str, member: str) -> Time | None:
        """Of a member of the classic protocol: Kafka's clients name their ``max.poll.interval.ms``."""
        try:
            found = self._find(member, group)
        except UserError:
            return None
        known = self._cluster.states[found.broker].broker.coordinator.core.groups.get(group)
        return None if known is None or not found.is_classic else known.members[found.member_id].rebalance_timeout_ms

    def _expire(self, found: Found) -> None:
        self._service.operations.expire(found.group, found.member_id)

    def _matches(self, api: str, group: str | None, client: str | None) -> Callable[[str, str, Message], bool]:
        kind = api_of(api)
        if group is not None and issubclass(kind, Request):
            raise UserError(f"{api} is not about a group, expected no group={group!r}")

        def matches(name: str, sender: str, message: Message) -> bool:
            if type(message) is not kind:
                return False
            if group is not None and getattr(message, "group", None) != group:
                return False
            return client is None or named_in(self._cluster, message, sender, client)

        return matches

    def _end_before(self, queue: Queue, at: Time) -> int:
        storage = self._cluster.storage
        newest = storage.unix_ms(at)
        batches = storage.log(queue.topic, queue.number).batches()
        return next((batch.last_offset + 1 for batch in reversed(batches) if batch.max_timestamp <= newest), 0)


def _bytes(given: bytes | str | None) -> bytes | None:
    return given.encode() if isinstance(given, str) else given
