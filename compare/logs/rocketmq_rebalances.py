"""RocketMQ's rebalances: there is no generation, so a rebalance is a cluster of changes of a group's owners.

Why the owners of a RocketMQ group changed: members that came and went, brokers, routes, and settings at odds.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Sequence

from compare.logs.facts import Fact, GroupLog, Ordered, Rebalance, Stream
from compare.logs.rocketmq_lines import route_change

APART_S = 6.0
"""Changes of ownership that are further apart belong to different rebalances."""

_CHANGES = frozenset({"r_added", "r_removed"})
_AT_ONCE = (-1.2, 0.5)
"""Seconds by which a broker's line may seem to come after a version that a client has just set: lines have whole
seconds. An older version is that of the subscription itself, from the start of the client."""

_ENDS = frozenset({"r_unregistered", "r_closed"})
_MEMBERSHIP = frozenset({"r_connected", "r_unregistered", "r_closed", "r_expired"})


_Queue = tuple[str, str | None, int | None]
"""Topic, broker, number."""


def give_clients(streams: Sequence[Stream]) -> None:
    """Lines about queues name no client: set the one that the process said it was, before or after."""
    for stream in streams:
        own = [fact for fact in stream.facts if fact.kind in {"r_client", "r_result"} and fact.client]
        if not own:
            continue
        current, coming = own[0].client, iter([*own, None])
        following = next(coming)
        for fact in stream.facts:
            if fact is following:
                current, following = fact.client, next(coming, None)
            if fact.kind.startswith("r_") and fact.client is None and stream.role == "client":
                fact.client = current


def expired_clients(facts: Sequence[Fact]) -> None:
    """A scan that drops a channel names its address only: the client that connected from there."""
    for fact in facts:
        if fact.kind == "r_expired" and fact.client is None:
            owners = [known.client for known in facts if known.kind == "r_connected" and known.text == fact.text]
            fact.client = owners[-1] if owners else None


def find_rocketmq_rebalances(log: GroupLog) -> None:
    """Fill the log's rebalances, in order of time, with their changes as evidence; causes are not looked for here."""
    facts = sorted((fact for fact in log.facts if fact.at is not None), key=lambda fact: fact.at or 0.0)
    log.broker_seen = any(fact.stream.role == "broker" for fact in facts)
    log.clients_seen = any(fact.kind in _CHANGES for fact in facts)
    changes = [fact for fact in facts if fact.kind in _CHANGES or _is_new_version(fact)]
    changes = sorted(changes or (fact for fact in facts if fact.kind in _MEMBERSHIP), key=lambda fact: fact.at or 0.0)
    clusters: list[list[Fact]] = []
    for fact in changes:
        if clusters and (fact.at or 0.0) - (clusters[-1][-1].at or 0.0) <= APART_S:
            clusters[-1].append(fact)
        else:
            clusters.append([fact])
    for cluster in clusters:
        each = Rebalance(log.group, begun=cluster[0].at, facts=cluster, first=cluster[0].at or 0.0)
        each.stabilized = each.ready = cluster[-1].at
        log.rebalances.append(each)
    _pauses(log, facts)


def _is_new_version(fact: Fact) -> bool:
    """Whether a broker heard that a client's queues changed: the client then sets the version of its subscription to
    the time and sends it at once. The fact is dated by that."""
    if fact.kind != "r_version" or fact.hint is None or fact.at is None:
        return False
    if not _AT_ONCE[0] <= fact.at - fact.hint <= _AT_ONCE[1]:
        return False
    fact.at = fact.hint
    return True


