"""What a plan is made of: steps and wrong orders, the group as it is today (from a scenario, or from what the tools
show of a real one), and what `--to` asks for.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compare.catalogues import CLASSIC, OF_BOTH, ROCKETMQ, SERVER
from compare.reading.group_kinds import is_javas, kind_of, library_of
from compare.reading.group_model import ASSUMPTIONS, model_of
from compare.reading.observed import ObservedGroup
from compare.running.run_variant import ending
from compare.running.systems import member_settings, system_of, with_own_settings
from compare.running.variants import variants_of
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.scenario.model import STATIC, Scenario, SystemPart, split_system
from protocols.scenario.validation import suggestion
from protocols.scenario.writing import as_fields

Settings = Mapping[str, object]
"""Name of a setting, as the system calls it, to its value; None: the setting is removed."""

Waves = Sequence[Sequence[str]]
"""Members by wave: those of one wave stop and start together, the next wave follows when the group is stable again."""


def one_by_one(members: Sequence[str]) -> Waves:
    """A rolling restart: every member is a wave of its own."""
    return [[member] for member in members]


def in_each(members: Iterable[str], change: Settings) -> Mapping[str, Settings]:
    """The same change in all of them."""
    return dict.fromkeys(members, change)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan.

    ``text``: what is done; ``settings``: member to what changes in it; ``restart``: the members that stop and start, by
    wave; ``start``: members that start for the first time, all at once; ``queues``: topic to its new number of queues;
    ``commands``: what is typed, with placeholders in capitals. ``check``: what must be true before the next step;
    ``back``: how to undo the step. ``watch``: how long the simulation goes on after the last restart (milliseconds).
    """

    text: str
    check: str
    back: str
    settings: Mapping[str, Settings] = field(default_factory=dict)
    restart: Waves = ()
    start: Sequence[str] = ()
    queues: Mapping[str, int] = field(default_factory=dict)
    commands: Sequence[str] = ()
    watch: Time = 60_000.0

    @property
    def happens(self) -> bool:
        """Whether the group notices anything of it."""
        return bool(self.restart or self.start or self.queues)


@dataclass(frozen=True, slots=True)
class WrongOrder:
    """An order in which the change goes wrong: ``text`` says which, the steps are what is simulated. ``broker``:
    settings that the brokers have instead of the group's."""

    text: str
    steps: Sequence[Step]
    broker: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Route:
    """The steps in order, and the orders that go wrong. ``notes``: what else one must know, a sentence each."""

    steps: Sequence[Step]
    wrong: Sequence[WrongOrder] = ()
    notes: Sequence[str] = ()


RESET, LATEST = "auto.offset.reset", "latest"
"""Kafka's setting that says where a group begins to read a partition without a committed offset, and its default."""

ASSUMED_RATE = "10/s"
"""Records per second and queue where no source shows a rate."""

STRATEGIES: Mapping[str, tuple[str, ...]] = {"kafka": (*CLASSIC, *SERVER), "rocketmq": ROCKETMQ}
"""System to the strategies that a plan can begin and end with."""

_PLANNED = ("plain", "consumer-protocol", "orderly")
"""Kinds of groups whose members choose how queues are shared by a setting of their own."""


Fields = dict[str, object]
"""Fields of a scenario."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A group as it is today, in the fields of a scenario.

    ``members``: name to its fields; ``topics``: name to its number of queues, in RocketMQ per broker; ``settings``: the
    brokers' (the clients' are the members'); ``libraries``: member to its client library, where that is recognised (it
    is another one than Java's); ``untold``: members whose library is not known, Java's or another; ``assumptions``:
    what no source shows, a sentence each.
    """

    system: str
    group: str
    strategy: str
    members: Mapping[str, Mapping[str, object]]
    topics: Mapping[str, object]
    brokers: Sequence[str] = ("broker-a",)
    settings: Mapping[str, object] = field(default_factory=dict)
    load: Mapping[str, object] = field(default_factory=dict)
    latency: object = "1ms..5ms"
    libraries: Mapping[str, str] = field(default_factory=dict)
    untold: Sequence[str] = ()
    assumptions: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """The members' names, in order."""
        return list(self.members)

    @property
    def consumer_protocol(self) -> bool:
        """Whether the brokers share the queues (KIP-848)."""
        return self.strategy in SERVER

    def queue_count(self, topic: str) -> int:
        """How many queues a topic has."""
        queues = self.topics[topic]
        return sum(queues.values()) if isinstance(queues, Mapping) else int(str(queues))


