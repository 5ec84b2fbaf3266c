"""Why some members carry more than others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from compare.auditing.score import (
    ACROSS_TOPICS,
    HEAVIEST,
    IDLE,
    MISPLACED,
    PER_TOPIC,
    member_counts,
    next_effective_member_count,
)
from compare.catalogues import KEEPING, ROCKETMQ
from compare.explaining.finding import Case, Finding, finding, named
from compare.explaining.remedies.assignors import fairer_assignors, fresh_start, to_assignor
from compare.explaining.remedies.queues import (
    at_most,
    average_and_multiples,
    fairer_strategy,
    lists_by_hand,
    multiples,
    one_for_each_member,
)
from compare.explaining.remedies.remedy import LIGHT, SERIOUS, Remedy, Risk
from compare.formatting import several
from compare.reading.group_kinds import STREAMS
from compare.reading.group_model import KAFKA, Modelled
from kafka_coordinator import assign

REDUCED = 0.25
"""What costs nothing by the score, but may matter to a user, counts a quarter of what the score would take."""


def uneven(case: Case) -> Iterator[Finding]:
    """A fairer ownership is reachable: the strategy is the cause."""
    modelled = case.modelled
    if modelled is None or not case.falls_short or case.on_the_move or _is_broken(modelled):
        return
    # A name of the other system's is that of somebody's own strategy.
    own = case.observed.strategy in (KAFKA if case.is_kafka else ROCKETMQ)
    strategy = case.observed.strategy if own else None
    empty = [member.id for member in modelled.group.members if not member.subscription and modelled.today[member.id]]
    if case.kind in STREAMS:
        yield _tasks(case)
    elif empty and modelled.basis == "told" and strategy in ("sticky", "cooperative-sticky"):
        yield _empty_subscription(case, modelled, strategy, empty)
    elif strategy in PER_TOPIC and modelled.alike and len(modelled.group.topics) > 1:
        yield _remainder(case, modelled, strategy)
    elif strategy == "CONSISTENT_HASH":
        yield finding(
            "hash-is-uneven",
            f"CONSISTENT_HASH assigns queues by hash, and hashing is uneven with few queues: {_loads(case)}.",
            (
                fairer_strategy(case, modelled) or average_and_multiples(case, modelled),
                lists_by_hand(case, modelled),
            ),
            evidence=_evidence(case),
        )
    else:
        yield _falls_short(case, modelled)


def more_members_than_queues(case: Case) -> Iterator[Finding]:
    """Members that no allocation can employ."""
    modelled = case.modelled
    if modelled is None or _is_broken(modelled) or not case.idle_is_known:
        return
    queues, idle = sum(case.best), list(case.best).count(0)
    members = len(case.best)
    if not idle or not queues or queues >= members:
        return
    largest = max(len(of_topic) for of_topic in modelled.group.topics.values())
    dealt_by_topic = case.observed.strategy not in ACROSS_TOPICS
    needed = members if dealt_by_topic else largest + members - queues
    what = several(queues, "partition" if case.is_kafka else "queue")
    # Where RocketMQ's strategy finds work for fewer still, `uneven` says what helps, which would say otherwise here.
    says_more = not case.is_kafka and case.falls_short and case.observed.strategy in PER_TOPIC and modelled.alike
    remedies: list[Remedy | None] = []
    if case.kind != "unknown" and not says_more:
        fewer = at_most(case, members - idle, "further members would own nothing")
        remedies = [fewer, one_for_each_member(case, modelled, needed)]
    subscriptions = "" if modelled.alike else " with these subscriptions"
    if modelled.basis == "owned" and idle > members - queues:
        subscriptions = " if members read only the topics of their own queues, which no source shows"
    yield finding(
        "more-members-than-queues",
        f"{several(members, 'member shares', 'members share')} {what}, and each"
        f" {'partition' if case.is_kafka else 'queue'} has one owner: {several(idle, 'member is', 'members are')}"
        f" idle under every strategy{subscriptions}.",
        remedies,
        max([IDLE * idle / members, *(remedy.points for remedy in remedies if remedy is not None)]),
        {"members": members, "queues": queues, "idle_members": idle},
    )


def unequal_subscriptions(case: Case) -> Iterator[Finding]:
    """Uneven, but as fair as these subscriptions allow."""
    modelled = case.modelled
    if modelled is None or modelled.alike or case.falls_short or not case.is_kafka or case.kind in STREAMS:
        return
    if case.on_the_move or max(case.loads) - min(case.loads) <= 1:
        return
    even = -(-sum(case.loads) // len(case.loads))
    seem = "seem to subscribe" if modelled.basis == "owned" else "subscribe"
    remedy = Remedy(
        "If all members may read the same topics, subscribe every member to all of them (at most"
        f" {several(even, 'partition')} per member then); otherwise create one group per set of topics.",
        restart="rolling",
        risks=(
            Risk("every member must be able to handle the records of all topics", SERIOUS),
            Risk("a new group starts at auto.offset.reset unless today's offsets are copied to it", LIGHT),
        ),
    )
    yield finding(
        "unequal-subscriptions",
        f"Members {seem} to different topics, and no fairer allocation exists for these subscriptions: at most"
        f" {max(case.loads)} partitions per member, at least {min(case.loads)}.",
        () if case.kind in ("connect", "unknown") else (remedy,),
        REDUCED * HEAVIEST * (1 - even / max(case.loads)),
        {"loads": sorted(case.loads, reverse=True), "basis": modelled.basis},
    )


def lopsided_topics(case: Case) -> Iterator[Finding]:
    """Even totals, while single topics are not."""
    modelled = case.modelled
    if modelled is None or case.falls_short or not modelled.alike or _is_broken(modelled):
        return
    if case.on_the_move or case.kind in STREAMS:
        return
    members = len(case.loads)
    loads: dict[str, dict[str, int]] = {}
    for id, queues in modelled.today.items():
        for queue in queues:
            of_topic = loads.setdefault(queue.topic, {})
            of_topic[id] = of_topic.get(id, 0) + 1
    lopsided = {
        topic: (max(of_topic.values()), -(-len(modelled.group.topics[topic]) // members))
        for topic, of_topic in loads.items()
        if max(of_topic.values()) >= 2 * -(-len(modelled.group.topics[topic]) // members)
    }
    if not lopsided:
        return
    excess = sum(most - fair for most, fair in lopsided.values())
    by_topic = sum(-(-len(queues) // members) for queues in modelled.group.topics.values())
    price = "with the same totals" if by_topic <= max(case.loads) else f"with up to {by_topic} queues per member"
    worst = max(sorted(lopsided), key=lambda topic: lopsided[topic][0] - lopsided[topic][1])
    most, fair = lopsided[worst]
    # Kafka's tools do not tell subscriptions: then nobody knows whether the others read the topic.
    told = modelled.basis in ("told", "recomputed")
    would = f"{fair} would be enough" if told else f"{fair} would be enough if all members read the topic"
    doubt = "all topics are equally busy" if told else "all topics are equally busy or are not read by all members"
    what = "partitions" if case.is_kafka else "queues"
    yield finding(
        "lopsided-topics",
        f"Totals are even, but {several(len(lopsided), 'topic is', 'topics are')} not: one member has {most} {what}"
        f" of {worst}, where {would}; the difference matters unless {doubt}.",
        _split_each_topic(case, f"Only if {worst} is much busier than other topics: ", price),
        REDUCED * MISPLACED * excess / sum(case.loads),
        {"topics": {topic: {"max": most, "even": fair} for topic, (most, fair) in sorted(lopsided.items())}},
    )


def _split_each_topic(case: Case, condition: str, price: str) -> list[Remedy]:
    """A strategy that splits every topic evenly, where the group can be set to one."""
    name = next((each for each in PER_TOPIC if each in case.usable), None)
    if not case.is_kafka or name is None or case.observed.strategy in (None, name):
        return []
    plain = to_assignor(case, name)
    text = f"{condition}{plain.text[0].lower()}{plain.text[1:]} The {name} assignor splits every topic evenly, {price}."
    return [replace(plain, text=text)]


def as_fair_as_can_be(case: Case) -> Iterator[Finding]:
    """Nothing to accuse; asked last, where no other search found anything."""
    if case.modelled is None or case.falls_short or _is_broken(case.modelled):
        return
    members = len(case.loads)
    if members == 1:
        cause = "As fair as possible: the group has one member."
    else:
        most = several(max(case.loads), "partition" if case.is_kafka else "queue")
        cause = f"As fair as possible: at most {most} per member, at least {min(case.loads)}."
    strategy = case.observed.strategy
    more = None
    # Streams hands out tasks, not partitions; of other strategies nobody knows what they would do.
    if case.kind not in STREAMS and strategy in (*PER_TOPIC, *ACROSS_TOPICS) and case.modelled.alike:
        more = next_effective_member_count(member_counts(case.modelled, strategy), members)
    if more is not None:
        cause += (
            f" The next member count that lowers the largest load is {more.members}, with at most {more.max} per"
            " member."
        )
    yield finding("as-fair-as-can-be", cause, (), 0.0, {"next_useful_members": more and more.members})


def _tasks(case: Case) -> Finding:
    """Kafka Streams and ksqlDB: an uneven number of partitions says little, idle threads something."""
    idle, queues = case.loads.count(0), sum(case.loads)
    remedies = [at_most(case, len(case.loads) - idle, f"{several(idle, 'thread has', 'threads have')} no task")]
    return finding(
        "tasks-are-placed",
        f"{'ksqlDB' if case.kind == 'ksqldb' else 'Kafka Streams'} places its tasks itself, close to their state, and"
        f" a task reads the same partition number of all its topics: a largest load of {max(case.loads)} of {queues}"
        " partitions says little about the work, and no assignor can be set.",
        remedies if idle and case.idle_is_known else (),
        case.lost.idle if case.lost is not None and idle and case.idle_is_known else 0.0,
        _evidence(case),
    )


def _falls_short(case: Case, modelled: Modelled) -> Finding:
    strategy = case.observed.strategy
    remedies: list[Remedy | None] = []
    if not case.is_kafka:
        remedies = [fairer_strategy(case, modelled), lists_by_hand(case, modelled)]
    else:
        remedies = list(fairer_assignors(case, modelled))
        if strategy is not None and strategy in KEEPING:
            remedies.append(fresh_start(case, modelled, strategy))
    known = case.usable or strategy is None
    whose = strategy or "The strategy"
    cause = (
        f"{whose} is less even than the members' subscriptions allow: {_loads(case)}."
        if known
        else f"{strategy} is not a released assignor, so the reason for the uneven allocation is unknown:"
        f" {_loads(case)}."
    )
    return finding("strategy-falls-short", cause, remedies, _cost(case, remedies), _evidence(case))


def _cost(case: Case, remedies: Sequence[Remedy | None]) -> float:
    """What the best remedy wins back; what the fairest loads would, where no remedy is known."""
    points = max((remedy.points for remedy in remedies if remedy is not None), default=0.0)
    if points or case.lost is None:
        return points
    fairest = 100.0 - IDLE * list(case.best).count(0) / len(case.best)
    return max(0.0, fairest - case.lost.score)


def _remainder(case: Case, modelled: Modelled, strategy: str) -> Finding:
    members = len(modelled.group.members)
    topics = modelled.group.topics
    odd = [topic for topic, queues in topics.items() if len(queues) % members]
    heaviest = max(modelled.today, key=lambda id: len(modelled.today[id]))
    remedies: list[Remedy | None]
    if case.is_kafka:
        remedies = list(fairer_assignors(case, modelled))
    else:
        remedies = [multiples(case, modelled, odd), lists_by_hand(case, modelled)]
        busy = len(case.loads) - case.loads.count(0)
        if case.idle_is_known and busy < len(case.loads) and max(len(queues) for queues in topics.values()) <= busy:
            remedies.append(
                at_most(case, busy, f"{strategy} gives further members nothing, because no topic has more queues")
            )
    return finding(
        "remainder-piles-up",
        f"{strategy} allocates each topic separately, starting with the first member, so the same members get the"
        f" remainder of {several(len(odd), 'topic')}: {_loads(case)}.",
        remedies,
        _cost(case, remedies),
        {**_evidence(case), "pile_up": case.pile_up, "topics": odd, "heaviest": heaviest},
    )


def _empty_subscription(case: Case, modelled: Modelled, strategy: str, empty: Sequence[str]) -> Finding:
    after = assign(strategy, modelled.group.without(*empty))
    remedy = Remedy(
        "Do not let a consumer join with an empty subscription: call unsubscribe() or close() instead of subscribing"
        " to no topic.",
        restart="rolling",
        gain=case.gain(after),
        after=after,
    )
    return finding(
        "empty-subscription",
        f"{named(empty)} subscribes to no topic, yet owns partitions, because the released {strategy} assignor"
        " overlooks an empty subscription that comes first.",
        (remedy,),
        evidence={"members": list(empty)},
    )


def _loads(case: Case) -> str:
    highest, idle = max(case.loads), case.avoidably_idle
    what = "partition" if case.is_kafka else "queue"
    if highest > case.best[0]:
        text = f"the largest load is {several(highest, what)} where {case.best[0]} would be enough"
    else:
        more = sum(load == highest for load in case.loads) - list(case.best).count(highest)
        text = (
            f"the largest load of {several(highest, what)} is needed, but {several(more, 'member')} too many"
            f" {'has' if more == 1 else 'have'} it"
        )
    return f"{text}, {several(idle, 'member')} needlessly idle" if idle else text


def _evidence(case: Case) -> dict[str, object]:
    return {"max": max(case.loads), "best_max": case.best[0], "needlessly_idle": case.avoidably_idle}


def _is_broken(modelled: Modelled) -> bool:
    return bool(modelled.today.unowned or modelled.today.double_owned)