def _pauses(log: GroupLog, facts: Sequence[Fact]) -> None:
    """How long queues that changed hands had no owner, by the client that took them. A client that closes or dies gives
    up all of its queues; one that is frozen owns on."""
    owners: dict[_Queue, set[str | None]] = defaultdict(set)
    free: dict[_Queue, float] = {}
    of_fact = {id(fact): each for each in log.rebalances for fact in each.facts}
    for fact in facts:
        assert fact.at is not None
        queue = fact.text, fact.instance, fact.generation
        if fact.kind in _ENDS:
            given_up = [known for known, those in owners.items() if fact.client in those]
        else:
            given_up = [queue] if fact.kind == "r_removed" else []
        for each in given_up:
            owners[each].discard(fact.client)
            if not owners[each]:
                free[each] = fact.at
        if fact.kind == "r_added":
            owners[queue].add(fact.client)
            begun, rebalance = free.pop(queue, fact.at), of_fact[id(fact)]
            if fact.client and fact.at > begun:
                spans = [(begun, fact.at), rebalance.pauses.get(fact.client, (begun, begun))]
                rebalance.pauses[fact.client] = max(spans, key=lambda span: span[1] - span[0])


_Found = list[tuple[str, Fact]]

_BEFORE_S = 45.0
"""A client acts on a change at the latest with its next poll of routes (30 s) and its next pass (20 s)."""

_LATE_S = 1.5
"""Brokers log whole seconds: an event may seem to come after what it caused."""

_LOCKED_S = 5.0
"""Locks of living members are given free at once, those of dead ones after a minute."""

_HEARTBEAT_S = 35.0
"""Clients send heartbeats every 30 s: a connection that closes later after the last one was dropped as idle."""


def find_rocketmq_causes(log: GroupLog, shared: Sequence[Fact]) -> None:
    """Set the log's moves, and cause, causes and members of every rebalance.

    ``shared``: facts of no group (brokers, routes, channels).
    """
    facts = sorted((fact for fact in [*log.facts, *shared] if fact.at is not None), key=lambda fact: fact.at or 0.0)
    conditions = _conditions(log, facts)
    members = log.moves = _members(facts, {fact.client for fact in log.facts})
    routes = _routes(facts)
    locks = Ordered(facts).of("r_lock_failed", "r_closed", "r_expired")
    last = float("-inf")
    before: Rebalance | None = None
    for rebalance in log.rebalances:
        end = (rebalance.end or rebalance.at) + _LATE_S
        since = max(last, rebalance.at - _BEFORE_S) if before else float("-inf")
        came = _within(members, since, end)
        moved = [known for known in _within(routes, since, end) if not came or known[1].kind != "r_booted"]
        active = [known for known in conditions if (known[1].at or 0.0) <= end]
        _judge(rebalance, before, came, moved, active, locks)
        rebalance.facts = [fact for _, fact in [*[*came, *moved][:6], *active[:3]]] + rebalance.facts[:12]
        rebalance.follow_up = bool(before and rebalance.cause == before.cause and rebalance.cause in _LASTING)
        last, before = end - _LATE_S, rebalance


def _within(found: _Found, since: float, end: float) -> _Found:
    first = bisect_right(found, since, key=_when)
    return found[first : bisect_right(found, end, key=_when)]


def _when(known: tuple[str, Fact]) -> float:
    return known[1].at or 0.0


_LASTING = frozenset({"mixed_strategies", "inconsistent_subscription", "duplicate_client_id"})


def _judge(
    each: Rebalance, before: Rebalance | None, came: _Found, moved: _Found, active: _Found, locks: Ordered
) -> None:
    """Settings at odds explain what they first appear with; then the nearest event does."""
    fresh = [known for known in active if before is None or (known[1].at or 0.0) > (before.end or before.at)]
    dead = _locked_by(each, before, locks)
    if dead is not None:
        each.causes, each.members = ["orderly_lock_held_by_dead_member"], dead
    elif fresh or (active and not came and not moved):
        kind, fact = (fresh or active)[0]
        each.causes = [kind, "member_joined"] if came and came[0][0] == "member_joined" else [kind]
        each.members = [fact.client] if kind == "duplicate_client_id" and fact.client else []
    elif before is None and (not moved or came):
        each.causes = ["member_joined"]
    elif moved and not any(kind in {"member_left", "connection_closed", "heartbeat_expired"} for kind, _ in came):
        each.causes = list(dict.fromkeys(kind for kind, _ in reversed(moved)))
    elif came:
        kind = _main(came)
        each.causes = list(dict.fromkeys([kind, *(known for known, _ in came)]))
        each.members = list(dict.fromkeys(fact.client for known, fact in came if known == kind and fact.client))
    each.cause = each.causes[0] if each.causes else None


