"""Who and what is there when a run is over, as the scenario says: members alive, topics and their queues.

How many records the members of a variant can handle.

Where RocketMQ's members differ, and so leave queues to nobody, or to several, for as long as they do.

Kafka's members have a coordinator that decides. What every member of a group would take once it knows all others says
whether a queue waits, or has two owners, for such a reason, or only because the members have not noticed yet.

One variant run from beginning to end: its timeline, and who and what is there at its end.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

from compare.catalogues import UNCOUNTED
from compare.running.reached import Clock
from compare.running.systems import cluster_of, has_no_owners, member_settings, own_part, system_of, with_own_settings
from compare.running.variants import Variant, pool_of
from protocols import Allocation, Group, Member, Queue
from protocols.engine.traffic import Load, Traffic
from protocols.errors import UserError
from protocols.scenario.events import Event, MemberChange
from protocols.scenario.fields import MemberPart
from protocols.scenario.model import Scenario, split_system
from protocols.scenario.running import Run
from protocols.scenario.scaling import Decision, in_order
from protocols.scenario.topology import MemberKey, ProcessPeers, Topology, listed_members
from protocols.timeline import Numbering, Recorder, Timeline, lifetimes, may_own_in, reads_in
from protocols.timeline.lifetimes import last_topics
from rocketmq_selfbalance import allocate
from rocketmq_selfbalance.cluster import (
    BROADCASTING,
    NAME_SERVER,
    PROXY,
    Members,
    Standing,
    configuration,
    why_nobody,
    why_several,
)


@dataclass(frozen=True, slots=True)
class Ending:
    """``members``: those alive, hung ones among them. ``groups``: each group of the scenario with them as its members.
    ``names``: what each member is called in results: its name, or ``group/name`` where it is in several groups."""

    members: Mapping[MemberKey, MemberPart]
    groups: Mapping[str, Group]
    names: Mapping[MemberKey, str]

    def allocation(self, group: str, owned: Mapping[tuple[str, str], tuple[Queue, ...]]) -> Allocation:
        """What the living members of a group own of the queues that there are. ``owned``: (group, member) to queues."""
        known = frozenset(self.groups[group].queues)
        return Allocation(
            self.groups[group],
            {
                member.id: [queue for queue in owned.get((group, member.id), ()) if queue in known]
                for member in self.groups[group].members
            },
        )

    def expected(self) -> list[tuple[str, Queue]]:
        """(Group, queue) of every queue that somebody alive subscribes to."""
        return [
            (name, queue)
            for name, group in self.groups.items()
            for topic, who in group.subscribers().items()
            if who
            for queue in group.topics[topic]
        ]


def ending(scenario: Scenario, numbering: Numbering) -> Ending:
    """How the scenario ends for a system that numbers queues in this way."""
    topics = last_topics(scenario, numbering)
    there = _alive(scenario)
    groups = {}
    for name in scenario.groups:
        members = {key.member: part for key, part in there.items() if key.group == name}
        plain = Group.of(
            topics={topic: len(queues) for topic, queues in topics.items()},
            members={
                member: {"pattern": part.pattern} if part.pattern else {"subscribe": part.subscribe}
                for member, part in members.items()
            },
        )
        groups[name] = Group(
            tuple(
                Member(
                    member.id,
                    member.subscription,
                    member.pattern,
                    members[member.id].instance_id,
                    members[member.id].rack,
                    members[member.id].client_id,
                    members[member.id].process,
                )
                for member in plain.members
            ),
            topics,
            name=name,
        )
    times = Counter(key.member for key in Topology.of(scenario).node)
    names = {
        key: key.member if times[key.member] == 1 else f"{key.group}/{key.member}" for key in Topology.of(scenario).node
    }
    return Ending(there, groups, names)


def _alive(scenario: Scenario) -> dict[MemberKey, MemberPart]:
    topology = Topology.of(scenario, one_node_per_member=True)
    parts = listed_members(scenario)
    there = dict.fromkeys(parts)
    of_node = {node: key for key, node in topology.node.items()}

    for event in scenario.events:
        if event.at > scenario.run.for_:
            break
        for name in event.members():
            key = topology.key(event.group, name)
            after = event.part_after(name, parts.get(key))
            if after is not None:
                parts[key] = after
            if event.member_change in (MemberChange.JOINS, MemberChange.RESTARTS):
                there[key] = None
            elif event.member_change is MemberChange.ENDS:
                for node in topology.together[key] if event.strikes_process() else (topology.node[key],):
                    there.pop(of_node[node], None)
    return {key: parts[key] for key in there}


PUSH_THREADS = 20
"""Its default (spec rocketmq 6.5)."""

KIND, PUSH = "consumer", "push"
"""The setting that says which of RocketMQ's consumers a member is, and the one with a pool."""


