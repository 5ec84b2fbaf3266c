"""Which variants of a scenario to run: those it lists, or those asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

import rocketmq_selfbalance.cluster as rocketmq
from compare.running.systems import SYSTEMS, has_no_owners, known_strategies, system_of
from protocols.errors import UserError
from protocols.scenario.checks import system_problem
from protocols.scenario.events import Join
from protocols.scenario.fields import MemberPart
from protocols.scenario.jitter import IN_STEP, Beginning, shifted
from protocols.scenario.model import Scenario, SystemPart, Systems, example_of, split_system
from protocols.scenario.reading import systems_left_out


def pool_of(part: SystemPart, own: Mapping[str, object] = MappingProxyType({})) -> str:
    """RocketMQ's setting of a push consumer's pool, as a member of the variant with these settings of its ``own`` calls
    it; empty for one whose code has a loop."""
    if not has_no_owners(part.system):
        return rocketmq.POOLS[rocketmq.CLASSIC]
    client = own.get(rocketmq.CLIENT_CLASS, part.settings.get(rocketmq.CLIENT_CLASS, rocketmq.PUSH_CONSUMER))
    return rocketmq.POOLS.get(client, "")


P = TypeVar("P", MemberPart, Join)


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant to run."""

    scenario: Scenario
    part: SystemPart
    seed: int
    beginning: Beginning = IN_STEP
    """When and how what is there from 0s on starts."""

    @property
    def jitter(self) -> bool:
        """Whether start times and event times, which the scenario has already, depend on the seed (`jittered`)."""
        return self.beginning.seed is not None

    @property
    def label(self) -> str:
        """What results call it."""
        return self.part.label or self.part.system


def jittered(variant: Variant) -> Variant:
    """The variant with start times and event times that depend on its seed (`protocols.scenario.jitter`)."""
    if variant.jitter:
        return variant
    written, seed = variant.scenario, variant.seed
    return replace(variant, scenario=shifted(written, seed), beginning=Beginning.of(written, seed))


def variants_of(
    scenario: Scenario, asked: Sequence[str] = (), seeds: Sequence[int] = (), *, like_for_like: bool = True
) -> list[Variant]:
    """The variants in order, each with every seed. ``like_for_like``: members have the scenario's ``threads``, not
    each client's own.

    ``asked``: labels of the scenario's own variants, names such as ``kafka:sticky``, or bare ones that stand for
    several (``kafka``, ``kafka-zookeeper``, ``rocketmq``, ``all``); none: the scenario's. Raises `UserError` for a
    name that nothing has.
    """
    known = known_strategies()
    parts = _asked(scenario, asked, known) if asked else _listed(scenario, known)
    for part in parts:
        system_of(part.system)
    lived = [(with_equal_threads(scenario, part) if like_for_like else scenario, part) for part in parts]
    return [Variant(each, part, seed) for each, part in lived for seed in dict.fromkeys(seeds or (scenario.run.seed,))]


def with_equal_threads(scenario: Scenario, part: SystemPart) -> Scenario:
    """The scenario whose members handle records in so many threads as it says for all variants. A member keeps its own
    number, and a variant its own pool (`pool_of`): somebody chose these."""
    if scenario.threads == "real" or pool_of(part) in part.settings:
        return scenario
    threads = {"threads": scenario.threads}

    def equal(taking: P) -> P:
        own = taking.threads is not None or pool_of(part, taking.settings) in taking.settings or taking.handle <= 0
        return taking if own else taking.model_copy(update=threads)

    groups = {
        name: group.model_copy(update={"members": {member: equal(each) for member, each in group.members.items()}})
        for name, group in scenario.groups.items()
    }
    events = tuple(equal(event) if isinstance(event, Join) else event for event in scenario.events)
    return scenario.model_copy(update={"groups": groups, "events": events})


def _listed(scenario: Scenario, known: Systems) -> list[SystemPart]:
    """The scenario's variants. Where it names none, those that every scenario has, as far as the system is there."""
    return list(scenario.systems or systems_left_out(scenario, known))


def _asked(scenario: Scenario, asked: Sequence[str], known: Systems) -> list[SystemPart]:
    own = {part.label or part.system: part for part in scenario.systems}
    system_parts: dict[str, SystemPart] = {}
    for name in asked:
        for part in _named(scenario, name, own, known):
            system_parts.setdefault(part.label or part.system, part)
    return list(system_parts.values())


def _named(scenario: Scenario, name: str, own: dict[str, SystemPart], known: Systems) -> list[SystemPart]:
    if name in own:
        return [own[name]]
    if name == "all":
        return [part for each in known for part in _named(scenario, each, own, known)]
    if name in known:
        return _family(scenario, name, known)
    system, strategy = split_system(name)
    if system not in SYSTEMS or not strategy:
        expected = ", ".join([*own, *known, "all"])
        example = example_of(known)
        raise UserError(f"--system {name}: expected one of {expected}, or a system and strategy such as {example}")
    problem = system_problem(name, known)
    if problem:
        raise UserError(f"--system {name}: {problem}")
    return [SystemPart(system=name, label=name)]


def _family(scenario: Scenario, name: str, known: Systems) -> list[SystemPart]:
    """The variants for which a system's bare name stands: those that it runs by default, else all of its strategies."""
    parts = [part for part in systems_left_out(scenario, known) if split_system(part.system)[0] == name]
    names = [each for each in SYSTEMS[name].also if split_system(each)[0] in known]
    if not parts:
        names = [*(f"{name}:{strategy}" for strategy in known[name].names), *names]
    return [*parts, *(SystemPart(system=each, label=each) for each in names)]