def _main(came: _Found) -> str:
    """A member that was dropped for its silence loses its connections, too: the first line says why."""
    kinds = [kind for kind, _ in came]
    for kind in ("heartbeat_expired", "member_left"):
        if kind in kinds and "member_rejoined" not in kinds:
            return kind
    return kinds[-1] if kinds[-1] == "member_rejoined" else kinds[0]


def _members(facts: Sequence[Fact], own: Container[str | None]) -> _Found:
    """Members that came and went, as the brokers saw it, or else as the clients' own lines tell."""
    members: _Found = []
    there: dict[str, set[str]] = defaultdict(set)
    seen: set[str] = set()
    gone: set[str] = set()
    idle = [(fact.text, fact.at or 0.0) for fact in facts if fact.kind == "r_idle"]
    with_brokers = any(fact.kind == "r_connected" for fact in facts)
    for fact in facts:
        client = fact.client
        if client is None or fact.at is None or client not in own:
            continue
        if fact.kind == "r_connected":
            if client not in seen:
                members.append(("member_joined", fact))
            elif client in gone:
                members.append(("member_rejoined", fact))
                gone.discard(client)
            seen.add(client)
            there[client].add(fact.text)
        elif fact.kind in {"r_unregistered", "r_closed", "r_expired"} and client not in gone:
            there[client].discard(fact.text)
            members.append((_why_gone(fact, idle), fact))
            gone.add(client)
        elif not with_brokers and fact.kind == "r_client":
            members.append(("member_left" if client in seen else "member_joined", fact))
            (seen.discard if client in seen else seen.add)(client)
    return members


def _why_gone(fact: Fact, idle: Sequence[tuple[str, float]]) -> str:
    if fact.kind == "r_unregistered":
        return "member_left"
    if fact.kind == "r_expired":
        return "heartbeat_expired"
    at = fact.at or 0.0
    silent = fact.hint is not None and at - fact.hint > _HEARTBEAT_S
    if silent or any(text == fact.text and abs(at - when) < 3 for text, when in idle):
        return "heartbeat_expired"
    return "connection_closed"


def _routes(facts: Sequence[Fact]) -> _Found:
    """Brokers that went and came back, and topics whose number of queues changed, as the clients say when they saw it;
    of a broker's return its own line counts where no client's log is there."""
    routes: _Found = []
    lost: set[str] = set()
    from_clients = any(fact.kind == "r_route" for fact in facts)
    for fact in facts:
        if fact.kind == "r_broker_lost":
            routes.append(("broker_down", fact))
            lost.add(fact.text)
        elif fact.kind == "r_booted" and fact.text in lost and not from_clients:
            routes.append(("broker_up", fact))
        elif fact.kind == "r_route" and not fact.text.startswith("old[null]"):
            before, after = route_change(fact.text)
            gone, new = before.keys() - after.keys(), after.keys() - before.keys()
            if gone and after:
                lost |= gone
                routes.append(("broker_down", fact))
            elif new and new <= lost:
                routes.append(("broker_up", fact))
            elif any(before[name] != after[name] for name in before.keys() & after.keys()):
                routes.append(("queues_changed", fact))
    return routes


def _conditions(log: GroupLog, facts: Sequence[Fact]) -> _Found:
    """Settings of the members that do not agree, with the line that shows it first."""
    conditions: _Found = []
    strategies: dict[str, str] = {}
    for fact in log.facts:
        if fact.kind == "r_result" and fact.client:
            strategies[fact.client] = fact.text
            if len(set(strategies.values())) > 1:
                conditions.append(("mixed_strategies", _first_of_strategy(log, fact)))
                break
    if not any(fact.kind == "r_unsubscribed" for fact in facts) and (odd := _other_topics(log)):
        conditions.append(("inconsistent_subscription", odd))
    removed = [fact for fact in facts if fact.kind == "r_unsubscribed"]
    topics = {fact.text for fact in removed}
    if len(removed) > 1 and (len(topics) > 1 or _again(removed)):
        conditions.append(("inconsistent_subscription", removed[0]))
    if twin := _duplicate(facts):
        conditions.append(("duplicate_client_id", twin))
    return conditions


