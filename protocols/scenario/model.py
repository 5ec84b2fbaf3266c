"""A scenario as data, the same for both systems. `protocols.scenario.reading` makes it from YAML, Python makes it from
plain values; both are checked by the same model. All durations are milliseconds here, written ``5s``, ``300ms``,
``2min`` (a bare number is refused: it has no unit).

What there is stands in `protocols.scenario.fields`, what may happen in `protocols.scenario.events`. Which strategies a
scenario may name, and which of them run it where it names none, whoever reads it hands in (`Systems`): nothing here
knows any system.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from protocols.scenario import fields
from protocols.scenario.events.base import AnyEvent
from protocols.scenario.keys import keys_text
from protocols.strategies import ScenarioContext, StrategyRecord
from protocols.versions import short

Keys: TypeAlias = Annotated[str, BeforeValidator(keys_text)]
"""How often the keys of a topic come, as `protocols.scenario.keys` reads it."""


class LoadPart(fields.Part):
    """What is produced: records per second and queue, evenly, from 0s on."""

    produce: fields.Rate = 0.0
    """Records per second and queue; or how much of the group's capacity all queues without a rate of their own take
    together (``80%``): of the records per second that the members of the beginning can handle, by ``handle`` and
    ``threads``. Once read, it is the rate that this is."""
    rates: dict[str, fields.Rate] = Field(default_factory=dict)
    """Other rates, per queue: of a topic's queues, or of one queue (``topic-number`` or ``topic-broker-number``), which
    goes before its topic. ``30%`` is what the topic's queues take together, or the queue. What is named may come later,
    by an event (but for percentages)."""
    producer: fields.Settings = Field(default_factory=dict)
    """Settings of the producers, under the systems' own names: Kafka's `acks`, `request.timeout.ms`,
    `delivery.timeout.ms`, `retries`; RocketMQ's `sendMsgTimeout`, `retryTimesWhenSendFailed`, `sendLatencyFaultEnable`.
    A system passes over those that only others have."""
    selector: Literal["key"] | None = None
    """``key``: a record goes to the queue that its key selects (key % queues), as ordered records do: RocketMQ's
    producers then try no other queue. Left out, they take the queues in turn. For Kafka both are the same."""
    keys: dict[str, Keys] = Field(default_factory=dict)
    """Topic to how often its keys come: ``zipf 1.2 of 500`` (the n-th of 500 keys comes 1 / n to the power of 1.2 times
    as often as the first), ``zipf 1.2`` of 1000 keys, ``500`` that all come as often. A key's records go to one queue,
    chosen as each system's producers do it (RocketMQ's by a selector, whatever ``selector`` says), so that the topic's
    queues get unlike parts of what they get together without keys. Not named: records have no key. ``keys: zipf 1.2``
    is short for all topics of the beginning, and ``keys`` may also stand beside ``load``."""

    @property
    def writes(self) -> bool:
        return self.produce > 0 or any(rate > 0 for rate in self.rates.values())


class RunPart(fields.Part):
    """How long, with which seed and latency."""

    for_: fields.Duration = Field(alias="for")
    """Virtual time from the beginning to the end."""
    seed: Annotated[int, Field(strict=True)] = 0
    """Seed of all random choices: equal seeds give equal runs."""
    latency: fields.LatencyRange = (1.0, 5.0)
    """How long every message travels: evenly spread between least and most."""


class ScalePart(fields.Part):
    """An autoscaler of a group, which starts and ends members by the group's lag as KEDA and Kubernetes do:
    `protocols.scenario.scaling` has its rules. It may stand among the events, too: ``{at: 60s, scale: {...}}``."""

    group: str = ""
    """The group; may be left out where there is one."""
    lag: fields.Number
    """Records that one member is for (KEDA's ``lagThreshold``): the lag over this is how many are wanted."""
    between: fields.CountRange
    """The fewest and the most members (``minReplicaCount``, ``maxReplicaCount``)."""
    every: fields.Duration = 15_000.0
    """How often it looks (Kubernetes' sync period)."""
    at: fields.Duration = 0.0
    """From when on."""
    starts_in: fields.Duration = 10_000.0
    """How long a new member takes until it joins."""
    stabilization: fields.Duration = 300_000.0
    """Fewer only if fewer were wanted for so long (``stabilizationWindowSeconds``)."""
    tolerance: fields.Share = 0.1
    """Nothing changes while the lag differs by less from what is wanted of the members."""
    allow_idle: bool = False
    """Whether there may be more members than queues (``allowIdleConsumers``)."""


class SystemPart(fields.Part):
    """A variant: a system with its strategy and settings. ``system`` is ``kafka:range`` and the like."""

    system: str
    """System and strategy: ``kafka:range``; ``kafka:range+static`` where every member is to be static: one without
    an ``instance_id`` has its name as such."""
    label: str = ""
    """Unique; the system's name where it is left out."""
    settings: fields.Settings = Field(default_factory=dict)
    """Settings of clients and brokers, under the system's own names."""


class ExpectPart(fields.Part):
    """What must hold, else the command exits with 1."""

    settles_within: fields.Duration | None = None
    """At most this long from the last event to the last change of ownership."""
    max_over_mean: fields.Share | None = None
    """At the end the fullest member has at most this many times the mean."""
    idle_members: fields.Count | None = None
    """At the end at most so many members own nothing."""
    longest_gap: fields.Duration | None = None
    """No queue is without an owner for longer, after its first one."""
    double_owned_queue_s: fields.Share | None = None
    """At most so many queue-seconds with two owners."""
    redelivered: fields.Count | None = None
    """At most so many records are delivered more than once."""
    longest_stall: fields.Duration | None = None
    """In no queue do records wait for longer while nobody handles any."""
    skipped: fields.Count | None = None
    """At most so many records are never handled, because the group goes on behind them."""
    waiting: fields.Count | None = None
    """At the end at most so many records wait, those of the last second left out."""
    in_order: Annotated[bool, Field(strict=True)] | None = None
    """``true``: every record is handled in the order of its key, or of its queue where records have no keys."""


class Scenario(fields.Part):
    """A cluster, the events, and the systems to run."""

    name: str
    """A few words."""
    about: str = ""
    """What the scenario shows."""
    brokers: tuple[str, ...] = ("broker-a",)
    """Names of the brokers."""
    topics: dict[str, fields.TopicPart]
    """By name. ``t1..t9`` stands for nine equal topics, a number for a topic with so many queues."""
    groups: dict[str, fields.GroupPart]
    """By name; ``group`` with a ``name`` inside is short for one. A member runs from 0s on, unless its first
    event is a join (once read, such a member is only in the event)."""
    controllers: tuple[str, ...] = ()
    """Kafka's controllers, the first of them active at first: names of brokers (combined nodes) or of servers of their
    own. Left out: a controller beside the brokers that never fails."""
    replication: dict[str, Annotated[int, Field(strict=True, ge=1)] | bool] = Field(default_factory=dict)
    """System to the number of replicas of each queue. ``kafka: 2``: a partition is on its broker and the next one in
    order; left out, on every broker. ``rocketmq: 2``: each broker is a master with one slave; left out, without any.
    ``rocketmq_controller: true``: RocketMQ's controller makes a slave the master when that fails."""
    versions: dict[str, Annotated[str, BeforeValidator(short)]] = Field(default_factory=dict)
    """System to the version whose rules hold, as in ``kafka: 4.4`` (4.1 to 4.4) or ``rocketmq: 5.5`` (5.3 to 5.5; 4.5
    is the one of older articles). Left out: the newest. 4.1, 4.4, 5.3, 5.4 and 5.5 were compared with released
    brokers, 4.2 and 4.3 are composed of rules whose first version is known."""
    load: LoadPart = LoadPart()
    """What is produced."""
    threads: fields.Number | Literal["real"] = 1
    """How many threads of a member handle records at once in every variant of a comparison, where the member's own
    ``threads`` or a setting does not say it. ``real``: each client's own, which is one loop in Kafka and 20 threads in
    RocketMQ's push consumer. What plays real clients (plans, tests, served brokers) always has the clients' own."""
    run: RunPart
    """Length of the run and seed of its random choices."""
    systems: tuple[SystemPart, ...] = ()
    """The variants, each as its fields or just as the system's name. Left out: the
    strategies that the systems run by default, as far as the scenario gives them what they need."""
    scale: tuple[ScalePart, ...] = ()
    """Autoscalers of groups: one, or a list of them."""
    events: tuple[AnyEvent, ...] = ()
    """The events, in the order of time; at equal times in the order written."""
    expect: ExpectPart | None = None
    """What must hold in every variant."""

    @property
    def slaves(self) -> tuple[str, ...]:
        """The names of RocketMQ's slaves: ``broker-a.s``, ``broker-a.s2``, ..."""
        numbers = range(1, self.replication.get(WITH_SLAVES, 1))
        return tuple(f"{broker}.s{number if number > 1 else ''}" for broker in self.brokers for number in numbers)

    @property
    def servers(self) -> tuple[str, ...]:
        """Every server that an event ``broker`` may name."""
        return tuple(dict.fromkeys((*self.brokers, *self.controllers, *self.slaves)))


WITH_SLAVES = "rocketmq"
"""The system whose replicas are servers of their own, and no further brokers."""

CONTROLLER = "_controller"
"""Behind a system's name under ``replication``: whether a controller makes slaves masters."""

STATIC = "+static"
"""Behind the name of a system and strategy: every member is static (KIP-345)."""


@dataclass(frozen=True, slots=True)
class SystemStrategies:
    """What a scenario may name of one system. ``static_members``: whether `STATIC` may stand behind a strategy;
    ``of_members``: settings of a member, which a group may have for all of its own."""

    records: tuple[StrategyRecord[Any], ...]
    static_members: bool = False
    versions: tuple[str, ...] = ()
    """Versions that a scenario may name."""
    of_members: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(record.name for record in self.records)

    def has(self, strategy: str) -> bool:
        """Whether the text behind the system's name is one of its strategies, maybe with `STATIC`."""
        return strategy in self.names or (self.static_members and strategy.removesuffix(STATIC) in self.names)


Systems: TypeAlias = Mapping[str, SystemStrategies]
"""System to its strategies."""


def split_system(name: str) -> tuple[str, str]:
    """System and strategy of ``system:strategy``; the strategy is empty where there is none."""
    system, _, strategy = name.partition(":")
    return system, strategy


def example_of(systems: Systems) -> str:
    names = (f"{system}:{name}" for system, strategies in systems.items() for name in strategies.names)
    return next(names, "system:strategy")


def default_systems(
    systems: Systems, brokers: Iterable[str], members: Sequence[fields.MemberPart]
) -> tuple[SystemPart, ...]:
    """The variants of a scenario that names none: each strategy that needs nothing or is given what it needs."""
    racks = {member.rack for member in members}
    context = ScenarioContext(
        tuple(brokers),
        () if None in racks else tuple(sorted(rack for rack in racks if rack)),
        frozenset(name for member in members for name in member.settings),
        frozenset(member.strategy for member in members if member.strategy is not None),
    )
    made = []
    for system, strategies in systems.items():
        for record in strategies.records:
            settings = record.by_default(context)
            if settings is not None:
                name = f"{system}:{record.name}"
                made.append(SystemPart(system=name, label=name, settings=dict(settings)))
    return tuple(made)
