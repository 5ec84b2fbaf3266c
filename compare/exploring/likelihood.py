"""How likely a property is violated: its share of simulated runs of the same scenario, each with other times.

A search says what can happen, with messages that are late for as long as they like. Here they take as long as the
scenario says, clients start and events come at times that depend on the seed, and as much later that the group has
settled before, as it has where a search begins.
"""

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import sqrt
from time import monotonic
from typing import Final

from compare.exploring.answers import LikelihoodDocument, wrong_with
from compare.exploring.given_out import Record, records_of
from compare.exploring.properties import FAIR, FAIR_SHARE, WATCHES, Subject, watches_of
from compare.exploring.settling import Fate, treated_unfairly
from compare.process_pool import process_pool, worked
from compare.running.run_variant import Ending, ending, groups_without_owners
from compare.running.systems import cluster_of, system_of, with_own_settings
from compare.running.variants import Variant, jittered
from protocols import facts
from protocols.engine.exploration import Ended
from protocols.engine.nodes import Time, Unobserved
from protocols.engine.simulation import Simulation
from protocols.facts import Acquired, Owns
from protocols.java import Queue
from protocols.scenario.running import Run

SETTLES_FIRST: Final[Time] = 120_000.0
"""By so much events come later than written, in milliseconds."""

GOES_ON: Final[Time] = 600_000.0
"""The run ends so long after the last event: sessions and poll intervals of the defaults have run out by then."""

QUIET_FOR: Final[Time] = 180_000.0
"""A group has settled where nobody's queues changed for so long at the end."""


SECONDS: Final = 30.0
"""Of wall time for random runs; where that is over, those that were made are told of."""

AT_ONCE: Final = 25
"""Runs that one process makes before its results come back."""


def likelihoods(
    subject: Subject, asked: Sequence[str], runs: int, seconds: float, progress: Callable[[int, int], None]
) -> dict[str, LikelihoodDocument]:
    """Property to how often it is violated. ``seconds``: after so much wall time no further runs begin; nothing is
    told where there is no time for any. ``progress`` hears how many of how many runs are done."""
    until = monotonic() + seconds
    variant, first = _later(subject.variant), subject.variant.seed + 1
    packs = [range(first + at, first + min(at + AT_ONCE, runs)) for at in range(0, runs if seconds else 0, AT_ONCE)]
    violated: Counter[str] = Counter()
    done = 0
    for pack, found in zip(packs, _all_violated(variant, asked, packs), strict=False):
        violated.update(found)
        done += len(pack)
        progress(done, runs)
        if monotonic() > until:
            break
    return {name: _told(done, violated[name], first) for name in asked} if done else {}


def _all_violated(variant: Variant, asked: Sequence[str], packs: Sequence[range]) -> Iterator[list[str]]:
    """Of each pack the properties that its runs violate, one for each run."""
    workers = min(os.cpu_count() or 1, len(packs))
    if workers < 2:
        yield from (_violated_in(variant, asked, pack) for pack in packs)
        return
    with process_pool(workers, partial(_violated_in, variant, asked)) as executor:
        waiting = [executor.submit(worked, pack) for pack in packs]
        try:
            yield from (each.result() for each in waiting)
        finally:
            for each in waiting:
                each.cancel()


def _violated_in(variant: Variant, asked: Sequence[str], seeds: Sequence[int]) -> list[str]:
    return [name for seed in seeds for name in _violated(jittered(replace(variant, seed=seed)), asked)]


def _told(runs: int, violated: int, first_seed: int) -> LikelihoodDocument:
    return {
        "random_runs": runs,
        "violated": violated,
        "share": violated / runs,
        "interval_95": list(interval(runs, violated)),
        "first_seed": first_seed,
    }


def interval(runs: int, violated: int) -> tuple[float, float]:
    """Between which shares the true one lies, with 95 % confidence (Wilson's score interval)."""
    z, share = 1.959964, violated / runs
    middle, whole = share + z * z / (2 * runs), 1 + z * z / runs
    half = z * sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs))
    return (middle - half) / whole if violated else 0.0, (middle + half) / whole if violated < runs else 1.0


