"""What a group subscribes to, and of which topics the sources tell who owns the queues."""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass

from compare.reading.rocketmq.agreement import Seen, nobodys
from compare.reading.rocketmq.fact_groups import FactGroup
from compare.reading.rocketmq.facts import Answered, Connections, Running
from compare.reading.rocketmq.members import Clients
from compare.reading.rocketmq.retry import is_retry
from compare.reading.rocketmq.routes import Routes
from compare.reading.rocketmq.tables import Table
from protocols import Queue


@dataclass(frozen=True, slots=True)
class Topics:
    """What a group subscribes to, retry topics left out. ``subscribed`` is None where nothing tells.

    ``routed``: to each of those topics its queues, if its route is known. ``retry``: the group's retry topic, if the
    subscription names it. ``popped``: topics whose queues are nobody's in particular. ``differences``: why members
    are known to differ. ``previewed``: topics whose queues only a preview tells. ``missing``: topics that do not
    exist.
    """

    subscribed: tuple[str, ...] | None
    routed: Mapping[str, tuple[Queue, ...]]
    retry: tuple[str, ...]
    popped: frozenset[str]
    differences: tuple[str, ...]
    subscriptions_differ: bool
    strategies: tuple[str, ...]
    previewed: tuple[str, ...]
    missing: tuple[str, ...]


def find_topics(fact_group: FactGroup, asked: Collection[Running], routes: Routes) -> Topics:
    """What the group's sources tell of its topics."""
    told = [fact.topics for fact in fact_group.facts if isinstance(fact, Connections) and fact.topics is not None]
    told += [running.topics for running in asked]
    subscriptions = [tuple(topic for topic in each if not is_retry(topic)) for each in told]
    subscribed = tuple(dict.fromkeys(topic for each in subscriptions for topic in each))
    near = [route for topic in subscribed if (route := routes.near(topic, fact_group.places)) is not None]
    same = [fact.same_subscription for fact in fact_group.facts if isinstance(fact, Answered)]
    strategies = tuple(dict.fromkeys(running.strategy for running in asked if running.strategy))
    differences = []
    subscriptions_differ = False in same or len({frozenset(each) for each in subscriptions}) > 1
    if subscriptions_differ:
        differences.append(
            "members of one group subscribe to different topics, so queues of each topic are allocated to members"
            " that do not read it; give all members the same subscription"
        )
    if len(strategies) > 1:
        differences.append(
            f"members of one group use different strategies ({', '.join(strategies)}): some queues get several"
            " owners, others none; give all members the same strategy"
        )
    return Topics(
        subscribed=subscribed if told else None,
        routed={route.topic: route.queues for route in near},
        retry=tuple(dict.fromkeys(topic for each in told for topic in each if is_retry(topic))),
        popped=frozenset(topic for running in asked for topic in running.popped),
        differences=tuple(differences),
        subscriptions_differ=subscriptions_differ,
        strategies=strategies,
        previewed=tuple(route.topic for route in near if route.preview),
        missing=tuple(topic for topic in subscribed if routes.is_missing(topic)),
    )


@dataclass(frozen=True, slots=True)
class KnownTopics:
    """``untold``: topics of whose queues too little is told, sorted. ``whole``: the table lacks no row of the others.
    ``everybody``: every member was asked and tells what it owns. ``claimed``: queues that members who were asked own.
    ``one_rule`` and ``nobodys`` are those of `compare.reading.rocketmq.ownership.Evidence`.
    """

    untold: tuple[str, ...]
    whole: bool
    everybody: bool
    claimed: Set[Queue]
    one_rule: bool
    nobodys: frozenset[Queue]


def find_known_topics(topics: Topics, table: Table, clients: Clients, asked: Mapping[str, Running]) -> KnownTopics:
    """Which topics the table, and those members who were asked, tell."""
    claimed = {queue for running in asked.values() for queue in running.owned or ()}
    shown = table.shown or {}
    unread: frozenset[Queue] | None = None
    if topics.subscriptions_differ and len(topics.strategies) < 2 and table.complete:
        unread = nobodys(_seen(topics, shown, clients, asked), topics.strategies)
    told = shown.keys() | claimed | (unread or frozenset())
    everybody = bool(clients.connected) and all(id in asked and asked[id].owned is not None for id in clients.connected)
    if everybody:
        untold: set[str] = set()
    else:
        # CONFIG hands out listed queues only, so that the retry topic's are nobody's and never get an offset.
        names = [*(topics.subscribed or ()), *(() if "CONFIG" in topics.strategies else topics.retry)]
        untold = {
            topic for topic in names if topic not in topics.popped and not _tells(topic, topics, shown.keys(), told)
        }
    return KnownTopics(
        untold=tuple(sorted(untold - set(topics.missing))),
        # Limited to one topic (-t), the table has no retry topic; only the subscription tells what it lacks.
        whole=table.complete and (topics.subscribed is not None or any(is_retry(queue.topic) for queue in shown)),
        everybody=everybody,
        claimed=claimed,
        one_rule=unread is not None,
        nobodys=unread or frozenset(),
    )


def _tells(topic: str, topics: Topics, shown: Iterable[Queue], told: Set[Queue]) -> bool:
    if topics.routed.get(topic):
        return all(queue in told for queue in topics.routed[topic])
    # Without a route the rows are all there is.
    return any(queue.topic == topic for queue in shown)


def _seen(topics: Topics, shown: Mapping[Queue, str | None], clients: Clients, asked: Mapping[str, Running]) -> Seen:
    rows: dict[str, dict[Queue, str | None]] = {}
    for queue, address in shown.items():
        if not is_retry(queue.topic):
            rows.setdefault(queue.topic, {})[queue] = address
    told = {id: running for id, running in asked.items() if running.owned is not None}
    owned = [queue for running in told.values() for queue in running.owned or ()]
    return Seen(
        ids=tuple(clients.connected),
        asked={id: (running.owned or (), running.topics) for id, running in told.items()},
        rows=rows,
        routed=topics.routed,
        brokers={queue.broker for queue in (*shown, *owned)},
    )
