"""Join what all views tell into groups, and say what they leave out of a group that they tell in part.

Why a join: no view of mqadmin tells a group whole. ``consumerConnection`` lists members and no queues,
``consumerProgress`` lists queues with an owner's address and only topics of the last heartbeat, ``consumerStatus -i``
tells the queues of the one client that was asked. They are taken one after the other, so they may contradict.

Why so much is None: nobody shown is not the same as nobody there. A queue counts as unowned only where the views
together leave no other reading; else the group is told in part, with the reason, and figures that would need the rest
are missing. A false alarm about a queue without an owner would cost more trust than a figure that is not there.
"""

from collections.abc import Iterable, Mapping

from compare.reading.observed import FactGroup, Mode, ObservedGroup, ObservedMember, Partial
from compare.reading.rocketmq.fact_groups import sorted_facts
from compare.reading.rocketmq.facts import (
    Answered,
    BrokerLag,
    Connections,
    Fact,
    FullNames,
    GroupFact,
    GroupLine,
    Progress,
    Running,
)
from compare.reading.rocketmq.lines import is_retry
from compare.reading.rocketmq.ownership import Clients, Evidence, Ownership, find_clients, find_ownership
from compare.reading.rocketmq.popped import perhaps_popped, pop_notes, untold_too, why_perhaps, without_rows
from compare.reading.rocketmq.route import Routes
from compare.reading.rocketmq.subscribed import (
    KnownTopics,
    Names,
    Table,
    Topics,
    find_known_topics,
    find_topics,
    join_tables,
    lag_elsewhere,
)
from protocols import Queue, sort_queues


def what_is_missing(
    clients: Clients, ownership: Ownership, told: KnownTopics, topics: Topics, table: Table, listed: bool
) -> Partial | None:
    """None where every member, and all that each owns, is told. ``listed``: all members are."""
    silent = tuple(id for id, owned in ownership.owned.items() if owned is None)
    # Who owns nothing that is told at all is missing himself; what else he might own need not be named.
    untold = told.untold if table.shown is not None else ()
    reasons = list(_unlisted(clients, ownership, table)) if not listed else []
    if silent:
        reasons += ownership.why
    if told.perhaps_popped:
        reasons.append(why_perhaps(told.perhaps_popped))
    if missing := tuple(topic for topic in untold if topic not in told.perhaps_popped):
        reasons.append(_without_rows(missing, topics))
    if not told.everybody and not silent and listed and topics.subscriptions_differ:
        reasons.append("members that were not asked may read topics that no source shows, because subscriptions differ")
    elif not told.everybody and not silent and listed and topics.subscribed is None:
        reasons.append(
            "no source shows the subscriptions, which consumerConnection does, and consumerProgress omits topics"
            " without a stored offset"
        )
    return Partial(untold, silent, "; ".join(reasons)) if reasons else None


def is_deserted(clients: Clients, table: Table) -> bool:
    """Whether nobody is shown anywhere: no member is listed, and no queue has an owner."""
    return (
        not clients.connected and clients.count is None and bool(table.shown) and not any((table.shown or {}).values())
    )


def nobody_online(table: Table) -> str:
    """What rows without any owner look like, and what waits meanwhile (retry topics left out, as in the figures)."""
    waiting = sum(max(lag, 0) for queue, lag in table.lag.items() if not is_retry(queue.topic))
    records = "1 record waits" if waiting == 1 else f"{waiting or 'no'} records wait"
    return f"no member seems to be online, because no row of consumerProgress has an owner; {records}"


def _unlisted(clients: Clients, ownership: Ownership, table: Table) -> list[str]:
    """Why the members are not all known."""
    if is_deserted(clients, table):
        return [nobody_online(table)]
    if ownership.strangers and clients.listed:
        return ["some queues belong to addresses that no listed member has"]
    if clients.listed:
        return ["the list of members is incomplete"]
    return ["no line that can be read lists the members, as consumerConnection does"]


