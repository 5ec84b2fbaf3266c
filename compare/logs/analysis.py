"""From streams of events to what happened in each group.

Lines have become typed events before (`reading`, `broker_events`, `client_events`, `rocketmq_lines`). Here they are
sorted by group and made into rebalances, rebalances get causes, and causes that belong together become a deploy or a
flapping member. A cause is certain only where a line of the log of that member or broker says so; all others stay
candidates, with what would decide between them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from compare.logs.broker_events import OtherKind, PartitionCreated, Preparing
from compare.logs.causes import Surroundings, with_causes
from compare.logs.client_events import OfClient, Setting
from compare.logs.clocks import bring_together
from compare.logs.coordinators import judged, outages
from compare.logs.departures import find_departures
from compare.logs.deploys import with_deploys
from compare.logs.events import Event, OfGroup, Stream
from compare.logs.generations import reduced
from compare.logs.happenings import happenings
from compare.logs.identity import Processes, client_of, give_names
from compare.logs.model import Cause, Doubt, GroupLog, Ordered
from compare.logs.rocketmq_lines import Rocket
from compare.logs.rocketmq_rebalances import rocketmq_log
from compare.logs.suspects import with_suspects
from compare.logs.unnamed import asked_for, unnamed_logs
from compare.logs.untied import Clocks, apart, as_doubts, tied
from compare.logs.waiting import measured, with_waits


def analysed(streams: Sequence[Stream], only: str | None = None) -> list[GroupLog]:
    """The groups, sorted by system and name, then the clients whose group no line names. ``only``: the group asked
    for: such clients are told beside it only where no line names another group."""
    give_names(streams)
    processes = Processes(streams)
    marks = bring_together(streams)
    clocks = tied(streams, marks)
    by_group: dict[tuple[str, str], list[OfGroup]] = defaultdict(list)
    shared: list[Event] = []
    for stream in streams:
        for event in stream.events:
            if isinstance(event, OfGroup) and event.group:
                by_group[("rocketmq" if isinstance(event, Rocket) else "kafka", event.group)].append(event)
            elif event.place.at is not None:
                shared.append(event)
    shared.sort(key=lambda event: event.at)
    found = []
    for (system, name), events in sorted(by_group.items()):
        if only is None or name == only:
            if system == "kafka":
                log = _kafka(name, events, shared, streams, processes, clocks)
            else:
                log = rocketmq_log(name, events, shared, streams)
            found.append(replace(log, names=_names(log, processes)))
    others = {name for _, name in by_group} - {only}
    if only is not None and not by_group:
        return asked_for(only, list(unnamed_logs(streams)))
    return [*found, *(unnamed_logs(streams) if only is None or not others else ())]


def _kafka(
    name: str,
    events: Sequence[OfGroup],
    shared: Sequence[Event],
    streams: Sequence[Stream],
    processes: Processes,
    clocks: Clocks,
) -> GroupLog:
    kind = _kind(events)
    ordered = Ordered(events)
    if kind in {"share", "streams group"}:
        return GroupLog("kafka", name, kind, ordered.events, judged=False)
    valid, loads = judged(ordered.events, shared)
    departures = find_departures(valid, processes)
    rebalances = reduced(name, Ordered(valid), departures, processes)
    created = Ordered(event for event in shared if isinstance(event, PartitionCreated))
    rebalances = with_causes(rebalances, valid, Surroundings(processes, loads, created))
    rebalances = with_suspects(rebalances, valid, outages(shared, streams), processes)
    files = apart(valid, clocks)
    rebalances = as_doubts(rebalances, files) if files else with_waits(rebalances, valid, processes)
    rebalances, deploys = with_deploys(rebalances)
    return GroupLog(
        "kafka",
        name,
        kind,
        ordered.events,
        rebalances,
        happenings(valid, loads, rebalances, processes),
        deploys,
        measured(rebalances, valid, [event for event in events if isinstance(event, Setting)], processes),
        apart=files,
    )


def _kind(events: Sequence[OfGroup]) -> str:
    """What the group is made of, from what the coordinator calls it or the names of its members."""
    told = {event.kind for event in events if isinstance(event, OtherKind)}
    if told:
        return "share" if "share" in told else "streams group"
    names: set[str] = set()
    for event in events:
        if isinstance(event, OfClient) and event.client:
            names.add(event.client)
        elif isinstance(event, Preparing) and event.reason.startswith("Adding new member "):
            names.add(event.reason.removeprefix("Adding new member ").partition(" with group")[0])
        elif member := getattr(event, "member", ""):
            names.add(client_of(member))
    if any("-StreamThread-" in name for name in names):
        return "streams"
    if names and all(name.startswith("connect-") for name in names):
        return "connect"
    return "plain"


def _names(log: GroupLog, processes: Processes) -> dict[str, str]:
    """What people call the members: the client id, or the container or file where several share that."""
    members: dict[str, None] = {}
    for each in log.rebalances:
        told: list[Cause | Doubt] = [*each.causes, *each.doubts]
        members |= dict.fromkeys(name for one in told for name in one.members)
        members |= dict.fromkeys([*each.joined, *(each.after or ()), *each.seen, *each.waited_for])
        members |= dict.fromkeys(known.member for known in each.departures)
    members |= dict.fromkeys(name for each in log.happenings for name in each.members)
    places: dict[str, set[int]] = defaultdict(set)
    for member in members:
        process = processes.of_member.get(member)
        if process is not None:
            places[client_of(member)].add(process[0])
    names = {}
    for member in members:
        process, client = processes.of_member.get(member), client_of(member)
        crowded = len(places[client]) > 1
        name = processes.place_name(process) if process is not None and (crowded or client == member) else client
        names[member] = processes.source(process) if process is not None and crowded and name == client else name
    return names
