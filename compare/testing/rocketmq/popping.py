"""POP for the members of a test's group: the proxy and the brokers behind doubles of the 5.x client.

Records are those of the group's topics: what the load produces and what producers of the test write. A record that was
given out and not acked is pending; one that was tried too often goes to the dead letters. What stands in a message
beside its body are properties, which a record here keeps in its headers.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from compare.testing.contents import Content
from compare.testing.handling import HandlingGroup
from protocols.engine.nodes import Time
from protocols.engine.randomness import digest, number_below
from protocols.facts import Committed, Delivered, Position
from protocols.java import Queue
from protocols.scenario.topology import MemberKey
from rocketmq_selfbalance.cluster import (
    MOST_AT_ONCE,
    RETRY_MAX_TIMES,
    CheckPoint,
    Handle,
    Key,
    OrderedQueues,
    PopRecord,
    PopTopic,
    RocketMQCluster,
    in_turn,
)

ALL = "*"
Place = tuple[Queue, int]
"""Queue and offset that a record had at first."""

KEYS: Final = "KEYS"
TAGS: Final = "TAGS"
MESSAGE_ID: Final = "UNIQ_KEY"
SHARDING_KEY: Final = "__SHARDINGKEY"
OF_THE_SYSTEM: Final = frozenset((KEYS, TAGS, MESSAGE_ID, SHARDING_KEY))
"""Names that are not the user's own."""


def content_of(body: bytes, properties: Mapping[str, str]) -> Content:
    """A record as a producer sends it."""
    key = properties.get(KEYS)
    headers = [(name, value.encode()) for name, value in properties.items()]
    return Content(body, None if key is None else key.encode(), headers)


def properties_of(content: Content) -> dict[str, str]:
    """The properties of a record; its key stands among them as `KEYS`, also where no producer of a test wrote it."""
    properties = {name: value.decode(errors="replace") for name, value in content.headers or []}
    if content.key is not None:
        properties.setdefault(KEYS, content.key.decode(errors="replace"))
    return properties


def message_id(content: Content, queue: Queue, offset: int) -> str:
    """The id that the producer gave, else one made from where the record stands."""
    given = properties_of(content).get(MESSAGE_ID)
    return given or new_id(*queue, offset)


def new_id(*parts: object) -> str:
    """34 hexadecimal digits, as clients of the 5.x line make ids."""
    return "01" + digest("message id", *parts, size=16).hex().upper()


class Taken(NamedTuple):
    """A record as it was given out: ``times`` it came back before, and what an ack must name."""

    queue: Queue
    offset: int
    times: int
    handle: Handle
    content: Content
    written_at: Time
    taken_at: Time


