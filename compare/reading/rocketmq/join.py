"""Join what all views tell into groups."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from compare.reading.observed import Mode, ObservedGroup, ObservedMember
from compare.reading.rocketmq.cut import FullNames
from compare.reading.rocketmq.facts import (
    Answered,
    BrokerLag,
    Connections,
    Fact,
    GroupLine,
    Progress,
    Running,
)
from compare.reading.rocketmq.lots import Lot, lots
from compare.reading.rocketmq.members import Clients, find_clients
from compare.reading.rocketmq.ownership import Evidence, Ownership, find_ownership
from compare.reading.rocketmq.retry import is_retry
from compare.reading.rocketmq.routes import Routes
from compare.reading.rocketmq.tables import Names, Table, join_tables, lag_elsewhere
from protocols import Queue, sort_queues

_MOST_COMPLAINTS = 3


def join(facts: Iterable[Fact]) -> list[ObservedGroup]:
    """The groups that the facts of all sources tell of, by first mention."""
    found, told_routes = lots(facts)
    routes = Routes(told_routes)
    topics, brokers = FullNames(routes.topics), FullNames(routes.brokers)
    return [_group(lot, routes, topics, brokers) for lot in found]


@dataclass(frozen=True, slots=True)
class _Topics:
    """What a group subscribes to, retry topics left out. ``subscribed`` is None where nothing tells.

    ``routed``: the queues of those topics whose route is known. ``popped``: topics whose queues are nobody's in
    particular. ``differences``: why members are known to differ.
    """

    subscribed: tuple[str, ...] | None
    routed: tuple[Queue, ...]
    popped: frozenset[str]
    differences: tuple[str, ...]
    subscriptions_differ: bool
    previewed: tuple[str, ...]


def _group(lot: Lot, routes: Routes, route_topics: FullNames, route_brokers: FullNames) -> ObservedGroup:
    asked = {fact.client_id: fact for fact in lot.facts if isinstance(fact, Running)}
    topics = _topics(lot, asked.values(), routes)
    names = Names.of_group(lot.group, topics.subscribed or (), asked.values(), route_topics, route_brokers)
    table = join_tables((fact for fact in lot.facts if isinstance(fact, Progress)), names)
    clients = find_clients(lot.facts)
    broadcasting = any(fact.broadcasting for fact in lot.facts if isinstance(fact, Connections | Running | GroupLine))
    mode: Mode = "broadcasting" if broadcasting else "pop" if topics.popped else "shared"
    ownership = find_ownership(
        Evidence(
            ids=tuple(clients.connected),
            twice=any(count > 1 for count in clients.connected.values()),
            heard=clients.heard,
            asked={id: running.owned for id, running in asked.items()},
            shown=None if broadcasting else table.shown,
            covered=_covered(table, topics),
            alike=not topics.differences,
        )
    )
    queues = {*table.lag, *topics.routed, *(queue for running in asked.values() for queue in running.owned or ())}
    members = _members(clients, asked, ownership, _subscription(lot, topics, ownership))
    offline = not clients.connected and clients.count == 0
    listed = clients.complete and not ownership.strangers
    strategies = list(dict.fromkeys(running.strategy for running in asked.values() if running.strategy))
    elsewhere = lag_elsewhere((fact for fact in lot.facts if isinstance(fact, BrokerLag)), names)
    return ObservedGroup(
        system="rocketmq",
        name=lot.group,
        mode=mode,
        state="OFFLINE" if offline else "ONLINE" if clients.connected or clients.count else None,
        strategy=strategies[0] if len(strategies) == 1 else None,
        strategies=tuple(strategies),
        subscriptions_differ=topics.subscriptions_differ,
        members_disagree=not ownership.members_agree,
        members=members if listed else () if offline else None,
        queues=sort_queues(queues) or None,
        lag={**{queue: lag for queue, lag in elsewhere.items() if not queues or queue in queues}, **table.lag},
        sources=tuple(dict.fromkeys(fact.source.name for fact in lot.facts)),
        notes=tuple(_notes(lot, clients, ownership, topics, table)),
        seen=() if listed else members,
        member_count=None if listed else clients.count,
        unowned=ownership.unowned if _tells_unowned(table, topics, queues) else None,
    )


def _topics(lot: Lot, asked: Collection[Running], routes: Routes) -> _Topics:
    told = [fact.topics for fact in lot.facts if isinstance(fact, Connections) and fact.topics is not None]
    told += [running.topics for running in asked]
    subscriptions = [tuple(topic for topic in each if not is_retry(topic)) for each in told]
    subscribed = tuple(dict.fromkeys(topic for each in subscriptions for topic in each))
    near = [route for topic in subscribed if (route := routes.near(topic, lot.places)) is not None]
    same = [fact.same_subscription for fact in lot.facts if isinstance(fact, Answered)]
    strategies = dict.fromkeys(running.strategy for running in asked if running.strategy)
    differences = []
    subscriptions_differ = False in same or len({frozenset(each) for each in subscriptions}) > 1
    if subscriptions_differ:
        differences.append(
            "members of one group subscribe to different topics: queues of each topic are dealt out to members"
            " that do not read it; give all members the same subscription"
        )
    if len(strategies) > 1:
        differences.append(
            f"members of one group use different strategies ({', '.join(strategies)}): some queues get several"
            " owners, others none; give all members the same strategy"
        )
    return _Topics(
        subscribed=subscribed if told else None,
        routed=tuple(queue for route in near for queue in route.queues),
        popped=frozenset(topic for running in asked for topic in running.popped),
        differences=tuple(differences),
        subscriptions_differ=subscriptions_differ,
        previewed=tuple(route.topic for route in near if route.preview),
    )


def _covered(table: Table, topics: _Topics) -> bool:
    """Whether every queue that a member may own is in the table."""
    if table.shown is None or not table.complete:
        return False
    with_rows = {queue.topic for queue in table.shown}
    if topics.subscribed is None:
        # Limited to one topic (-t), the table has no retry topic.
        return any(map(is_retry, with_rows))
    return all(topic in with_rows or topic in topics.popped for topic in topics.subscribed) and all(
        queue in table.shown or queue.topic in topics.popped for queue in topics.routed
    )


def _tells_unowned(table: Table, topics: _Topics, queues: Iterable[Queue]) -> bool:
    return (
        table.shown is not None
        and table.complete
        and not topics.popped
        and all(queue in table.shown for queue in queues)
    )


def _subscription(lot: Lot, topics: _Topics, ownership: Ownership) -> tuple[str, ...] | None:
    """What members who were not asked subscribe to: what the group's last heartbeat said, unless they differ."""
    told = [fact.topics for fact in lot.facts if isinstance(fact, Connections) and fact.topics is not None]
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


