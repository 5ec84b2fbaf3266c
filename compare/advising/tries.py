"""What is tried: one setting of a given variant changed, another strategy, static members; then two changes at once.

A setting is tried only where it can matter for what the scenario shows: `Shown` says what that is, and each rule in
`_KAFKA` and `_ROCKETMQ` what it needs. A try is applied to all members, whatever settings they had of that name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest
from typing import Final

from compare.running.run_variant import can_run
from compare.running.systems import SYSTEMS
from compare.running.variants import Variant, pool_of, variants_of
from kafka_coordinator.catalogue import CLASSIC, CONSUMER, SHARE, of_protocol
from protocols.scenario.events import Crash, Hang, Join, Lose, MemberChange, Network, Restart, Slow, StopPolling
from protocols.scenario.fields import MemberPart, Settings, listed
from protocols.scenario.model import STATIC, Scenario, SystemPart, split_system

THREADS: Final = "threads"
"""The scenario's field, which is tried like a setting."""

Changes = Mapping[str, object]
"""Settings, under the systems' own names, and `THREADS`, to what is tried."""


@dataclass(frozen=True, slots=True)
class Try:
    """A variant as given (no ``settings``), or with changes. ``base``: the label of the given one, or the system and
    strategy where these are tried; ``others``: by how much it differs from a given one (strategy, static members)."""

    base: str
    settings: Changes
    variant: Variant
    others: int = 0

    @property
    def system(self) -> str:
        return self.variant.part.system

    @property
    def changed(self) -> int:
        """How many changes make it of a given variant."""
        return len(self.settings) + self.others

    @property
    def name(self) -> str:
        return with_settings(self.base, self.settings)


def with_settings(base: str, settings: Changes) -> str:
    """ "kafka:range with max.poll.records 50 and threads 4"."""
    told = [f"{name} {str(value).lower() if isinstance(value, bool) else value}" for name, value in settings.items()]
    return f"{base} with {listed(told)}" if told else base


@dataclass(frozen=True, slots=True)
class Shown:
    """What a scenario shows, as far as a setting can matter for it."""

    writes: bool
    handles: bool
    """Handling records takes time."""
    returns: bool
    """Somebody ends and starts again."""
    silent: bool
    """Somebody ends or stands still without saying so, or cannot be heard."""
    late: bool
    """Somebody's code stands still or is slow."""
    changes: bool
    """Anything happens after the beginning."""
    static: bool = False
    """The members of the variant at hand are static ones."""

    @property
    def returns_to_its_place(self) -> bool:
        """Whether a session decides how long the place of a member that left is kept."""
        return self.returns and self.static

    @classmethod
    def of(cls, scenario: Scenario) -> "Shown":
        events = [event for event in scenario.events if event.at > 0]
        ended: set[tuple[str | None, str]] = set()
        returns = False
        for event in events:
            named = {(event.group, name) for name in event.members()}
            if event.member_change is MemberChange.ENDS:
                ended |= named
            starts = event.member_change in (MemberChange.JOINS, MemberChange.RESTARTS)
            returns |= starts and (isinstance(event, Restart) or bool(named & ended))
        killed = any(isinstance(event, Restart) and event.how == "crash" for event in events)
        return cls(
            scenario.load.writes or any(event.writes_records for event in events),
            any(part.handle > 0 for part in _parts(scenario)) or any(isinstance(event, Slow) for event in events),
            returns,
            killed or any(isinstance(event, Crash | Lose | Hang | Network) for event in events),
            any(isinstance(event, Slow | StopPolling) for event in events),
            bool(events or scenario.scale),
        )


