"""Which variants of a scenario to run: those it lists, or those asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from compare.scenarios.systems import SYSTEMS, known_strategies, registered, system_of
from protocols.errors import UserError
from protocols.scenario.building import systems_left_out
from protocols.scenario.checks import system_problem
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.reading import with_registered
from protocols.scenario.systems import split_system


@dataclass(frozen=True, slots=True)
class Chosen:
    """A variant to run."""

    scenario: Scenario
    part: SystemPart
    seed: int

    @property
    def label(self) -> str:
        """What results call it."""
        return self.part.label or self.part.system


def chosen(scenario: Scenario, asked: Sequence[str] = (), seeds: Sequence[int] = ()) -> list[Chosen]:
    """The variants in order, each with every seed.

    ``asked``: labels of the scenario's own variants, names such as ``kafka:sticky``, or bare ones that stand for
    several (``kafka``, ``kafka-zookeeper``, ``rocketmq``, ``all``); none: the scenario's. Raises `UserError` for a
    name that nothing has.
    """
    parts = _asked(scenario, asked) if asked else _listed(scenario)
    for part in parts:
        system_of(part.system)
    return [Chosen(scenario, part, seed) for part in parts for seed in dict.fromkeys(seeds or (scenario.run.seed,))]


def _listed(scenario: Scenario) -> list[SystemPart]:
    """The scenario's variants. Where it names none, those that every scenario has, as far as the system is there."""
    left_out = systems_left_out(scenario)
    if scenario.systems in ((), left_out):
        return [part for part in left_out if registered(split_system(part.system)[0])]
    return list(scenario.systems)


def _asked(scenario: Scenario, asked: Sequence[str]) -> list[SystemPart]:
    own = {part.label or part.system: part for part in scenario.systems}
    found: dict[str, SystemPart] = {}
    for name in asked:
        for part in _named(scenario, name, own):
            found.setdefault(part.label or part.system, part)
    return list(found.values())


def _named(scenario: Scenario, name: str, own: dict[str, SystemPart]) -> list[SystemPart]:
    if name in own:
        return [own[name]]
    if name == "all":
        every = [each for each in SYSTEMS if registered(each)]
        return [part for each in every for part in _named(scenario, each, own)]
    if name in SYSTEMS:
        names = [each for each in SYSTEMS[name].family if registered(split_system(each)[0])]
        listed = [SystemPart(system=each, label=each) for each in names]
        return listed or [part for part in systems_left_out(scenario) if split_system(part.system)[0] == name]
    system, strategy = split_system(name)
    if system not in SYSTEMS or not strategy:
        expected = ", ".join([*own, *(each for each in SYSTEMS if registered(each)), "all"])
        raise UserError(f"--system {name}: expected one of {expected}, or a system and strategy such as kafka:range")
    problem = system_problem(name, with_registered(known_strategies()))
    if problem:
        raise UserError(f"--system {name}: {problem}")
    return [SystemPart(system=name, label=name)]
