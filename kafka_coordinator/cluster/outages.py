"""What producers can write and consumers can read while a broker fails (spec 1.6).

With ``acks=all`` a record is acknowledged when every in-sync replica has it, and nobody reads what these do not all
have (the high watermark), nor while fewer are in sync than ``min.insync.replicas`` demands. So a broker that answers no
more holds up every partition that it replicates, until the controller takes it out of their in-sync sets, and by full
connections the other partitions of the leaders of these. Records wait in the producers meanwhile (`buffer.memory` is
not modelled), and come all at once afterwards; ``delivery.timeout.ms`` after they were sent they are given up. A
producer that may not retry (``retries`` 0) gives up what was under way to a leader that went.

Delays without a setting of their own are what real clusters took.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.cluster.controller import Controller
from kafka_coordinator.consumer.settings import Load, whole_number
from protocols.engine.nodes import Time
from protocols.engine.randomness import number_below
from protocols.errors import UserError
from protocols.scenario.rates import Replicas

Span = tuple[Time, Time]


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """A field's name is Kafka's own with ``_`` for ``.``."""

    acks: str = "all"
    request_timeout_ms: int = 30_000
    delivery_timeout_ms: int = 120_000
    retries: int = 2_147_483_647

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "ProducerSettings":
        """From Kafka's names (`PRODUCER`); raises `protocols.errors.UserError` for a value that cannot be."""
        usual = {name: getattr(cls(), field) for name, field in PRODUCER.items()}
        asked = {**usual, **given}
        request, delivery = (
            whole_number(name, asked[name], 1) for name in ("request.timeout.ms", "delivery.timeout.ms")
        )
        return cls(_acks(asked["acks"]), request, delivery, whole_number("retries", asked["retries"], 0))


PRODUCER: Final[Mapping[str, str]] = {field.name.replace("_", "."): field.name for field in fields(ProducerSettings)}
"""Kafka's name of a producer's setting to the field."""


def _acks(value: object) -> str:
    text = {"-1": "all"}.get(str(value), str(value))
    if text not in ("all", "0", "1"):
        raise UserError(f"acks is {value!r}, expected one of all, 1, 0")
    return text


IN_FLIGHT_MS: Final = 100.0
"""How long a producer sends to a leader that does not answer, until the connection is full of requests
(`max.in.flight.requests.per.connection` 5). Each of them fails once, which a single retry outlasts."""
APPLIED: Final[Span] = (150.0, 200.0)
"""From a change of in-sync sets until what waited for it is acknowledged: brokers apply the metadata."""
FOUND: Final[Span] = (300.0, 400.0)
"""From a new leader until producers that lost their connection to the old one write to it (`retry.backoff.ms` 100,
`reconnect.backoff.ms` 50 to 1,000)."""
READ: Final[Span] = (350.0, 850.0)
"""The same of consumers."""
THAWED: Final[Span] = (200.0, 2_200.0)
"""From the thaw of a leader that was replaced until clients have found the new one."""
TIMED_OUT: Final[Span] = (50.0, 500.0)
"""From the time-out of a request until it is answered by the new leader, of a producer."""
READ_AFTER_TIME_OUT: Final[Span] = (500.0, 2_200.0)
RETURNED: Final[Span] = (300.0, 1_000.0)
"""From the return of an only replica until clients have reconnected."""
STOPPED: Final[Span] = (300.0, 2_500.0)
"""From the moving of leaders by a controlled shutdown until clients have found them (NOT_LEADER_OR_FOLLOWER)."""
STOPPED_ELSEWHERE: Final[Span] = (150.0, 1_000.0)
"""How long partitions of other leaders wait then for the same metadata."""


NEVER: Final = inf


class Silence(NamedTuple):
    """A broker answers nobody. Closed connections are noticed at once; open ones, of a frozen broker, by a time-out or
    when it goes on."""

    broker: str
    since: Time
    thaws: Time = NEVER
    """When a frozen broker goes on."""
    times_out: tuple[Time, Time] = (inf, inf)
    """When requests of producers and of consumers time out."""


class Wait(NamedTuple):
    """A partition waits from ``since`` on. ``leader``: who led it then and is silent, None where that is not why.
    ``due``: when it goes on, where that is known. ``acknowledged``: whether records are acknowledged all the same, and
    only cannot be read. ``moved``: whether a controlled shutdown gave it another leader."""

    since: Time
    leader: Silence | None
    due: Time | None = None
    acknowledged: bool = False
    moved: bool = False

    @property
    def fails(self) -> bool:
        """Whether requests fail that are under way when it begins: broken off, timed out, NOT_LEADER_OR_FOLLOWER."""
        return self.leader is not None or self.moved


