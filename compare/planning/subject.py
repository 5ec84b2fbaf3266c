"""What a plan is made of: steps and wrong orders, and the group as it is today; here from a scenario."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from compare.catalogues import CLASSIC, ROCKETMQ, SERVER
from compare.planning.by_load import Gain, GroupLoad, simulated_load
from compare.planning.expectations import Change
from compare.planning.promises import Promise
from compare.reading.client_libraries import hinted_library
from compare.running.run_variant import ending
from compare.running.systems import member_settings, system_of, with_own_settings
from compare.running.variants import Variant, variants_of
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.scenario.model import STATIC, Scenario, SystemPart, split_system
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
    Settings of Kafka have the names of Java's client, assignors are names with commas between them. ``changes``: what
    is new to the members' code; ``promises``: what a source can be asked when the step is done, and ``unseen``, what no
    source ever shows of it, but that its members have restarted (`promises.have_restarted`); ``reads_on``: its check
    asks whether queues are read (`load_routes.reads_on`). ``gain``: what it moves by load, where that is known.
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
    changes: Sequence[Change] = ()
    promises: Sequence[Promise] = ()
    unseen: str = ""
    reads_on: bool = False
    gain: Gain | None = None

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


JAVA = "java"
"""Key of the library that members are taken to use where nothing hints at one."""

STRATEGIES: Mapping[str, tuple[str, ...]] = {"kafka": (*CLASSIC, *SERVER), "rocketmq": ROCKETMQ}
"""System to the strategies that a plan can begin and end with."""

Fields = dict[str, object]
"""Fields of a scenario."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A group as it is today, in the fields of a scenario.

    ``members``: name to its fields; ``topics``: name to its number of queues, in RocketMQ per broker; ``settings``: the
    brokers' (the clients' are the members'); ``libraries``: Kafka's members to the key of their client library, where
    the client id hints at one or, if ``libraries_given``, the user names it; ``assumptions``: what no source shows, a
    sentence each; ``versions``: as in a scenario; ``by_load``: what its queues bring, where the target asks for it.
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
    libraries_given: bool = False
    assumptions: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    by_load: GroupLoad | None = None

    @property
    def names(self) -> list[str]:
        """The members' names, in order."""
        return list(self.members)

    @property
    def untold(self) -> list[str]:
        """Kafka's members of whose library nothing is known."""
        return [name for name in self.members if name not in self.libraries] if self.system == "kafka" else []

    @property
    def spoken(self) -> list[str]:
        """Keys of the libraries that the plan is for, sorted: Java's, too, where nothing is known of a member."""
        return sorted({*self.libraries.values(), *([JAVA] if self.untold or not self.members else [])})

    @property
    def has_static(self) -> bool:
        """Whether a member is static."""
        return any(fields.get("instance_id") for fields in self.members.values())

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
    name = named(group, list(scenario.groups), "the scenario")
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
    topics = {topic: counted(of_system, queues) for topic, queues in last.groups[name].topics.items() if queues}
    told = [f"The events of the scenario are not repeated: {name} is planned for as it is when they are over."]
    return Subject(
        of_system,
        name,
        plannable(of_system, strategy),
        members,
        topics,
        scenario.brokers,
        {name: value for name, value in part.settings.items() if name not in clients},
        fields.get("load", {}),
        scenario.run.latency,
        libraries=_of_clients(name, {member: str(each.get("client_id", "")) for member, each in members.items()}),
        assumptions=told if scenario.events else (),
        versions={name: version for name, version in scenario.versions.items() if name == of_system},
    )


def load_of_scenario(scenario: Scenario, subject: Subject, today: str | None, capacity: float | None) -> GroupLoad:
    """The load of the scenario's group when the scenario is over."""
    part, _ = _variant(scenario, subject.system, today)
    own = with_own_settings(scenario, part.system)
    return simulated_load(Variant(own, part, own.run.seed), subject.group, capacity)


def setting_of(fields: Mapping[str, object], name: str) -> object:
    """A member's own setting; None where it has none of this name."""
    return own_settings_of(fields).get(name)


def own_settings_of(fields: Mapping[str, object]) -> Mapping[str, object]:
    """A member's own settings, by name."""
    own = fields.get("settings", {})
    assert isinstance(own, Mapping)
    return own


def _with_settings(fields: Fields, more: Mapping[str, object]) -> Fields:
    """A member's fields with settings that it has where it says nothing else itself."""
    return {**fields, "settings": {**more, **own_settings_of(fields)}} if more else fields


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


def named(group: str | None, there: Sequence[str], where: str) -> str:
    """The group's name, or that of the only one; `UserError` names those that there are."""
    if group is None and len(there) == 1:
        return there[0]
    if group is None or group not in there:
        given = f"{where} has {len(there)} groups" if group is None else f"--group {group}: {where} has no such group"
        raise UserError(f"{given}, expected --group with one of {', '.join(there) or 'none'}")
    return group


def counted(system: str, queues: Sequence[Queue]) -> object:
    """How a scenario tells how many queues a topic has."""
    return len(queues) if system == "kafka" else dict(Counter(queue.broker for queue in queues))


def plannable(system: str, strategy: str) -> str:
    """The strategy, if a plan can begin with it; else `UserError`."""
    if strategy not in STRATEGIES.get(system, ()):
        expected = ", ".join(STRATEGIES.get(system, tuple(STRATEGIES)))
        raise UserError(f"{system}:{strategy} is today's strategy, expected one that a plan knows: {expected}")
    return strategy


def _of_clients(group: str, client_ids: Mapping[str, str]) -> dict[str, str]:
    """A scenario's members are Java's consumers, unless one says that its client id is another library's."""
    return {member: hinted_library(client_id, group, None) or JAVA for member, client_id in client_ids.items()}