_Values = Callable[[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class _Rule:
    """``matters``: whether it can; ``usual``: the system's default; ``values``: what is tried where it is so now.
    ``with_it``: what a broker must allow besides."""

    name: str
    matters: Callable[[Shown], bool]
    usual: int
    values: _Values
    with_it: str = ""


_CLASSIC_RULES: Final = (
    _Rule("max.poll.records", lambda shown: shown.handles and shown.writes, 500, lambda now: (now // 10, now // 50)),
    _Rule("max.poll.interval.ms", lambda shown: shown.late, 300_000, lambda now: (now // 5, now * 3)),
    _Rule("auto.commit.interval.ms", lambda shown: shown.writes and shown.silent, 5_000, lambda now: (now // 5,)),
)
_KAFKA: Final[Mapping[str, Sequence[_Rule]]] = {
    CLASSIC: (
        *_CLASSIC_RULES,
        _Rule(
            "session.timeout.ms",
            lambda shown: shown.silent or shown.returns_to_its_place,
            45_000,
            # Brokers take none below group.min.session.timeout.ms, 6 s.
            lambda now: (max(6_000, now * 2 // 9), now * 2),
        ),
    ),
    CONSUMER: (
        *_CLASSIC_RULES,
        _Rule(
            "group.consumer.session.timeout.ms",
            lambda shown: shown.silent or shown.returns_to_its_place,
            45_000,
            lambda now: (max(6_000, now * 2 // 9),),
            "group.consumer.min.session.timeout.ms",
        ),
        _Rule(
            "group.consumer.heartbeat.interval.ms",
            lambda shown: shown.changes,
            5_000,
            lambda now: (max(1_000, now // 5),),
            "group.consumer.min.heartbeat.interval.ms",
        ),
    ),
}
_ROCKETMQ: Final = (
    _Rule("orderly", lambda shown: shown.writes, 0, lambda now: () if now else (1,)),
    _Rule("persistConsumerOffsetInterval", lambda shown: shown.writes, 5_000, lambda now: (now // 5,)),
    _Rule("rocketmq.client.rebalance.waitInterval", lambda shown: shown.changes, 20_000, lambda now: (now // 4,)),
)
_STRATEGIES: Final[Mapping[str, Sequence[str]]] = {
    "kafka": ("kafka:cooperative-sticky", "kafka:uniform"),
    "rocketmq": ("rocketmq:AVG", "rocketmq:AVG_BY_CIRCLE", "rocketmq:CONSISTENT_HASH"),
}
"""System to the strategies that are tried where the scenario names none of them."""

NOT_TRIED: Final = (
    "Not tried: other numbers of members, partitions or brokers, settings of brokers but sessions and heartbeats of the"
    " consumer protocol, share groups and POP where records are expected in order, and more than two changes at once."
)


def strategies(scenario: Scenario, given: Sequence[Variant]) -> list[Try]:
    """Strategies beside the given ones, of the same systems; none where members have their own."""
    if any(part.strategy is not None for part in _parts(scenario)):
        return []
    there = {variant.part.system for variant in given}
    names = [
        name
        for system in dict.fromkeys(split_system(variant.part.system)[0] for variant in given)
        for name in (*_STRATEGIES.get(system, ()), *_unordered(scenario, system))
        if name not in there
    ]
    return [each for name in names for each in _made(scenario, SystemPart(system=name, label=name), name, {}, 1)]


def _unordered(scenario: Scenario, system: str) -> Iterator[str]:
    """What gives records out one by one, where nobody expects them in order."""
    if scenario.expect is None or not scenario.expect.in_order:
        yield from (f"{system}:{record.name}" for record in SYSTEMS[system].without_owners)


def single_changes(scenario: Scenario, base: Try) -> list[Try]:
    """The base with one change each, as far as it can matter."""
    part = base.variant.part
    system, strategy = split_system(part.system)
    is_static = strategy.endswith(STATIC) or all(part.instance_id is not None for part in _parts(scenario))
    shown = replace(Shown.of(scenario), static=is_static)
    found: list[Try] = []
    if system == "kafka" and shown.returns and not is_static:
        name = f"{part.system}{STATIC}"
        base_name = name if base.base == part.system else f"{base.base}, static members"
        found += _made(scenario, part.model_copy(update={"system": name}), base_name, base.settings, base.others + 1)
    matter = [(rule, _now(scenario, part, rule)) for rule in _rules(part) if rule.matters(shown)]
    # The first value of every setting comes before the second of any: there may be too few tries for all.
    for values in zip_longest(*(dict.fromkeys(rule.values(now)) for rule, now in matter)):
        for (rule, now), value in zip(matter, values, strict=True):
            if value is not None and value > 0 and value != now:
                found += _changed(scenario, base, _setting(rule, value))
    if shown.handles and shown.writes and scenario.threads != "real" and _threads_are_free(scenario, part):
        found += _changed(scenario, base, {THREADS: scenario.threads * 4})
    return found


def double_changes(scenario: Scenario, singles: Sequence[Try]) -> list[Try]:
    """Two of the changes of one base at once."""
    found: list[Try] = []
    for one, other in combinations(singles, 2):
        if one.base == other.base and one.settings and other.settings and not one.settings.keys() & other.settings:
            found += _changed(scenario, one, other.settings)
    return found


def _rules(part: SystemPart) -> Sequence[_Rule]:
    system, strategy = split_system(part.system)
    if system == "rocketmq":
        return _ROCKETMQ
    if system != "kafka" or strategy == SHARE:
        return ()
    of_consumer = {record.name for record in of_protocol(CONSUMER)}
    return _KAFKA[CONSUMER if strategy.removesuffix(STATIC) in of_consumer else CLASSIC]


def _setting(rule: _Rule, value: int) -> Changes:
    if rule.name == "orderly":
        return {"orderly": True}
    return {rule.name: value, **({rule.with_it: value} if rule.with_it else {})}


def _now(scenario: Scenario, part: SystemPart, rule: _Rule) -> int:
    """The value that members have now: their own where all have the same, else the variant's or the system's."""
    own = {repr(each.settings.get(rule.name)): each.settings.get(rule.name) for each in _parts(scenario)}
    value = next(iter(own.values())) if len(own) == 1 else None
    given = part.settings.get(rule.name, rule.usual) if value is None else value
    return int(given) if isinstance(given, int) else rule.usual


def _threads_are_free(scenario: Scenario, part: SystemPart) -> bool:
    taken = any(each.threads is not None or pool_of(part, each.settings) in each.settings for each in _parts(scenario))
    return not taken and pool_of(part) not in part.settings


def _parts(scenario: Scenario) -> Iterator[MemberPart]:
    for group in scenario.groups.values():
        yield from group.members.values()
    for event in scenario.events:
        if isinstance(event, Join):
            yield event.part_after(event.join, None)


def _changed(scenario: Scenario, base: Try, more: Changes) -> list[Try]:
    return _made(scenario, base.variant.part, base.base, {**base.settings, **more}, base.others)


def _made(scenario: Scenario, part: SystemPart, base: str, settings: Changes, others: int) -> list[Try]:
    """The try, where the system takes it."""
    of_systems = {name: value for name, value in settings.items() if name != THREADS}
    lived = _without(scenario, of_systems)
    threads = settings.get(THREADS)
    if isinstance(threads, int):
        lived = lived.model_copy(update={"threads": threads})
    tried = part.model_copy(
        update={"label": with_settings(base, settings), "settings": {**part.settings, **of_systems}}
    )
    (variant,) = variants_of(lived.model_copy(update={"systems": (tried,)}))
    return [Try(base, settings, variant, others)] if can_run(variant) else []


def _without(scenario: Scenario, names: Changes) -> Scenario:
    """The scenario whose members have no settings of these names, so that the variant's are those of all."""

    def freed(settings: Settings) -> Settings:
        return {name: value for name, value in settings.items() if name not in names}

    groups = {
        name: group.model_copy(
            update={
                "members": {
                    member: part.model_copy(update={"settings": freed(part.settings)})
                    for member, part in group.members.items()
                }
            }
        )
        for name, group in scenario.groups.items()
    }
    events = tuple(
        event.model_copy(update={"settings": freed(event.settings)}) if isinstance(event, Join | Restart) else event
        for event in scenario.events
    )
    return scenario.model_copy(update={"groups": groups, "events": events})


def as_given(variant: Variant) -> Try:
    return Try(variant.label, {}, variant)


def with_seed(tried: Try, seed: int) -> Variant:
    return replace(tried.variant, seed=seed)
