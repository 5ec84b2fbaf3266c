"""RocketMQ's rebalances: there is no generation, so a rebalance is a cluster of changes of a group's owners.

Why the owners of a RocketMQ group changed: members that came and went, brokers, routes, and settings at odds.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import replace

from compare.logs.events import Event, OfGroup, Stream
from compare.logs.model import Cause, GroupLog, Ordered, Rebalance
from compare.logs.rocketmq_conditions import Found, conditions
from compare.logs.rocketmq_doubts import LATE_S, with_doubts
from compare.logs.rocketmq_lines import (
    AtBroker,
    BrokerBooted,
    BrokerLost,
    ChannelClosed,
    ChannelExpired,
    ChannelIdle,
    ClientSwitched,
    Connected,
    LockFailed,
    NewVersion,
    OfQueue,
    QueueAdded,
    QueueRemoved,
    Result,
    Rocket,
    RouteChanged,
    Unregistered,
    route_change,
)

APART_S = 6.0
"""Changes of ownership that are further apart belong to different rebalances."""

_AT_ONCE = (-1.2, 0.5)
"""Seconds by which a broker's line may seem to come after a version that a client has just set: lines have whole
seconds. An older version is that of the subscription itself, from the start of the client."""

_ENDS = (Unregistered, ChannelClosed)
_MEMBERSHIP = (Connected, Unregistered, ChannelClosed, ChannelExpired)

_Queue = tuple[str, str, int]
"""Topic, broker, number."""


def rocketmq_log(name: str, events: Sequence[OfGroup], shared: Sequence[Event], streams: Sequence[Stream]) -> GroupLog:
    """The group with its rebalances in order of time; ``shared``: events of no group (brokers, routes, channels)."""
    clients = _clients(streams)
    named = [_named(event, clients) for event in events if isinstance(event, Rocket)]
    own = Ordered(_expired(named)).events
    clusters = _clusters(own)
    rebalances = [
        Rebalance(
            group=name,
            begun=cluster[0].at,
            stabilized=cluster[-1].at,
            ready=cluster[-1].at,
            events=tuple(cluster),
            first=cluster[0].at,
        )
        for cluster in clusters
    ]
    rebalances = _with_pauses(rebalances, own)
    members = {event.client for event in own}
    others = [_named(event, clients) for event in shared if isinstance(event, Rocket)]
    others = [event for event in others if not event.client or event.client in members]
    every = sorted([*own, *others], key=lambda event: event.at)
    moves = _members(every, members)
    rebalances = with_doubts(_with_causes(rebalances, own, every, moves), every)
    return GroupLog("rocketmq", name, "plain", own, rebalances, moves=moves, others=others)


def _clients(streams: Sequence[Stream]) -> dict[int, list[tuple[int, str]]]:
    """Where in each stream a process says which client it is."""
    found: dict[int, list[tuple[int, str]]] = {}
    for stream in streams:
        if stream.role == "client":
            own = [event for event in stream.events if isinstance(event, ClientSwitched | Result)]
            found[id(stream)] = [(event.place.order, event.client) for event in own]
    return found


def _named(event: Rocket, clients: dict[int, list[tuple[int, str]]]) -> Rocket:
    """Lines about queues name no client: the one that the process said it was, before or after."""
    told = clients.get(id(event.stream))
    if event.client or not told:
        return event
    place = bisect_right(told, event.place.order, key=lambda known: known[0])
    return replace(event, client=told[max(0, place - 1)][1])


def _expired(events: Sequence[Rocket]) -> list[Rocket]:
    """A scan that drops a channel names its address only: the client that connected from there."""
    owners: dict[str, str] = {event.channel: event.client for event in events if isinstance(event, Connected)}
    return [
        replace(event, client=owners.get(event.channel, ""))
        if isinstance(event, ChannelExpired) and not event.client
        else event
        for event in events
    ]


def _clusters(events: Sequence[Rocket]) -> list[list[Rocket]]:
    changes = [event for event in events if isinstance(event, QueueAdded | QueueRemoved) or _is_new_version(event)]
    changes = sorted(changes or (event for event in events if isinstance(event, _MEMBERSHIP)), key=lambda each: each.at)
    clusters: list[list[Rocket]] = []
    for event in changes:
        if clusters and event.at - clusters[-1][-1].at <= APART_S:
            clusters[-1].append(event)
        else:
            clusters.append([event])
    return clusters


def _is_new_version(event: Rocket) -> bool:
    """Whether a broker heard that a client's queues changed: the client then sets the version of its subscription to
    the time and sends it at once. The line is dated by that."""
    if not isinstance(event, NewVersion) or event.place.hint is None:
        return False
    if not _AT_ONCE[0] <= event.at - event.place.hint <= _AT_ONCE[1]:
        return False
    event.place.at = event.place.hint
    return True


def _with_pauses(rebalances: Sequence[Rebalance], events: Sequence[Rocket]) -> list[Rebalance]:
    """How long queues that changed hands had no owner, by the client that took them. A client that closes or dies gives
    up all of its queues; one that is frozen owns on."""
    owners: dict[_Queue, set[str]] = defaultdict(set)
    of_client: dict[str, set[_Queue]] = defaultdict(set)
    free: dict[_Queue, float] = {}
    number = {id(event): place for place, each in enumerate(rebalances) for event in each.events}
    pauses: list[dict[str, tuple[float, float]]] = [{} for _ in rebalances]
    for event in events:
        if isinstance(event, _ENDS):
            given_up = sorted(of_client.pop(event.client, ()))
        else:
            given_up = [_queue(event)] if isinstance(event, QueueRemoved) else []
        for queue in given_up:
            owners[queue].discard(event.client)
            of_client[event.client].discard(queue)
            if not owners[queue]:
                free[queue] = event.at
        if isinstance(event, QueueAdded):
            owners[_queue(event)].add(event.client)
            of_client[event.client].add(_queue(event))
            begun, those = free.pop(_queue(event), event.at), pauses[number[id(event)]]
            if event.client and event.at > begun:
                spans = [(begun, event.at), those.get(event.client, (begun, begun))]
                those[event.client] = max(spans, key=lambda span: span[1] - span[0])
    return [replace(each, pauses=known) for each, known in zip(rebalances, pauses, strict=True)]


def _queue(event: OfQueue) -> _Queue:
    return event.topic, event.broker, event.queue


_BEFORE_S = 45.0
"""A client acts on a change at the latest with its next poll of routes (30 s) and its next pass (20 s)."""

_LOCKED_S = 5.0
"""Locks of living members are given free at once, those of dead ones after a minute."""

_HEARTBEAT_S = 35.0
"""Clients send heartbeats every 30 s: a connection that closes later after the last one was dropped as idle."""


def _with_causes(
    rebalances: Sequence[Rebalance], own: Sequence[Rocket], every: Sequence[Rocket], members: Found
) -> list[Rebalance]:
    odd = conditions(own, every)
    routes = _routes(every)
    locks = Ordered(event for event in every if isinstance(event, LockFailed | ChannelClosed | ChannelExpired))
    last = float("-inf")
    found: list[Rebalance] = []
    for each in rebalances:
        before = found[-1] if found else None
        end = each.over + LATE_S
        since = max(last, each.at - _BEFORE_S) if before or _had_queues(each) else float("-inf")
        came = _within(members, since, end)
        moved = [known for known in _within(routes, since, end) if not (came and isinstance(known[1], BrokerBooted))]
        active = [known for known in odd if known[1].at <= end]
        judged = _judged(each, before, came, moved, active, locks)
        lines = (*(event for _, event in [*[*came, *moved][:6], *active[:3]]), *judged.events[:12])
        found.append(replace(judged, events=lines))
        last = end - LATE_S
    return found


def _had_queues(each: Rebalance) -> bool:
    """Whether a client gives up queues first: it was in a rebalance before, of which no line is there."""
    first: dict[int, Event] = {}
    for event in each.events:
        if isinstance(event, QueueAdded | QueueRemoved):
            first.setdefault(id(event.stream), event)
    return any(isinstance(event, QueueRemoved) for event in first.values())


def _within(found: Found, since: float, end: float) -> Found:
    first = bisect_right(found, since, key=_when)
    return found[first : bisect_right(found, end, key=_when)]


def _when(known: tuple[str, Rocket]) -> float:
    return known[1].at


def _judged(
    each: Rebalance,
    before: Rebalance | None,
    came: Found,
    moved: Found,
    active: Found,
    locks: Ordered[LockFailed | ChannelClosed | ChannelExpired],
) -> Rebalance:
    """Settings at odds explain what they first appear with; then the nearest event does."""
    fresh = [known for known in active if before is None or known[1].at > before.over]
    names: list[str] = []
    members: tuple[str, ...] = ()
    if locked := _locked_by(each, before, locks):
        dead, waits = locked
        each = replace(each, events=(*waits[:2], *each.events))
        joins = [kind for kind, _ in came if kind == "member_joined"][:1]  # it takes what is free by now, too
        names, members = ["orderly_lock_held_by_dead_member", *joins], dead
    elif fresh or (active and not came and not moved):
        kind, event = (fresh or active)[0]
        names = [kind, "member_joined"] if came and came[0][0] == "member_joined" else [kind]
        members = (event.client,) if kind == "duplicate_client_id" and event.client else ()
    elif before is None and (not moved or came) and (came or not _had_queues(each)):
        names = ["member_joined"]
    elif moved and not any(kind in {"member_left", "connection_closed", "heartbeat_expired"} for kind, _ in came):
        names = list(dict.fromkeys(kind for kind, _ in reversed(moved)))
    elif came:
        kind = _main(came)
        names = list(dict.fromkeys([kind, *(known for known, _ in came)]))
        members = _of_kind(came, kind)
    causes = [Cause(name, _of_kind(came, name), _lines([*came, *moved, *active], name)) for name in names[1:]]
    if names:
        causes.insert(0, Cause(names[0], members, _lines([*came, *moved, *active], names[0]) or each.events[:2]))
    return replace(each, causes=tuple(causes))


def _of_kind(came: Found, kind: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(event.client for known, event in came if known == kind and event.client))


def _lines(found: Found, kind: str) -> tuple[Event, ...]:
    return tuple(event for known, event in found if known == kind)


def _main(came: Found) -> str:
    """A member that was dropped for its silence loses its connections, too: the first line says why."""
    kinds = [kind for kind, _ in came]
    for kind in ("heartbeat_expired", "member_left"):
        if kind in kinds and "member_rejoined" not in kinds:
            return kind
    return kinds[-1] if kinds[-1] == "member_rejoined" else kinds[0]


def _members(events: Sequence[Rocket], own: Container[str]) -> Found:
    """Members that came and went, as the brokers saw it, or else as the clients' own lines tell."""
    members: Found = []
    seen: set[str] = set()
    gone: set[str] = set()
    channels: dict[tuple[int, str], set[str]] = defaultdict(set)
    idle: dict[str, list[float]] = defaultdict(list)
    for event in events:
        if isinstance(event, ChannelIdle):
            idle[event.channel].append(event.at)
    with_brokers = any(isinstance(event, Connected) for event in events)
    for event in events:
        client = event.client
        if not client or client not in own:
            continue
        if isinstance(event, AtBroker):
            there = channels[(id(event.stream), client)]
            (there.discard if not isinstance(event, Connected) or event.is_late else there.add)(event.channel)
            if there and not isinstance(event, Connected | Unregistered):
                continue  # another connection of the client is there
        if isinstance(event, Connected):
            if client not in seen:
                members.append(("member_joined", event))
            elif client in gone:
                members.append(("member_rejoined", event))
                gone.discard(client)
            seen.add(client)
        elif isinstance(event, Unregistered | ChannelClosed | ChannelExpired) and client not in gone:
            members.append((_why_gone(event, idle.get(event.channel, [])), event))
            seen.add(client)
            gone.add(client)
        elif not with_brokers and isinstance(event, ClientSwitched):
            members.append(("member_joined" if event.what == "start" else "member_left", event))
    return members