def of_scenario(scenario: Scenario, group: str | None, system: str, today: str | None) -> Subject:
    """The group as it is when the scenario is over; its events are not repeated.

    ``system``: that of the target; empty: the scenario's only one. ``today``: its strategy, where the scenario names
    several. Raises `UserError` where it is not clear which group or strategy is meant.
    """
    part, strategy = _variant(scenario, system, today)
    name = _named(group, list(scenario.groups), "the scenario")
    own = with_own_settings(scenario, part.system)
    last = ending(own, system_of(part.system).numbering)
    fields = as_fields(own)
    members = {key.member: as_fields(member) for key, member in last.members.items() if key.group == name}
    if not members:
        raise UserError(f"group {name} has no member when the scenario is over, expected at least one")
    if strategy.endswith(STATIC):
        strategy = strategy.removesuffix(STATIC)
        members = {member: {"instance_id": member, **each} for member, each in members.items()}
    of_system = split_system(part.system)[0]
    clients = {name: value for name, value in part.settings.items() if name in member_settings(part.system)}
    members = {member: _with_settings(each, clients) for member, each in members.items()}
    topics = {topic: _counted(of_system, queues) for topic, queues in last.groups[name].topics.items() if queues}
    told = [f"The events of the scenario are not repeated: {name} is planned for as it is when they are over."]
    return Subject(
        of_system,
        name,
        _plannable(of_system, strategy),
        members,
        topics,
        scenario.brokers,
        {name: value for name, value in part.settings.items() if name not in clients},
        fields.get("load", {}),
        scenario.run.latency,
        libraries=_libraries({member: str(each.get("client_id", "")) for member, each in members.items()}),
        assumptions=told if scenario.events else (),
    )


def setting_of(fields: Mapping[str, object], name: str) -> object:
    """A member's own setting; None where it has none of this name."""
    own = fields.get("settings", {})
    assert isinstance(own, Mapping)
    return own.get(name)


def _with_settings(fields: Fields, more: Mapping[str, object]) -> Fields:
    """A member's fields with settings that it has where it says nothing else itself."""
    own = fields.get("settings", {})
    assert isinstance(own, Mapping)
    return {**fields, "settings": {**more, **own}} if more else fields


def _variant(scenario: Scenario, system: str, today: str | None) -> tuple[SystemPart, str]:
    """The variant that the group is today, and its strategy."""
    parts = [variant.part for variant in variants_of(scenario)]
    planned = [
        part
        for part in parts
        if split_system(part.system)[0] == system or (not system and split_system(part.system)[0] in STRATEGIES)
    ]
    if today is not None:
        named = [each for each in planned if today in (each.label, each.system, split_system(each.system)[1])]
        systems = {split_system(each.system)[0] for each in named}
        if named and len(systems) == 1:
            return named[0], split_system(named[0].system)[1]
        of = system or next((name for name, known in STRATEGIES.items() if today in known), "")
        if today in STRATEGIES.get(of, ()):
            return SystemPart(system=f"{of}:{today}"), today
    elif len(planned) == 1:
        return planned[0], split_system(planned[0].system)[1]
    there = list(dict.fromkeys(each.system for each in planned)) or [*STRATEGIES.get(system, ())]
    given = "the scenario does not say which one the group uses today" if today is None else f"--from {today}"
    raise UserError(f"{given}, expected --from with one of {', '.join(there)}")


def _named(group: str | None, there: Sequence[str], where: str) -> str:
    if group is None and len(there) == 1:
        return there[0]
    if group is None or group not in there:
        given = f"{where} has {len(there)} groups" if group is None else f"--group {group}: {where} has no such group"
        raise UserError(f"{given}, expected --group with one of {', '.join(there) or 'none'}")
    return group


def _counted(system: str, queues: Sequence[Queue]) -> object:
    return len(queues) if system == "kafka" else dict(Counter(queue.broker for queue in queues))


def _plannable(system: str, strategy: str) -> str:
    if strategy not in STRATEGIES.get(system, ()):
        expected = ", ".join(STRATEGIES.get(system, tuple(STRATEGIES)))
        raise UserError(f"{system}:{strategy} is today's strategy, expected one that a plan knows: {expected}")
    return strategy


