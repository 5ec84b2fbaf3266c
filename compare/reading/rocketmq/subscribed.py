"""What a group subscribes to, and of which topics the sources tell who owns the queues.

RocketMQ deals a topic out to all members of the group, readers or not, so where subscriptions differ the shares of
those who do not read it show no owner (spec rocketmq 7.6). Rows without owner are no sign of a disagreement then, and
another one is needed, for only members that compute by one rule have no second owners, which ``consumerProgress``
hides. The sign is that one strategy explains all rows: every share is shown whole for the member whose it is, or for
nobody where this member does not read the topic.

A broker at which nobody ever committed an offset has no rows. Where no route tells how many queues a topic has
there, any number up to `MOST_UNSEEN` may explain the rows.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from compare.catalogues import ROCKETMQ
from compare.reading.observed import FactGroup
from compare.reading.rocketmq.facts import (
    Answered,
    BrokerLag,
    Connections,
    FullNames,
    GroupFact,
    Progress,
    Running,
    complete_queues,
)
from compare.reading.rocketmq.lines import is_retry
from compare.reading.rocketmq.ownership import Clients
from compare.reading.rocketmq.route import Routes
from protocols import Group, Member, Queue, sort_queues
from rocketmq_selfbalance import allocate
from rocketmq_selfbalance.cluster import RETRY_PREFIX

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Names:
    """Topics and brokers known in full: those of the group itself, and those of all routes."""

    topics: FullNames
    brokers: FullNames
    route_topics: FullNames
    route_brokers: FullNames

    @classmethod
    def of_group(
        cls,
        group: str,
        subscribed: Iterable[str],
        asked: Iterable[Running],
        route_topics: FullNames,
        route_brokers: FullNames,
    ) -> "Names":
        """The names that the group's own sources have in full, beside those of the routes."""
        owned = [queue for running in asked for queue in running.owned or ()]
        return cls(
            FullNames([*subscribed, *(queue.topic for queue in owned), RETRY_PREFIX + group]),
            FullNames(queue.broker for queue in owned),
            route_topics,
            route_brokers,
        )

    def completed(self, told: Mapping[Queue, Value], topic_width: int, broker_width: int) -> Mapping[Queue, Value]:
        """What is told of queues, under their full names; the group's own sources know best."""
        told = complete_queues(told, self.topics, self.brokers, topic_width, broker_width)
        return complete_queues(told, self.route_topics, self.route_brokers, topic_width, broker_width)


@dataclass(frozen=True, slots=True)
class Table:
    """All ``consumerProgress -g`` of a group in one; a later one overrides. See `Progress` for the fields.

    ``moved``: queues that two of them show for different members.
    """

    lag: Mapping[Queue, int]
    shown: Mapping[Queue, str | None] | None
    complete: bool
    moved: int


def join_tables(tables: Iterable[Progress], names: Names) -> Table:
    """The tables in one; empty where there are none."""
    lag: dict[Queue, int] = {}
    shown: dict[Queue, str | None] | None = None
    complete = True
    moved: set[Queue] = set()
    for table in tables:
        told = names.completed(table.lag, table.topic_width, table.broker_width)
        # Two names that are completed to one would hide each other.
        complete = complete and table.complete and len(told) == len(table.lag)
        lag.update(told)
        if table.shown is not None:
            shows = names.completed(table.shown, table.topic_width, table.broker_width)
            before = {} if shown is None else shown
            moved.update(
                queue
                for queue, address in shows.items()
                if address and before.get(queue, address) not in (address, None)
            )
            shown = {**before, **shows}
    return Table(lag, shown, complete, len(moved))


def lag_elsewhere(stats: Iterable[BrokerLag], names: Names) -> dict[Queue, int]:
    """What brokers tell of the group's lag."""
    found: dict[Queue, int] = {}
    for stat in stats:
        found.update(names.completed(stat.lag, stat.topic_width, stat.broker_width))
    return found


MOST_UNSEEN = 16
"""Queues of a topic at one broker that has no rows; RocketMQ makes 4, 8 or 16 unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is told of a group whose members subscribe to different topics.

    ``ids``: all client ids, each once. ``asked``: the ids that tell what they own, and what they subscribe to.
    ``rows``: topic to its queues and the address that each is shown for, None where it is shown for nobody.
    ``routed``: topic to all its queues, where a route tells them. ``brokers``: all brokers known.
    """

    ids: tuple[str, ...]
    asked: Mapping[str, tuple[Collection[Queue], Collection[str]]]
    rows: Mapping[str, Mapping[Queue, str | None]]
    routed: Mapping[str, tuple[Queue, ...]]
    brokers: Collection[str]