def _later(variant: Variant) -> Variant:
    scenario = variant.scenario
    events = tuple(event.model_copy(update={"at": event.at + SETTLES_FIRST}) for event in scenario.events)
    last = max((event.at for event in events), default=SETTLES_FIRST)
    run = scenario.run.model_copy(update={"for_": last + GOES_ON})
    return replace(variant, scenario=scenario.model_copy(update={"events": events, "run": run, "expect": None}))


def _violated(variant: Variant, asked: Sequence[str]) -> list[str]:
    scenario, part = variant.scenario, variant.part
    watching = _Watching(variant, asked, min((event.at for event in scenario.events), default=0.0))
    run = Run.of(
        with_own_settings(scenario, part.system),
        part,
        cluster_of(part.system),
        observer=watching,
        seed=variant.seed,
        beginning=variant.beginning,
    )
    watching.watched = run.simulation
    watching.servers = frozenset(scenario.brokers)
    run.run()
    watching.look()
    violated = [name for name in asked if name in watching.violated]
    if any(name in FAIR for name in asked):
        last = ending(scenario, system_of(part.system).numbering)
        shares = system_of(part.system).exploration_rules(False).shares if FAIR_SHARE in asked else None
        nodes = {name: process.node for name, process in run.simulation.processes.items()}
        fate = watching.fate(last, run.end, {} if shares is None else shares(nodes, run.end))
        violated += [name for name in asked if name in FAIR and wrong_with(name, fate)]
    run.simulation.dissolve()
    return violated


class _Watching(Unobserved):
    """Properties as a search watches them: after everything that a node handles, from ``since`` on."""

    watched: Simulation
    servers: frozenset[str]

    def __init__(self, variant: Variant, asked: Sequence[str], since: Time) -> None:
        self.violated: set[str] = set()
        self._since, self._cause, self._changed = since, -1, 0.0
        watched = [name for name in asked if name in WATCHES]
        self._watches = dict(zip(watched, watches_of(variant, watched), strict=True))
        self._without_owners = groups_without_owners(variant)
        self._given: dict[Record, Time] = {}
        """Records that have not ended, and when they were given first."""
        self._remembered: dict[str, dict[str, Hashable]] = {name: {} for name in self._watches}
        self._owned: dict[tuple[str, str], tuple[Queue, ...]] = {}

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        if cause != self._cause:
            if now > self._since:
                self.look()
            self._cause = cause
        for name, watch in self._watches.items():
            of = self._remembered[name]
            of[node] = watch.remember(of.get(node, watch.nothing), fact)
        if isinstance(fact, Owns):
            self._owned[fact.group, fact.member] = fact.queues
            self._changed = now
        elif isinstance(fact, Acquired):
            for record in records_of(fact):
                self._given.setdefault(record, now)
        elif isinstance(fact, facts.Ended):
            for record in records_of(fact):
                self._given.pop(record, None)

    def look(self) -> None:
        """Which properties do not hold now."""
        for name, watch in self._watches.items():
            of = self._remembered[name]
            for server in self.servers & of.keys() - self.watched.processes.keys():
                of[server] = watch.remember(of[server], Ended())
            if name not in self.violated and watch.is_violated(list(of.values())):
                self.violated.add(name)

    def fate(self, last: Ending, end: Time, shares: Mapping[str, Mapping[str, tuple[Queue, ...]]]) -> Fate:
        """How the run ended."""
        owners = [(group, queue) for (group, _), queues in self._owned.items() for queue in queues]
        shared = tuple(sorted({each for each in owners if owners.count(each) > 1}))
        unowned = tuple(each for each in last.expected() if each not in owners and each[0] not in self._without_owners)
        unfair = tuple(treated_unfairly(shares, self._owned, last))
        open = tuple(sorted(record for record, since in self._given.items() if end - since >= QUIET_FOR))
        return Fate(0, end - self._changed >= QUIET_FOR, unowned, shared, unfair, open)