def _why_gone(event: AtBroker, idle: Sequence[float]) -> str:
    if isinstance(event, Unregistered):
        return "member_left"
    if isinstance(event, ChannelExpired):
        return "heartbeat_expired"
    silent = event.place.hint is not None and event.at - event.place.hint > _HEARTBEAT_S
    return "heartbeat_expired" if silent or any(abs(event.at - at) < 3 for at in idle) else "connection_closed"


def _routes(events: Sequence[Rocket]) -> Found:
    """Brokers that went and came back, and topics whose number of queues changed, as the clients say when they saw it;
    of a broker's return its own line counts where no client's log is there."""
    routes: Found = []
    lost: set[str] = set()
    from_clients = any(isinstance(event, RouteChanged) for event in events)
    for event in events:
        if isinstance(event, BrokerLost):
            routes.append(("broker_down", event))
            lost.add(event.broker)
        elif isinstance(event, BrokerBooted) and event.broker in lost and not from_clients:
            routes.append(("broker_up", event))
        elif isinstance(event, RouteChanged) and not event.change.startswith("old[null]"):
            before, after = route_change(event.change)
            gone, new = before.keys() - after.keys(), after.keys() - before.keys()
            if gone and after:
                lost |= gone
                routes.append(("broker_down", event))
            elif new and new <= lost:
                routes.append(("broker_up", event))
            elif any(before[name] != after[name] for name in before.keys() & after.keys()):
                routes.append(("queues_changed", event))
    return routes


def _locked_by(
    each: Rebalance, before: Rebalance | None, locks: Ordered[LockFailed | ChannelClosed | ChannelExpired]
) -> tuple[tuple[str, ...], list[LockFailed]] | None:
    """The dead members whose locks the queues were waiting for that are taken now, with the lines of the waits; None
    where it is not that."""
    if before is None:
        return None
    taken = {_queue(event) for event in each.events if isinstance(event, QueueAdded)}
    waits = [
        event
        for event in locks.between(before.over, each.over)
        if isinstance(event, LockFailed) and _queue(event) in taken
    ]
    if not waits or each.at - waits[0].at < _LOCKED_S:
        return None
    gone = [event.client for event in locks.between(before.over - 5.0, each.at) if not isinstance(event, LockFailed)]
    return tuple(gone[-1:]), waits