class Outages:
    """Which partitions are written and read now, and when they were not.

    ``seed``: of the run; ``min_in_sync``: the brokers' ``min.insync.replicas``, that of ``__consumer_offsets`` as well.
    """

    def __init__(self, controller: Controller, producer: ProducerSettings, seed: int, min_in_sync: int) -> None:
        self._controller, self._producer, self._seed = controller, producer, seed
        self._min_in_sync = min_in_sync
        self.of_topic: dict[str, int] = {}
        """Topic to its own ``min.insync.replicas``, which counts in place of the brokers' for that topic alone."""
        self.silent: dict[str, Silence] = {}
        """Brokers that answer nobody."""
        self._writing: dict[Partition, Wait] = {}
        """Partitions of which nothing new can be read."""
        self._reading: dict[Partition, Wait] = {}
        """Partitions that cannot be read at all."""
        self._held: dict[Partition, tuple[Span, ...]] = {}
        self._given_up: dict[Partition, tuple[Span, ...]] = {}

    # What is so now.

    @property
    def acknowledged(self) -> bool:
        """Whether a leader alone acknowledges records, which nobody reads before all in-sync replicas have them."""
        return self._producer.acks != "all"

    def at_most(self, wait: Wait, now: Time) -> Time:
        """How long a record has waited that its producer gives up now."""
        if wait.acknowledged:
            return inf
        fails = wait.fails and not self._producer.retries
        waited = max(0.0, now - wait.since - IN_FLIGHT_MS) if fails else inf
        return min(self._producer.delivery_timeout_ms, waited)

    @property
    def waiting(self) -> Mapping[Partition, Wait]:
        return self._writing

    def takes(self, partition: Partition) -> bool:
        """Whether records that are written to the partition now can be read at once."""
        return partition not in self._writing

    def offsets_waiting(self) -> frozenset[int]:
        """Partitions of ``__consumer_offsets`` of which nothing is acknowledged, because a replica is silent."""
        sets = enumerate(self._controller.offsets_in_sync())
        demanded = self._min_in_sync, self._controller.offsets_replicas
        return frozenset([at for at, in_sync in sets if self._stands_still(in_sync, *demanded)])

    @property
    def demands_more(self) -> bool:
        """Whether more than one replica must be in sync anywhere."""
        return max((self._min_in_sync, *self.of_topic.values())) > 1

    def on(self, load: Load) -> Load:
        if not (self._held or self._writing or self._reading):
            return load
        held = {partition: (*spans, *self._open(partition)) for partition, spans in self._all_held()}
        return load._replace(
            held=MappingProxyType(held),
            pauses=MappingProxyType(dict(self._given_up)),
            leaderless=frozenset(self._reading),
        )

    def _all_held(self) -> Iterator[tuple[Partition, tuple[Span, ...]]]:
        for partition in dict.fromkeys((*self._held, *self._writing)):
            yield partition, self._held.get(partition, ())

    def _open(self, partition: Partition) -> tuple[Span, ...]:
        wait = self._writing.get(partition)
        return () if wait is None else ((wait.since, inf),)

    def forget(self, topic: str) -> None:
        self.of_topic.pop(topic, None)
        for kept in (self._writing, self._reading, self._held, self._given_up):
            for partition in [each for each in kept if each[0] == topic]:
                del kept[partition]

    # What changes.

    def look(self, now: Time, returned: bool = False) -> tuple[bool, list[Time], list[Silence], list[Silence]]:
        """Brokers, leaders or in-sync sets may have changed: whether anything is written or read otherwise from now on,
        when to look again, and the former leaders in whose place producers, and consumers, have found others just now.
        ``returned``: whether a broker is back, which may have been an only replica."""
        blocked, unread = self._blocked()
        before, unread_before = dict(self._writing), dict(self._reading)
        changed = self._update(self._writing, blocked, now, returned, consumers=False)
        changed = self._update(self._reading, unread, now, returned, consumers=True) or changed
        over = [
            wait.leader
            for partition, wait in before.items()
            if not self._still_waits(wait, self._writing.get(partition))
        ]
        read = [wait.leader for partition, wait in unread_before.items() if partition not in self._reading]
        written = [leader for leader in over if leader is not None]
        return changed, self._next(now), written, [leader for leader in read if leader is not None]

    def _still_waits(self, before: Wait, wait: Wait | None) -> bool:
        """Whether producers wait that did so before."""
        return wait is not None and (before.acknowledged or not wait.acknowledged)

    def shut_down(self, now: Time, broker: str, moved: Collection[Partition]) -> list[Time]:
        """The controller has just moved away these partitions, which the broker led that shuts down: clients look for
        the new leaders. When to look again."""
        for partition in self._controller.partitions():
            if self._controller.leader(partition) and partition not in self._writing:
                own = self._delay(STOPPED, "own", broker, now)
                due = now + (own if partition in moved else self._delay(STOPPED_ELSEWHERE, "others", broker, now))
                its = partition in moved
                self._writing[partition] = Wait(now, None, due, self.acknowledged and not its, its)
                if partition in moved:
                    self._reading[partition] = Wait(now, None, due)
        return self._next(now)

    def _stands_still(self, in_sync: tuple[str, ...], min_in_sync: int, replicas: Replicas) -> bool:
        """Since 3.7.0 no more are demanded in sync than there are replicas."""
        demanded = min(min_in_sync, replicas.factor)
        return len(in_sync) < demanded or any(each in self.silent for each in in_sync)

    def _blocked(self) -> tuple[dict[Partition, Silence | None], dict[Partition, Silence | None]]:
        """Partitions that cannot be written so that it can be read, and those that cannot be read, each with its
        leader, if that is silent."""
        writing: dict[Partition, Silence | None] = {}
        reading: dict[Partition, Silence | None] = {}
        full: dict[str, None] = {}
        for partition in self._controller.partitions():
            leader, in_sync = self._controller.leader(partition), self._controller.in_sync(partition)
            if not leader or leader in self.silent:
                writing[partition] = reading[partition] = self.silent.get(leader)
            elif self._stands_still(
                in_sync, self.of_topic.get(partition[0], self._min_in_sync), self._controller.replicas
            ):
                writing[partition] = None
                if any(each in self.silent for each in in_sync):
                    full[partition[0]] = None
        # A producer's connection to a leader is full of batches that wait: none of other partitions passes. Kafka
        # spreads followers so that of a topic with two replicas or more each leader has such partitions.
        for partition in self._controller.partitions() if full and not self.acknowledged else ():
            if partition[0] in full:
                writing.setdefault(partition, None)
        return writing, reading

    def _update(
        self,
        waits: dict[Partition, Wait],
        blocked: Mapping[Partition, Silence | None],
        now: Time,
        returned: bool,
        *,
        consumers: bool,
    ) -> bool:
        changed = False
        for partition, leader in blocked.items():
            wait = waits.get(partition)
            lone = self.acknowledged and bool(self._controller.leader(partition)) and leader is None
            if wait is None:
                changed = True
                waits[partition] = Wait(now, leader, None, lone)
            elif lone and not wait.acknowledged:
                # Producers find a leader that acknowledges alone: what it has cannot be read yet.
                due = (
                    self._goes_on(partition, wait, now, returned, consumers=consumers) if wait.due is None else wait.due
                )
                found = due <= now
                changed = changed or found
                waits[partition] = Wait(wait.since, None, None, True) if found else wait._replace(due=due)
            else:
                waits[partition] = wait._replace(due=None, leader=wait.leader or leader)
        for partition, wait in list(waits.items()):
            if partition in blocked:
                continue
            if wait.due is None:
                due = self._goes_on(partition, wait, now, returned, consumers=consumers)
                waits[partition] = wait = wait._replace(due=due)
            if wait.due is not None and wait.due <= now:
                changed = True
                del waits[partition]
                if not consumers:
                    self._close(partition, wait, now)
        return changed

    def _close(self, partition: Partition, wait: Wait, now: Time) -> None:
        since, late = wait.since, now - self.at_most(wait, now)
        if late > since:
            self._given_up[partition] = (*self._given_up.get(partition, ()), (since, late))
        self._held[partition] = (*self._held.get(partition, ()), (max(since, late), now))

    def _goes_on(self, partition: Partition, wait: Wait, now: Time, returned: bool, *, consumers: bool) -> Time:
        """When clients have noticed that the partition can be written (or read) again."""
        who = "consumers" if consumers else "producers"
        leader = wait.leader
        if leader is None or (leader.thaws <= now and self._controller.leader(partition) == leader.broker):
            return now + self._delay(APPLIED, "applied", now)
        if returned:
            return now + self._delay(RETURNED, who, leader.broker, now)
        if leader.thaws == NEVER:
            return now + self._delay(READ if consumers else FOUND, who, leader.broker, leader.since)
        times_out = leader.times_out[consumers]
        if leader.thaws <= times_out:
            return max(now, leader.thaws + self._delay(THAWED, who, leader.broker, leader.since))
        span = READ_AFTER_TIME_OUT if consumers else TIMED_OUT
        return max(now, times_out + self._delay(span, who, leader.broker, leader.since))

    def _delay(self, span: Span, *what: object) -> Time:
        low, high = span
        return low + float(number_below(int(high - low) + 1, self._seed, "outage", *what))

    def _next(self, now: Time) -> list[Time]:
        due = {wait.due for waits in (self._writing, self._reading) for wait in waits.values()}
        return sorted(each for each in due if each is not None and each > now)
