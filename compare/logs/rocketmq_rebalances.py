"""RocketMQ's rebalances: there is no generation, so a rebalance is a cluster of changes of a group's owners."""

from collections import defaultdict
from collections.abc import Sequence

from compare.logs.facts import Fact, Stream
from compare.logs.rebalances import GroupLog, Rebalance

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