class Popping:
    """What the members of one group have taken by POP (`compare.testing.group.Group.popping`)."""

    def __init__(self, group: HandlingGroup) -> None:
        self._group = group
        self.fifo = False
        """Whether the group consumes in order (``consumeMessageOrderly``)."""
        self.retry_max_times = RETRY_MAX_TIMES
        self.dead_letters: list[Place] = []
        """The records that were tried too often, in the order in which they were given up."""
        self._topics: dict[tuple[str, str], PopTopic] = {}
        self._ordered = OrderedQueues()
        self._pops: dict[str, int] = {}
        self._places: dict[str, tuple[str, Place]] = {}
        """Message id to who got it last, and its place."""
        self._known: set[Queue] = set()
        self.handles: dict[str, Taken] = {}
        """Receipt handle to what it stands for: whoever names it may ack."""
        self.reserved: set[str] = set()
        """Names of members that have not started yet."""

    def join(self, member: str, topics: list[str]) -> None:
        self.cluster.members.popping.add(MemberKey(self._group.name, member))
        self._group.happen(join=member, subscribe=topics)

    def take(
        self, member: str, topic: str, broker: str, most: int, invisible: Time, expression: str = ALL
    ) -> list[Taken] | None:
        """What a request of the member gets now from this broker; records with other tags are passed over. None where
        there was nothing, so that the request may wait; a list without any where all went to the dead letters."""
        numbers = [queue.number for queue in self.queues(topic) if queue.broker == broker]
        if not numbers or self.cluster.broker(broker) is None:
            return None
        self._pops[member] = count = self._pops.get(member, 0) + 1
        random = number_below(100, self._group.plan.seed, "pop", member, count)
        most, take = min(most, MOST_AT_ONCE), self._take_in_order if self.fifo else self._take
        popped = [each for each in take(topic, broker, numbers, most, invisible, random) if self._has(each, expression)]
        found = [each for each in popped if not self._is_given_up(each)]
        for taken in found:
            self._places[message_id(taken.content, taken.queue, taken.offset)] = member, (taken.queue, taken.offset)
        return found if popped else None

    def _take(
        self, topic: str, broker: str, numbers: list[int], most: int, invisible: Time, random: int
    ) -> list[Taken]:
        popped = self._topics.setdefault((topic, broker), PopTopic(self.cluster.configuration.broker.version))
        popped.revive(self._now)
        ends = {number: self._end(Queue(topic, broker, number)) for number in numbers}
        found = popped.pop(self._now, ends, numbers, most, invisible, random)
        self._began(topic, broker, popped.committed)
        return [self._taken(Queue(topic, broker, taken.record.number), taken) for taken in found]

    def _take_in_order(
        self, topic: str, broker: str, numbers: list[int], most: int, invisible: Time, random: int
    ) -> list[Taken]:
        popped = self._topics.setdefault((topic, broker), PopTopic(self.cluster.configuration.broker.version))
        messages: list[Taken] = []
        for number in in_turn(numbers, random, popped.release):
            key = self._key(topic, broker, number)
            first = popped.committed.setdefault(number, 0)
            last = min(self._end(Queue(topic, broker, number)), first + most - len(messages))
            if last <= first or self._ordered.is_blocked(self._now, key, None, invisible):
                continue
            tries = self._ordered.give_out(self._now, key, range(first, last), invisible)
            records = tuple(PopRecord(number, offset, tries.get(offset, 0)) for offset in range(first, last))
            batch = CheckPoint(self._now, invisible, False, number, records)
            queue = Queue(topic, broker, number)
            messages += [self._taken(queue, Handle(batch, position)) for position in range(len(records))]
        self._began(topic, broker, popped.committed)
        return messages

    def _key(self, topic: str, broker: str, number: int) -> Key:
        return topic, f"{self._group.name}@{broker}", number

    def _taken(self, queue: Queue, handle: Handle) -> Taken:
        record = handle.record
        content = self._group.records.content(queue, record.offset)
        stored = self.cluster.servers.disks[queue.broker].store.queue(queue.topic, queue.number)
        written = None if stored is None else stored.written_at(record.offset)
        at = content.timestamp if content.timestamp is not None else written
        return Taken(queue, record.offset, record.times, handle, content, at or 0.0, self._now)

    def _has(self, taken: Taken, expression: str) -> bool:
        """Whether it has one of the tags. One that has none of them is acked, and stays pending: nobody wants it."""
        self._group.handling.pending.add((taken.queue, taken.offset))
        tag = properties_of(taken.content).get(TAGS, "")
        if expression == ALL or tag in [part.strip() for part in expression.split("||")]:
            return True
        self._done(taken.queue, taken.handle)
        return False

    def _is_given_up(self, taken: Taken) -> bool:
        if taken.times <= self.retry_max_times:
            return False
        self.give_up(taken)
        return True

    def _began(self, topic: str, broker: str, committed: Mapping[int, int]) -> None:
        """Tell where reading began and how far it has come."""
        for number, offset in committed.items():
            queue = Queue(topic, broker, number)
            if queue not in self._known:
                self._known.add(queue)
                self._tell(broker, Position(self._group.name, "", queue, 0, "first"))
            self._tell(broker, Committed(self._group.name, queue, offset, None, None, ""))

    # What becomes of it.

    def ack(self, taken: Taken) -> None:
        self._group.handling.pending.discard((taken.queue, taken.offset))
        self._done(taken.queue, taken.handle)

    def _done(self, queue: Queue, handle: Handle) -> None:
        popped = self._topics[queue.topic, queue.broker]
        if not self.fifo:
            popped.ack(handle)
            return
        key = self._key(queue.topic, queue.broker, queue.number)
        committed = self._ordered.ack(key, handle.record.offset, handle.check_point.pop_time)
        popped.committed[queue.number] = max(popped.committed[queue.number], committed)

    def change(self, taken: Taken, invisible: Time) -> Taken:
        """The record is visible again so much later from now on; another handle is valid."""
        if not self.fifo:
            popped = self._topics[taken.queue.topic, taken.queue.broker]
            return taken._replace(handle=popped.change(self._now, taken.handle, invisible))
        pop_time = taken.handle.check_point.pop_time
        visible_at = self._now + invisible
        self._ordered.change(self._key(*taken.queue), taken.offset, pop_time, visible_at)
        batch = CheckPoint(pop_time, visible_at - pop_time, False, taken.queue.number, taken.handle.check_point.records)
        return taken._replace(handle=Handle(batch, taken.handle.position))

    def give_up(self, taken: Taken) -> None:
        self.dead_letters.append((taken.queue, taken.offset))
        self.ack(taken)

    def delivered(self, member: str, taken: Taken) -> None:
        """The member's code has it."""
        self._tell(
            self.cluster.topology.node[MemberKey(self._group.name, member)],
            Delivered(self._group.name, member, taken.queue, taken.offset, taken.offset + 1, taken.taken_at),
        )

    def handle_of(self, taken: Taken) -> str:
        """A receipt handle that stands for it."""
        made, invisible = taken.handle.check_point.pop_time, taken.handle.check_point.invisible
        handle = (
            f"{made:.0f} {invisible:.0f} {taken.queue.broker} {taken.queue.number} {taken.offset} {len(self.handles)}"
        )
        self.handles[handle] = taken
        return handle

    def watched(self, message: object) -> tuple[str, Place] | None:
        """Who got the message last, and where it stands; None for a message of another client."""
        id = getattr(message, "message_id", None)
        return self._places.get(id) if isinstance(id, str) else None

    # What there is.

    def queues(self, topic: str) -> tuple[Queue, ...]:
        """The topic's queues, as a route lists them."""
        return tuple(self._group.topics.get(topic, ()))

    def has_new(self, topic: str, broker: str) -> bool:
        """Whether a request that waits is answered: by a record that was written, never by one that has come back."""
        found = [
            queue for queue in self.queues(topic) if queue.broker == broker and self._end(queue) > self._next(queue)
        ]
        return any(not self._is_blocked(queue) for queue in found)

    def _is_blocked(self, queue: Queue) -> bool:
        return self.fifo and self._ordered.is_blocked(self._now, self._key(*queue), None, 0.0)

    def next_arrival(self, topic: str, broker: str) -> Time | None:
        """When the next record will be written that is known of."""
        times: list[Time] = []
        for queue in self.queues(topic):
            stored = self.cluster.servers.disks[queue.broker].store.queue(queue.topic, queue.number)
            if queue.broker == broker and stored is not None and self.cluster.broker(broker) is not None:
                at = stored.next_arrival(max(self._next(queue), self._end(queue)))
                times += [] if at is None else [at]
        return min(times, default=None)

    def _next(self, queue: Queue) -> int:
        popped = self._topics.get((queue.topic, queue.broker))
        if popped is None:
            return 0
        if self.fifo and (batch := self._ordered.batches.get(self._key(*queue))) is not None:
            return max(batch.offsets[-1] + 1, popped.committed.get(queue.number, 0))
        return popped.committed.get(queue.number, 0)

    def _end(self, queue: Queue) -> int:
        return self._group.records.end_offset(queue)

    def _tell(self, node: str, fact: tuple[object, ...]) -> None:
        simulation = self._group.world.simulation
        simulation.observer.fact(simulation.now, node, fact, simulation.root, simulation.handling)

    @property
    def _now(self) -> Time:
        return self._group.clock.time

    @property
    def cluster(self) -> RocketMQCluster:
        cluster = self._group.world.cluster
        assert isinstance(cluster, RocketMQCluster)
        return cluster