def _notes(lot: Lot, clients: Clients, ownership: Ownership, topics: _Topics, table: Table) -> Iterable[str]:
    if lot.group == lot.facts[0].source.name:
        yield "the text does not name the group, expected NAME=FILE"
    yield from clients.notes
    yield from topics.differences
    yield from ownership.notes
    if ownership.strangers and clients.listed:
        yield (
            f"{', '.join(ownership.strangers)} own queues, but no listed member has such an address: the views are of"
            " different moments"
        )
    if table.moved:
        yield f"{table.moved} queues are shown for different members by two consumerProgress: the later one counts"
    if table.shown is not None and topics.subscribed is not None:
        with_rows = {queue.topic for queue in table.shown}
        silent = [topic for topic in topics.subscribed if topic not in with_rows and topic not in topics.popped]
        if silent and clients.connected:
            yield f"consumerProgress has no rows of {', '.join(silent)}: who owns those queues is told by nobody yet"
    for topic in topics.previewed:
        yield f"the queues of {topic} are taken from allocateMQ; who owns them in that preview is not who does"
    complaints = [line for fact in lot.facts if isinstance(fact, Answered) for line in fact.complaints]
    yield from complaints[:_MOST_COMPLAINTS]
    if len(complaints) > _MOST_COMPLAINTS:
        yield f"consumerStatus has {len(complaints) - _MOST_COMPLAINTS} more complaints of this kind"