def nobodys(seen: Seen, strategies: Sequence[str]) -> frozenset[Queue] | None:
    """Queues without a row that belong to the share of a member who does not read their topic, so that nobody owns
    them; None where no strategy explains the rows. ``strategies``: those that members say they use, if any."""
    for strategy in strategies or ROCKETMQ:
        if strategy not in ROCKETMQ:
            continue
        explained = [_explained(seen, strategy, topic) for topic in seen.rows]
        if None not in explained:
            return frozenset(queue for each in explained for queue in each or ())
    return None


def _explained(seen: Seen, strategy: str, topic: str) -> frozenset[Queue] | None:
    for queues in _candidates(seen, topic):
        shares = _shares(strategy, seen.ids, queues)
        readers = {id: _reads(seen, topic, id, share) for id, share in shares.items()}
        if all(fits for fits, _ in readers.values()):
            routed = set(seen.routed.get(topic, ()))
            unread = [share for id, share in shares.items() if readers[id][1] is False]
            return frozenset(queue for share in unread for queue in share if queue in routed - seen.rows[topic].keys())
    return None


def _candidates(seen: Seen, topic: str) -> Iterator[tuple[Queue, ...]]:
    """All queues that the topic may have."""
    rows = seen.rows[topic]
    if topic in seen.routed:
        yield sort_queues({*seen.routed[topic], *rows})
        return
    yield sort_queues(rows)
    unseen = sorted(set(seen.brokers) - {queue.broker for queue in rows})
    if unseen:
        for count in range(1, MOST_UNSEEN + 1):
            yield sort_queues([*rows, *(Queue(topic, broker, n) for broker in unseen for n in range(count))])


@lru_cache(maxsize=256)
def _shares(strategy: str, ids: tuple[str, ...], queues: tuple[Queue, ...]) -> Mapping[str, Collection[Queue]]:
    """Each member's share of one topic, whether it reads the topic or not."""
    topic = queues[0].topic
    dealt = allocate(strategy, Group(tuple(Member(id, (topic,)) for id in ids), {topic: queues}))
    return {id: dealt[id] for id in ids}


def _reads(seen: Seen, topic: str, id: str, share: Iterable[Queue]) -> tuple[bool, bool | None]:
    """Whether what is told of the member fits its share, and whether it reads the topic, None where that is open."""
    rows, share = seen.rows[topic], set(share)
    address = id.partition("@")[0]
    told = {rows[queue] for queue in share if queue in rows}
    if id in seen.asked:
        owned, topics = seen.asked[id]
        mine = {queue for queue in owned if queue.topic == topic}
        reads = topic in topics
        expected = {address} if reads else {None}
        return mine == (share if reads else set()) and told <= expected, reads
    if told == {address}:
        return True, True
    # Nobody is shown for the share: the member does not read the topic. A part of it would be a disagreement.
    return told <= {None}, False if told else None


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


def find_topics(fact_group: FactGroup[GroupFact], asked: Collection[Running], routes: Routes) -> Topics:
    """What the group's sources tell of its topics."""
    told = [fact.topics for fact in fact_group.facts if isinstance(fact, Connections) and fact.topics is not None]
    told += [running.topics for running in asked]
    subscriptions = [tuple(topic for topic in queue if not is_retry(topic)) for queue in told]
    subscribed = tuple(dict.fromkeys(topic for subscription in subscriptions for topic in subscription))
    near = [route for topic in subscribed if (route := routes.near(topic, fact_group.places)) is not None]
    same = [fact.same_subscription for fact in fact_group.facts if isinstance(fact, Answered)]
    strategies = tuple(dict.fromkeys(running.strategy for running in asked if running.strategy))
    differences = []
    subscriptions_differ = False in same or len({frozenset(subscription) for subscription in subscriptions}) > 1
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
        retry=tuple(dict.fromkeys(topic for queue in told for topic in queue if is_retry(topic))),
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
    ``one_rule`` and ``nobodys`` are those of `compare.reading.rocketmq.ownership.Evidence`. ``perhaps_popped``: untold
    topics without a single owner, of which it is not known whether they are popped.
    """

    untold: tuple[str, ...]
    whole: bool
    everybody: bool
    claimed: Set[Queue]
    one_rule: bool
    nobodys: frozenset[Queue]
    perhaps_popped: frozenset[str] = frozenset()


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