def of_observed(groups: Sequence[ObservedGroup], group: str | None, today: str | None) -> Subject:
    """A group that the tools show. Raises `UserError` where they do not show what a plan needs."""
    observed = next(
        observed_group
        for observed_group in groups
        if observed_group.name == _named(group, [g.name for g in groups], "the source")
    )
    kind = kind_of(observed)
    modelled = model_of(observed)
    if kind not in _PLANNED:
        raise UserError(
            f"group {observed.name} is of the kind {kind}, expected plain consumers whose settings say how they share"
        )
    if modelled is None:
        raise UserError(f"group {observed.name}: the sources do not show its members and what each owns, expected both")
    strategy = today or modelled.strategy
    if strategy is None:
        raise UserError(f"group {observed.name}: no source shows its strategy, expected --from with its name")
    of = modelled.group
    # No tool shows where members begin to read; what a plan takes for granted must not lose records.
    settings = {"settings": {RESET: LATEST}} if observed.system == "kafka" else {}
    members = {
        member.id: {"subscribe": list(member.subscription), **settings}
        | ({"instance_id": member.instance_id} if member.instance_id else {})
        for member in of.members
    }
    brokers = tuple(dict.fromkeys(queue.broker for queues in of.topics.values() for queue in queues if queue.broker))
    said = ASSUMPTIONS[modelled.basis]
    subject = Subject(
        observed.system,
        observed.name,
        _plannable(observed.system, strategy),
        members,
        {topic: _counted(observed.system, queues) for topic, queues in of.topics.items()},
        brokers or ("broker-a",),
        {},
        {"produce": ASSUMED_RATE},
        libraries=_libraries({member.id: member.client_id or "" for member in observed.members or ()}),
        untold=[] if observed.system != "kafka" else _untold(observed),
        assumptions=(
            *(() if said is None else (said,)),
            f"No source shows settings and load: clients and brokers have their defaults, and {ASSUMED_RATE} per queue"
            " are written and handled at once.",
        ),
    )
    return _with_rates(subject, observed)


def _libraries(client_ids: Mapping[str, str]) -> dict[str, str]:
    return {member: library for member, client_id in client_ids.items() if (library := library_of(client_id))}


def _untold(observed: ObservedGroup) -> list[str]:
    """Members with a client id that somebody chose."""
    return [
        member.id
        for member in observed.members or ()
        if not library_of(client_id := member.client_id or "")
        and not is_javas(client_id, observed.name, member.instance_id)
    ]


def _with_rates(subject: Subject, observed: ObservedGroup) -> Subject:
    """With the rates that the tools show (RocketMQ's), where they show all."""
    topics = dict.fromkeys(subject.topics, 0.0)
    for queue, rate in observed.rates.items():
        if queue.topic in topics:
            topics[queue.topic] += rate
    if not topics or not all(topics.values()):
        return subject
    rates = {topic: round(total / subject.queue_count(topic), 3) for topic, total in topics.items()}
    said = "The rates are those that the tools show; clients and brokers have their default settings."
    return replace(subject, load={"rates": rates}, assumptions=(*subject.assumptions[:-1], said))


STATIC_MEMBERS = "static"
MOST_MEMBERS, MOST_QUEUES = 10_000, 100_000

_MEMBERS = re.compile(r"members=([0-9]{1,9})", re.ASCII)
_QUEUES = re.compile(r"queues:(.+)=([0-9]{1,9})", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """``text`` as given. One of the others says what is asked for: ``strategy`` (with its ``system``), ``members``
    (their number), ``topic`` and ``queues`` (its number of queues), or none of them: static members."""

    text: str
    strategy: str = ""
    members: int = 0
    topic: str = ""
    queues: int = 0

    @property
    def system(self) -> str:
        """The system of the strategy; empty where any will do."""
        if self.strategy:
            return next(system for system, names in STRATEGIES.items() if self.strategy in names)
        return "kafka" if self.text == STATIC_MEMBERS else ""


def parse(text: str) -> Target:
    """From the option's text; `UserError` says what was expected."""
    if text == STATIC_MEMBERS:
        return Target(text)
    name = text.removeprefix("kafka:").removeprefix("rocketmq:")
    if any(name in known for known in STRATEGIES.values()):
        return Target(text, strategy=name)
    if any(name == record.name for record in OF_BOTH):
        raise UserError(f"--to {text}: {name} needs settings of each member that a plan cannot know, expected another")
    matched = _MEMBERS.fullmatch(text)
    if matched and 1 <= int(matched[1]) <= MOST_MEMBERS:
        return Target(text, members=int(matched[1]))
    matched = _QUEUES.fullmatch(text)
    if matched and 1 <= int(matched[2]) <= MOST_QUEUES:
        return Target(text, topic=matched[1], queues=int(matched[2]))
    names = [name for known in STRATEGIES.values() for name in known]
    expected = suggestion(text, [*names, STATIC_MEMBERS, "members=N", "queues:TOPIC=N"])
    raise UserError(f"--to {text}: {expected}")
