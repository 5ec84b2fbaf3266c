"""RocketMQ's rebalances: there is no generation, so a rebalance is a cluster of changes of a group's owners."""

from collections.abc import Sequence

from compare.logs.facts import Fact, Stream
from compare.logs.rebalances import GroupLog, Rebalance

APART_S = 6.0
"""Changes of ownership that are further apart belong to different rebalances."""

_CHANGES = frozenset({"r_added", "r_removed"})
_AT_ONCE = (-1.2, 0.5)
"""Seconds by which a broker's line may seem to come after a version that a client has just set: lines have whole
seconds. An older version is that of the subscription itself, from the start of the client."""

_MEMBERSHIP = frozenset({"r_connected", "r_unregistered", "r_closed", "r_expired"})


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
    _pauses(log, changes)


def _is_new_version(fact: Fact) -> bool:
    """Whether a broker heard that a client's queues changed: the client then sets the version of its subscription to
    the time and sends it at once. The fact is dated by that."""
    if fact.kind != "r_version" or fact.hint is None or fact.at is None:
        return False
    if not _AT_ONCE[0] <= fact.at - fact.hint <= _AT_ONCE[1]:
        return False
    fact.at = fact.hint
    return True


def _pauses(log: GroupLog, changes: Sequence[Fact]) -> None:
    """How long queues that changed hands had no owner, by the client that took them."""
    free: dict[tuple[str, str | None, int | None], float] = {}
    for fact in changes:
        assert fact.at is not None
        queue = fact.text, fact.instance, fact.generation
        if fact.kind == "r_removed":
            free[queue] = fact.at
        elif fact.kind == "r_added" and queue in free:
            gap = fact.at - free.pop(queue)
            owner = next((each for each in log.rebalances if fact in each.facts), None)
            if owner is not None and fact.client and gap > 0:
                owner.pauses[fact.client] = max(gap, owner.pauses.get(fact.client, 0.0))