def _first_of_strategy(log: GroupLog, fact: Fact) -> Fact:
    """The first line of the strategy that came second."""
    results = sorted((each for each in log.facts if each.kind == "r_result"), key=lambda each: each.at or 0.0)
    first = results[0].text
    return next((result for result in results if result.text != first), fact)


def _other_topics(log: GroupLog) -> Fact | None:
    """The first result of a topic whose route another member of the group never asked for."""
    asked: dict[str, set[str | None]] = defaultdict(set)
    results = [
        fact for fact in log.facts if fact.kind == "r_result" and not (fact.instance or "").startswith("%RETRY%")
    ]
    for fact in results:
        if fact.client:
            asked[fact.client] |= {each.instance for each in fact.stream.facts if each.kind in {"r_route", "r_result"}}
    topics = {fact.instance for fact in results}
    odd = next(
        (topic for topic in sorted(filter(None, topics)) if any(topic not in own for own in asked.values())), None
    )
    return next((fact for fact in results if fact.instance == odd), None) if odd else None


def _again(removed: Sequence[Fact]) -> bool:
    """One broker removed the same topic twice: somebody brought it back in between."""
    seen = [(id(fact.stream), fact.text) for fact in removed]
    return len(seen) != len(set(seen))


def _duplicate(facts: Sequence[Fact]) -> Fact | None:
    """A client id that a broker has twice at a time, or that two processes log as their own."""
    there: dict[tuple[int, str], str] = {}
    own: dict[str, Fact] = {}
    for fact in facts:
        client = fact.client
        if fact.kind == "r_booted":  # a broker that was restarted knows nobody
            there = {key: text for key, text in there.items() if key[0] != id(fact.stream)}
        if client is None:
            continue
        key = id(fact.stream), client
        if fact.kind == "r_connected":
            if key in there and there[key] != fact.text and not _reconnected(fact, there[key], facts):
                return fact
            there[key] = fact.text
        elif fact.kind in {"r_unregistered", "r_closed", "r_expired"}:
            there.pop(key, None)
        elif fact.kind in {"r_client", "r_result"} and fact.stream.role == "client":
            other = own.setdefault(client, fact)
            if other.stream is not fact.stream:
                return fact
    return None


def _reconnected(new: Fact, old: str, facts: Sequence[Fact]) -> bool:
    """Whether a second connection of a client follows the end of the first: the broker says so a little later, was
    restarted, or others connect anew with it."""
    at = new.at or 0.0
    for fact in facts:
        when = (fact.at or 0.0) - at
        if fact.kind == "r_closed" and fact.stream is new.stream and fact.text == old and abs(when) < _BEFORE_S:
            return True
    others: set[str | None] = set()
    earlier: set[str | None] = set()
    for fact in facts:
        if fact.kind == "r_connected" and fact.stream is new.stream:
            when = (fact.at or 0.0) - at
            if abs(when) < _BEFORE_S:
                others.add(fact.client)
            elif when < -_BEFORE_S:
                earlier.add(fact.client)
    return len(others & earlier) > 1


def _locked_by(each: Rebalance, before: Rebalance | None, locks: Ordered) -> list[str] | None:
    """The dead members whose locks the queues were waiting for that are taken now; None where it is not that."""
    if before is None:
        return None
    taken = {(fact.text, fact.instance, fact.generation): fact for fact in each.facts if fact.kind == "r_added"}
    since = before.end or before.at
    waits = [
        fact
        for fact in locks.between(since, each.end or each.at)
        if fact.kind == "r_lock_failed" and (fact.text, fact.instance, fact.generation) in taken
    ]
    if not waits or each.at - (waits[0].at or 0.0) < _LOCKED_S:
        return None
    gone = [fact.client for fact in locks.between(since - 5.0, each.at) if fact.kind != "r_lock_failed" and fact.client]
    each.facts = [*waits[:2], *each.facts]
    return gone[-1:]
