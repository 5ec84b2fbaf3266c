"""Whether members that subscribe to different topics share what they read by one rule.

RocketMQ deals a topic out to all members of the group, readers or not, so where subscriptions differ the shares of
those who do not read it show no owner (spec rocketmq 7.6). Rows without owner are no sign of a disagreement then, and
another one is needed, for only members that compute by one rule have no second owners, which ``consumerProgress``
hides. The sign is that one strategy explains all rows: every share is shown whole for the member whose it is, or for
nobody where this member does not read the topic.

A broker at which nobody ever committed an offset has no rows. Where no route tells how many queues a topic has
there, any number up to `MOST_UNSEEN` may explain the rows.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from compare.catalogues import ROCKETMQ
from protocols import Group, Member, Queue, sort_queues
from rocketmq_selfbalance import allocate

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