def records_per_second(variant: Variant, members: Mapping[MemberKey, MemberPart]) -> dict[MemberKey, float]:
    """Each of the members to the records that its code handles per second at most; infinite where handling takes no
    time."""
    return {key: _records_per_second(variant, part) for key, part in members.items()}


def threads_of(variant: Variant, part: MemberPart) -> int:
    """How many threads of the member handle records at once."""
    settings: Mapping[str, object] = {**variant.part.settings, **part.settings}
    system, pool = variant.part.system, pool_of(variant.part, part.settings)
    is_push = bool(pool) if has_no_owners(system) else settings.get(KIND, PUSH) == PUSH
    has_pool = split_system(system)[0] == "rocketmq" and is_push
    own = part.settings.get(pool, part.threads) if has_pool else part.threads
    given = settings.get(pool, PUSH_THREADS) if has_pool else 1
    threads = given if own is None else own
    return threads if isinstance(threads, int) else PUSH_THREADS


def capacity_at_start(variant: Variant) -> float | None:
    """Records per second that the members of all groups who are there from the beginning can handle together; None
    where handling takes no time."""
    parts = [part for group in variant.scenario.groups.values() for part in group.members.values()]
    together = sum(_records_per_second(variant, part) for part in parts)
    return together if parts and isfinite(together) else None


def _records_per_second(variant: Variant, part: MemberPart) -> float:
    return inf if part.handle <= 0 else threads_of(variant, part) * 1000 / part.handle


@dataclass(frozen=True, slots=True)
class Reasons:
    """Sentences without their ends, each once; empty where nothing keeps the members from agreeing."""

    unowned: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


def members_of(variant: Variant) -> Members | None:
    """The members of a variant in which each shares for itself (RocketMQ), as they are in the beginning; None of
    others."""
    scenario, part = variant.scenario, variant.part
    if split_system(part.system)[0] != "rocketmq" or has_no_owners(part.system):
        return None
    own = with_own_settings(scenario, part.system)
    return Members(own, part, Topology.of(own), configuration(part.settings, variant.label))


def broadcasting_groups(variant: Variant) -> frozenset[str]:
    """The groups in which nothing is shared: every member reads every queue (BROADCASTING, spec rocketmq 4.2)."""
    members = members_of(variant)
    models = {} if members is None else members.message_models
    return frozenset(group for group, found in models.items() if found == {BROADCASTING})


def groups_without_owners(variant: Variant) -> frozenset[str]:
    """The groups whose records are given out one by one (share groups, POP)."""
    groups = frozenset(variant.scenario.groups) if has_no_owners(variant.part.system) else frozenset()
    return groups - broadcasting_groups(variant) if groups else groups


def reasons(variant: Variant, then: Ending, allocations: Iterable[tuple[str, Allocation]]) -> Reasons:
    """Why queues have no owner, or several, and will, as long as nothing happens. ``then``: who and what is there;
    ``allocations``: groups, and who owns what in them."""
    faulty = [(group, each) for group, each in allocations if each.unowned or each.double_owned]
    members = members_of(variant) if faulty else None
    if members is None:
        return Reasons()
    own = member_settings(variant.part.system)
    members.parts = {key: own_part(part, own) for key, part in then.members.items()}
    unowned: dict[str, None] = {}
    shared: dict[str, None] = {}
    for name, allocation in faulty:
        standings = {
            key.member: members.standing(key, then.groups[name].topics) for key in then.members if key.group == name
        }
        agreed = _agreed(then, name, standings)
        for queue, having in allocation.owners.items():
            if not having and queue in agreed.unowned:
                why = why_nobody(list(standings.values()), queue.topic)
                unowned |= {} if why is None else {why: None}
            elif len(having) > 1 and _stays_shared(queue, agreed, standings, having):
                why = why_several([standings[member] for member in sorted(having)], list(standings.values()))
                shared |= {} if why is None else {why: None}
    return Reasons(tuple(unowned), tuple(shared))