def _without_rows(untold: tuple[str, ...], topics: Topics) -> str:
    named = ", ".join(untold)
    if topics.subscriptions_differ:
        return (
            f"consumerProgress does not show all queues of {named}, because the members subscribe to different topics"
            " and the tool shows only those of the last heartbeat"
        )
    return f"consumerProgress may not show all queues of {named}, because some may have no stored offset yet"


_MOST_COMPLAINTS = 3


def join(facts: Iterable[Fact]) -> list[ObservedGroup]:
    """The groups that the facts of all sources tell of, by first mention."""
    found, told_routes = sorted_facts(facts)
    routes = Routes(told_routes)
    topics, brokers = FullNames(routes.topics), FullNames(routes.brokers)
    return [_group(fact_group, routes, topics, brokers) for fact_group in found]


def _group(
    fact_group: FactGroup[GroupFact], routes: Routes, route_topics: FullNames, route_brokers: FullNames
) -> ObservedGroup:
    asked = {fact.client_id: fact for fact in fact_group.facts if isinstance(fact, Running)}
    topics = find_topics(fact_group, asked.values(), routes)
    names = Names.of_group(fact_group.group, topics.subscribed or (), asked.values(), route_topics, route_brokers)
    table = join_tables((fact for fact in fact_group.facts if isinstance(fact, Progress)), names)
    clients = find_clients(fact_group.facts)
    broadcasting = any(
        fact.broadcasting for fact in fact_group.facts if isinstance(fact, Connections | Running | GroupLine)
    )
    mode: Mode = "broadcasting" if broadcasting else "pop" if topics.popped else "shared"
    perhaps = frozenset[str]() if mode != "shared" else perhaps_popped(table, topics, asked, clients.connected)
    table = without_rows(table, perhaps | topics.popped)
    told = untold_too(find_known_topics(topics, table, clients, asked), perhaps)
    ownership = find_ownership(_evidence(clients, asked, None if broadcasting else table.shown, told, topics))
    routed = [queue for queues in topics.routed.values() for queue in queues]
    queues = {*table.lag, *routed, *(queue for running in asked.values() for queue in running.owned or ())}
    members = _members(clients, asked, ownership, _subscription(fact_group, topics, ownership))
    offline = not clients.connected and clients.count == 0
    listed = clients.complete and not ownership.strangers
    elsewhere = lag_elsewhere((fact for fact in fact_group.facts if isinstance(fact, BrokerLag)), names)
    shares = mode == "shared" and not offline
    partial = what_is_missing(clients, ownership, told, topics, table, listed) if shares else None
    orderly = [running.orderly for running in asked.values() if running.orderly is not None]
    lag = {**{queue: lag for queue, lag in elsewhere.items() if not queues or queue in queues}, **table.lag}
    brokers = {queue.broker for queue in lag}
    silent = [queue for queue in sort_queues(queues) if lag and queue.broker not in brokers]
    return ObservedGroup(
        system="rocketmq",
        name=fact_group.group,
        mode=mode,
        state="OFFLINE" if offline else "ONLINE" if clients.connected or clients.count else None,
        strategy=topics.strategies[0] if len(topics.strategies) == 1 else None,
        strategies=topics.strategies,
        subscriptions_differ=topics.subscriptions_differ,
        members_disagree=not ownership.members_agree,
        members=members if listed else () if offline else None,
        queues=sort_queues(queues) or None,
        lag={**lag, **dict.fromkeys(silent)},
        sources=tuple(dict.fromkeys(fact.source.name for fact in fact_group.facts)),
        notes=(
            *_notes(fact_group, clients, ownership, topics, table),
            *(pop_notes(table, asked, clients.connected) if mode == "pop" else ()),
        ),
        seen=() if listed else members,
        member_count=None if listed else clients.count,
        unowned=_unowned(ownership, table, topics, told, queues),
        partial=partial,
        orderly=any(orderly) if orderly else None,
        missing_topics=topics.missing,
        seems_deserted=mode == "shared" and is_deserted(clients, table),
        ends=_ends(fact_group),
        endless=tuple(silent),
    )


