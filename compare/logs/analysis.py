"""From streams of facts to what happened in each group."""

import re
from collections import defaultdict
from collections.abc import Sequence

from compare.logs.clocks import bring_together
from compare.logs.facts import Fact, GroupLog, Processes, Stream, client_of, give_groups, say_why_left
from compare.logs.kafka_causes import find_causes
from compare.logs.kafka_events import find_events, find_waiting
from compare.logs.kafka_rebalances import find_rebalances
from compare.logs.rocketmq_rebalances import (
    expired_clients,
    find_rocketmq_causes,
    find_rocketmq_rebalances,
    give_clients,
)

_ADDED = re.compile(r"^Adding new member (\S+)")


def analysed(streams: Sequence[Stream], others: bool, only: str | None = None) -> list[GroupLog]:
    """The groups, sorted by system and name.

    ``others``: files without any line that means something were given, too: clients that print nothing about groups.
    ``only``: the group asked for.
    """
    give_groups(streams)
    processes = Processes(streams)
    give_groups(streams)
    say_why_left(streams)
    bring_together(streams)
    give_clients(streams)
    by_group: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    shared: list[Fact] = []
    for stream in streams:
        for fact in stream.facts:
            if fact.group:
                system = "rocketmq" if fact.kind.startswith("r_") else "kafka"
                by_group[(system, fact.group)].append(fact)
            else:
                shared.append(fact)
    clients = others or any(stream.role == "client" for stream in streams)
    found = []
    for (system, name), facts in sorted(by_group.items()):
        if only is None or name == only:
            log = GroupLog(system, name, _kind(system, facts), facts)
            if system == "kafka":
                find_rebalances(log, processes, clients)
                find_causes(log, processes, shared)
                find_events(log, processes, shared)
                find_waiting(log, processes)
            else:
                expired_clients(facts)
                find_rocketmq_rebalances(log)
                find_rocketmq_causes(log, [fact for fact in shared if fact.kind.startswith("r_")])
            log.names = _names(log, processes)
            found.append(log)
    return found


def _names(log: GroupLog, processes: Processes) -> dict[str, str]:
    """What people call the members: the client id, or the container or file where several share that."""
    caused = [name for rebalance in log.rebalances for name in rebalance.members]
    for rebalance in log.rebalances:
        caused += [*rebalance.joined, *(rebalance.after or []), *rebalance.seen, *rebalance.waited_for]
    caused += [known.member for rebalance in log.rebalances for known in rebalance.departures]
    members = dict.fromkeys([*caused, *(name for event in log.events for name in event.members)])
    places: dict[str, set[int]] = defaultdict(set)
    for member in members:
        process = processes.of_member.get(member)
        if process is not None:
            places[client_of(member)].add(process[0])
    names = {}
    for member in members:
        process, client = processes.of_member.get(member), client_of(member)
        shared = len(places[client]) > 1 or client == member
        names[member] = processes.place(process) if process is not None and shared else client
    return names


def _kind(system: str, facts: Sequence[Fact]) -> str:
    """What the group is made of, from the names of its members."""
    if system == "rocketmq":
        return "plain"
    names = {name for fact in facts for name in (fact.client, fact.member and client_of(fact.member)) if name}
    names |= {match.group(1) for fact in facts if (match := _ADDED.search(fact.text))}
    if any("-StreamThread-" in name for name in names):
        return "streams"
    if names and all(name.startswith("connect-") for name in names):
        return "connect"
    return "plain"