def _stays_shared(queue: Queue, agreed: Allocation, standings: Mapping[str, Standing], having: Sequence[str]) -> bool:
    everything = any(standings[member].message_model == BROADCASTING for member in having)
    return everything or queue in agreed.double_owned


def _agreed(then: Ending, name: str, standings: Mapping[str, Standing]) -> Allocation:
    """What the members take who all know all of them."""
    group = then.groups[name]
    members = tuple(replace(member, client_id=standings[member.id].client_id, process=None) for member in group.members)
    strategies = {member: standing.strategy for member, standing in standings.items()}
    return allocate(next(iter(strategies.values())), replace(group, members=members), strategies=strategies)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A variant after its run. Its scenario has all events; those of ``made``, which autoscalers decided upon
    (``decisions``), among them."""

    variant: Variant
    timeline: Timeline
    ending: Ending
    traffic: Mapping[str, Sequence[Load]] | None = None
    """Server to what it was asked and what went over its connections in every second; None where that is not known."""
    made: tuple[Event, ...] = ()
    decisions: tuple[Decision, ...] = ()


def can_run(variant: Variant) -> bool:
    """Whether the system takes the variant's strategy and settings."""
    scenario, part = variant.scenario, variant.part
    try:
        Run.of(with_own_settings(scenario, part.system), part, cluster_of(part.system)).simulation.dissolve()
    except UserError:
        return False
    return True


def run_variant(
    variant: Variant,
    *,
    tracing: bool = False,
    full: bool = False,
    priced: bool = True,
    begins: Callable[[Clock], None] | None = None,
) -> RunResult:
    """Run a variant from its first to its last moment. Raises `UserError` for a strategy or setting it lacks.

    ``tracing`` keeps every message and cause; ``full`` passes over no quiet time; ``priced`` counts the servers'
    requests and bytes, a third of the time; ``begins`` is told the run's clock.
    """
    scenario, part = variant.scenario, variant.part
    numbering = system_of(part.system).numbering
    recorder = Recorder(
        lives=lifetimes(scenario, numbering),
        may_own=may_own_in(scenario),
        uncounted=UNCOUNTED,
        peers=ProcessPeers.of(Topology.of(scenario)),
        reads=reads_in(scenario),
        broadcasting=broadcasting_groups(variant),
        without_owners=groups_without_owners(variant),
    )
    make = cluster_of(part.system)
    own = with_own_settings(scenario, part.system)

    def learned(lived: Scenario) -> None:
        recorder.learn(may_own_in(lived), ProcessPeers.of(Topology.of(lived)), reads_in(lived))

    run = Run.of(
        own,
        part,
        make,
        observer=recorder,
        tracing=tracing,
        full=full,
        seed=variant.seed,
        beginning=variant.beginning,
        learned=learned,
    )
    sizes, requests = system_of(part.system).traffic()
    traffic = Traffic(sizes, requests, (*scenario.brokers, NAME_SERVER, PROXY)) if sizes and priced else None
    run.simulation.traffic = traffic
    if begins is not None:
        simulation, end = run.simulation, run.end  # not the run: whoever has the clock would keep all of it
        begins(lambda: simulation.now / end)
    run.run()
    timeline = recorder.timeline(run.end, run.calls, run.simulation.messages)
    run.simulation.dissolve()
    scaling = run.scaling
    if scaling.events:
        scenario = scenario.model_copy(update={"events": in_order(scenario.events, scaling.events)})
        variant = replace(variant, scenario=scenario)
    by_second = None if traffic is None else traffic.by_second(run.end)
    made, decisions = tuple(scaling.events), tuple(scaling.decisions)
    return RunResult(variant, timeline, ending(scenario, numbering), by_second, made, decisions)