def _evidence(
    clients: Clients,
    asked: Mapping[str, Running],
    shown: Mapping[Queue, str | None] | None,
    told: KnownTopics,
    topics: Topics,
) -> Evidence:
    return Evidence(
        ids=tuple(clients.connected),
        twice=any(count > 1 for count in clients.connected.values()),
        heard=clients.heard,
        asked={id: running.owned for id, running in asked.items()},
        shown=shown,
        whole=told.whole,
        alike=not topics.differences,
        one_rule=told.one_rule,
        untold=any(not is_retry(topic) for topic in told.untold),
        nobodys=told.nobodys,
        connected=clients.by_connection,
    )


def _ends(fact_group: FactGroup[GroupFact]) -> dict[Queue, int]:
    return {queue: end for fact in fact_group.facts if isinstance(fact, Progress) for queue, end in fact.ends.items()}


def _unowned(
    ownership: Ownership, table: Table, topics: Topics, told: KnownTopics, queues: Iterable[Queue]
) -> tuple[Queue, ...] | None:
    """Queues that nobody owns, of the topics that are told; None where the table does not tell them all."""
    if table.shown is None or not table.complete or topics.popped or ownership.unowned is None:
        return None
    untold = {*told.untold, *topics.missing}
    known = table.shown.keys() | told.nobodys
    if any(queue not in known and queue not in told.claimed and queue.topic not in untold for queue in queues):
        return None
    return tuple(queue for queue in ownership.unowned if queue.topic not in untold)


def _subscription(fact_group: FactGroup[GroupFact], topics: Topics, ownership: Ownership) -> tuple[str, ...] | None:
    """What members who were not asked subscribe to: what the group's last heartbeat said, unless they differ."""
    told = [fact.topics for fact in fact_group.facts if isinstance(fact, Connections) and fact.topics is not None]
    return told[-1] if told and not topics.differences and ownership.members_agree else None


def _members(
    clients: Clients, asked: dict[str, Running], ownership: Ownership, subscription: tuple[str, ...] | None
) -> tuple[ObservedMember, ...]:
    return tuple(
        ObservedMember(
            id=id,
            owned=ownership.owned[id],
            client_id=id,
            host=clients.hosts.get(id),
            subscription=asked[id].topics if id in asked else subscription,
        )
        for id, connections in clients.connected.items()
        for _ in range(connections)
    )


def _notes(
    fact_group: FactGroup[GroupFact], clients: Clients, ownership: Ownership, topics: Topics, table: Table
) -> Iterable[str]:
    if fact_group.group == fact_group.facts[0].source.name:
        yield "the text does not name the group, expected NAME=FILE"
    yield from clients.notes
    yield from topics.differences
    yield from ownership.notes
    if ownership.strangers and clients.listed:
        yield (
            f"{', '.join(ownership.strangers)} own queues, but no listed member has this address: the views were"
            " taken at different times"
        )
    if table.moved:
        yield f"two consumerProgress outputs show {table.moved} queues for different members: the later output counts"
    if is_deserted(clients, table):
        yield nobody_online(table)
    yield from (f"topic {topic}, which members subscribe to, does not exist" for topic in topics.missing)
    for topic in topics.previewed:
        yield f"the queues of {topic} come from allocateMQ, whose owners are a preview and not the actual ones"
    complaints = [line for fact in fact_group.facts if isinstance(fact, Answered) for line in fact.complaints]
    yield from complaints[:_MOST_COMPLAINTS]
    if len(complaints) > _MOST_COMPLAINTS:
        yield f"consumerStatus prints {len(complaints) - _MOST_COMPLAINTS} more warnings of this kind"
