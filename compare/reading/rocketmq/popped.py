"""What the views tell of groups that consume by POP, and what none of them tells.

A broker gives records out, so that nobody owns a queue. It moves the group's offset when it does: ``consumerProgress``
counts as #Diff what nobody has been given, and shows #Inflight as 0 whatever members have in hand. Only the client
itself tells that it pops and what it has in hand (``consumerStatus -i``, #Consumer Pop Detail#): no command of mqadmin
5.5 shows a group's request mode. The group's retry topic is pulled all the same, and its queues have owners.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from compare.reading.observed import most_lag
from compare.reading.rocketmq.facts import Running
from compare.reading.rocketmq.lines import is_retry
from compare.reading.rocketmq.subscribed import KnownTopics, Table, Topics
from protocols.scenario.fields import listed


def perhaps_popped(
    table: Table, topics: Topics, asked: Mapping[str, Running], connected: Collection[str]
) -> frozenset[str]:
    """Topics without a single owner, though members are there: owners of the retry topic's queues, or members listed
    beside a table of other topics. Owned queues that nobody reads look so, too; whoever was asked knows."""
    if not table.shown or asked or topics.subscriptions_differ:
        return frozenset()
    owned: dict[str, bool] = {}
    for queue, address in table.shown.items():
        owned[queue.topic] = owned.get(queue.topic, False) or address is not None
    retry = [told for topic, told in owned.items() if is_retry(topic)]
    somebody_there = any(retry) if retry else bool(connected)
    return frozenset(topic for topic, told in owned.items() if somebody_there and not told and not is_retry(topic))


def without_rows(table: Table, topics: frozenset[str]) -> Table:
    """The table without what it shows of the owners of these topics."""
    if not topics or table.shown is None:
        return table
    return replace(table, shown={queue: at for queue, at in table.shown.items() if queue.topic not in topics})


def untold_too(told: KnownTopics, topics: frozenset[str]) -> KnownTopics:
    """The same, with these topics among those of which too little is told."""
    return replace(told, untold=tuple(sorted({*told.untold, *topics})), perhaps_popped=topics) if topics else told


def why_perhaps(topics: Collection[str]) -> str:
    """Why nothing is said of the owners of these topics."""
    return (
        f"no member is shown for any queue of {listed(sorted(topics))}, though members are online: if they consume by"
        f" POP, nobody owns a queue, else nobody reads these; consumerStatus -g GROUP -i CLIENT tells"
    )


def pop_notes(table: Table, asked: Mapping[str, Running], connected: Collection[str]) -> Iterator[str]:
    """Where the lag of a group that pops is, and what is not in it."""
    lag = {queue: lag for queue, lag in table.lag.items() if not is_retry(queue.topic)}
    worst = most_lag(lag, "records that no member has been given")
    if worst is not None:
        yield worst
    have = [f"{id} {running.in_hand:,}" for id, running in asked.items() if running.in_hand]
    total = f"{sum(running.in_hand for running in asked.values()):,} records"
    unasked = "; consumerStatus -g GROUP -i CLIENT shows those of the members that were not asked"
    hands = f"members have {total} in hand ({', '.join(have)}), given and not acknowledged" if have else ""
    if hands and lag:
        hands += ", which the lag does not count"
    if hands:
        yield hands + ("" if asked.keys() >= set(connected) else unasked)
    elif lag:
        yield "the lag counts records that no member has been given, and not those that members have in hand"
