"""Why some members carry more than others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, filterfalse, islice

from compare.audit.finding import Case, Finding, named, several
from compare.audit.member_counts import ACROSS_TOPICS, PER_TOPIC, next_useful, next_useful_members
from compare.audit.model import KAFKA, REBALANCING, ROCKETMQ, Modelled
from compare.audit.score import HEAVIEST, IDLE, MISPLACED, score
from compare.audit.what_if import loads_of, under
from compare.best import optimum
from kafka_coordinator import assign
from protocols import Allocation, Queue, sort_queues
from rocketmq_selfbalance import allocate

CLASSIC_REMEDY = (
    "Set partition.assignment.strategy to org.apache.kafka.clients.consumer.CooperativeStickyAssignor, in two rolling"
    " restarts: first listed together with today's assignor, then alone."
)
SERVER_REMEDY = "Set group.remote.assignor=uniform in the consumers, in one rolling restart."
LOOK_BACK = ("sticky", "cooperative-sticky", "uniform")
"""Strategies that keep with members what they have."""

REDUCED = 0.25
"""What costs nothing by the score, but may matter to a user, counts a quarter of what the score would take."""


def uneven(case: Case) -> Iterator[Finding]:
    """A fairer ownership is reachable: the strategy is the cause."""
    modelled = case.modelled
    if modelled is None or not case.falls_short or case.observed.state in REBALANCING or _is_broken(modelled):
        return
    # A name of the other system's is that of somebody's own strategy.
    own = case.observed.strategy in (KAFKA if case.is_kafka else ROCKETMQ)
    strategy = case.observed.strategy if own else None
    empty = [member.id for member in modelled.group.members if not member.subscription and modelled.today[member.id]]
    if empty and modelled.basis == "told" and strategy in ("sticky", "cooperative-sticky"):
        yield _empty_subscription(case, modelled, strategy, empty)
    elif strategy in PER_TOPIC and modelled.alike and len(modelled.group.topics) > 1:
        yield _remainder(case, modelled, strategy)
    elif strategy == "CONSISTENT_HASH":
        after = _better(case, modelled)
        yield Finding(
            "hash-is-uneven",
            f"CONSISTENT_HASH deals queues by hash, which evens out only over many: {_loads(case)}.",
            _rocketmq_remedy(case, modelled, after),
            case.points_back(after),
            _evidence(case),
            after,
        )
    else:
        yield _falls_short(case, modelled, case.observed.strategy)


def more_members_than_queues(case: Case) -> Iterator[Finding]:
    """Members that no allocation can employ."""
    modelled = case.modelled
    if modelled is None or _is_broken(modelled) or case.observed.state in REBALANCING:
        return
    queues, idle = sum(case.best), list(case.best).count(0)
    members = len(case.best)
    if not idle or not queues or queues >= members:
        return
    topics = list(modelled.group.topics)
    largest = max(topics, key=lambda topic: len(modelled.group.topics[topic]))
    dealt_by_topic = case.observed.strategy not in ACROSS_TOPICS
    needed = members if dealt_by_topic else len(modelled.group.topics[largest]) + members - queues
    if case.is_kafka:
        grow = f"kafka-topics.sh --bootstrap-server HOST --alter --topic {largest} --partitions {needed}"
    else:
        brokers = len({queue.broker for queue in modelled.group.topics[largest]})
        per_broker = -(-needed // brokers)
        grow = f"mqadmin updateTopic -n NAMESRV -c CLUSTER -t {largest} -r {per_broker} -w {per_broker}"
    yield Finding(
        "more-members-than-queues",
        f"{several(members, 'member shares', 'members share')} {several(queues, 'queue')}, and a queue has one owner:"
        f" {several(idle, 'member is', 'members are')} idle under every strategy.",
        f"Run at most {several(queues, 'member')}, or give the topic more queues: {grow}",
        IDLE * idle / members,
        {"members": members, "queues": queues, "idle_members": idle},
    )


def unequal_subscriptions(case: Case) -> Iterator[Finding]:
    """Uneven, but as fair as these subscriptions allow."""
    modelled = case.modelled
    if modelled is None or modelled.alike or case.falls_short or not case.is_kafka:
        return
    if case.observed.state in REBALANCING or max(case.loads) - min(case.loads) <= 1:
        return
    even = -(-sum(case.loads) // len(case.loads))
    seem = "seem to subscribe" if modelled.basis == "owned" else "subscribe"
    yield Finding(
        "unequal-subscriptions",
        f"Members {seem} to different topics, and for these nothing is fairer: {max(case.loads)} partitions at the"
        f" most, {min(case.loads)} at the least.",
        f"Subscribe all members to the same topics ({even} at the most then), or make one group per set of topics.",
        REDUCED * HEAVIEST * (1 - even / max(case.loads)),
        {"loads": sorted(case.loads, reverse=True), "basis": modelled.basis},
    )


def lopsided_topics(case: Case) -> Iterator[Finding]:
    """Even totals, while single topics are not."""
    modelled = case.modelled
    if modelled is None or case.falls_short or not modelled.alike or _is_broken(modelled):
        return
    if case.observed.state in REBALANCING:
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
    split = "range (server-range in the consumer protocol)" if case.is_kafka else "AVG"
    # Kafka's tools do not tell subscriptions: then nobody knows whether the others read the topic.
    told = modelled.basis in ("told", "recomputed")
    would = f"{fair} would do" if told else f"{fair} would do if all members read it"
    unless = "all topics are equally busy" if told else "all topics are equally busy or are not read by all members"
    yield Finding(
        "lopsided-topics",
        f"Totals are even, but {several(len(lopsided), 'topic is', 'topics are')} not: one member has {most} queues of"
        f" {worst}, where {would}.",
        f"Nothing to do if {unless}; else {split} splits every topic evenly, {price}.",
        REDUCED * MISPLACED * excess / sum(case.loads),
        {"topics": {topic: {"max": most, "even": fair} for topic, (most, fair) in sorted(lopsided.items())}},
    )


def as_fair_as_can_be(case: Case) -> Iterator[Finding]:
    """Nothing to accuse; asked last, where no other search found anything."""
    if case.modelled is None or case.falls_short or _is_broken(case.modelled):
        return
    members = len(case.loads)
    if members == 1:
        cause = "As fair as it can be: the group has one member."
    else:
        cause = f"As fair as it can be: {max(case.loads)} queues at the most, {min(case.loads)} at the least."
    strategy = case.observed.strategy if case.observed.strategy in (*PER_TOPIC, *ACROSS_TOPICS) else "optimum"
    more = next_useful(next_useful_members(case.modelled, strategy), members) if case.modelled.alike else None
    remedy = (
        "Nothing to do."
        if more is None
        else f"Nothing to do; the next number of members that lowers the heaviest load is {more.members}"
        f" ({more.max} each at the most)."
    )
    yield Finding("as-fair-as-can-be", cause, remedy, 0.0, {"next_useful_members": more and more.members})


def _falls_short(case: Case, modelled: Modelled, strategy: str | None) -> Finding:
    after = _better(case, modelled)
    if not case.is_kafka:
        remedy = _rocketmq_remedy(case, modelled, after)
    elif strategy is not None and strategy in LOOK_BACK:
        afresh = assign(strategy, modelled.group)
        if case.points_back(afresh) > 0:
            after = afresh
        remedy = f"Restart all members at once: {strategy} then deals afresh, instead of keeping what members have."
    else:
        remedy = SERVER_REMEDY if strategy == "server-range" else CLASSIC_REMEDY
    return Finding(
        "strategy-falls-short",
        f"{strategy or 'The strategy'} is less even than the members' subscriptions allow: {_loads(case)}.",
        remedy,
        case.points_back(after),
        _evidence(case),
        after,
    )


def _remainder(case: Case, modelled: Modelled, strategy: str) -> Finding:
    members = len(modelled.group.members)
    topics = modelled.group.topics
    odd = [topic for topic, queues in topics.items() if len(queues) % members]
    heaviest = max(modelled.today, key=lambda id: len(modelled.today[id]))
    cause = (
        f"{strategy} deals each topic from the first member on, so the same members get the remainder of"
        f" {several(len(odd), 'topic')}: {_loads(case)}."
    )
    evidence = {**_evidence(case), "pile_up": case.pile_up, "topics": odd, "heaviest": heaviest}
    if case.is_kafka:
        after = under(modelled, "uniform" if strategy == "server-range" else "cooperative-sticky")
        remedy = SERVER_REMEDY if strategy == "server-range" else CLASSIC_REMEDY
    else:
        after = _multiples(modelled, strategy, odd)
        remedy = (
            f"Give every topic a multiple of {members} queues ({_grow_command(after, odd[0])}), or deal the queues of"
            " the optimum by AllocateMessageQueueByConfig."
        )
    back = 0.0 if after is None else case.points_back(after)
    return Finding("remainder-piles-up", cause, remedy, back, evidence, after)


def _multiples(modelled: Modelled, strategy: str, odd: Sequence[str]) -> Allocation:
    """The group with the same number of queues at each broker of a topic, such that every member gets as many."""
    group = modelled.group
    members = len(group.members)
    topics = dict(group.topics)
    for topic in odd:
        numbers: dict[str, set[int]] = {}
        for queue in group.topics[topic]:
            numbers.setdefault(queue.broker, set()).add(queue.number)
        per_broker = max(map(len, numbers.values()))
        while per_broker * len(numbers) % members:
            per_broker += 1
        # Numbers may have gaps; the new queues take them first.
        new = [
            Queue(topic, broker, number)
            for broker, taken in numbers.items()
            for number in islice(filterfalse(taken.__contains__, count()), per_broker - len(taken))
        ]
        topics[topic] = sort_queues([*group.topics[topic], *new])
    return allocate(strategy, replace(group, topics=topics))


def _grow_command(after: Allocation, topic: str) -> str:
    queues = after.group.topics[topic]
    per_broker = len(queues) // len({queue.broker for queue in queues})
    return f"mqadmin updateTopic -n NAMESRV -c CLUSTER -t {topic} -r {per_broker} -w {per_broker}"


def _empty_subscription(case: Case, modelled: Modelled, strategy: str, empty: Sequence[str]) -> Finding:
    after = assign(strategy, modelled.group.without(*empty))
    return Finding(
        "empty-subscription",
        f"{named(empty)} subscribes to nothing, yet owns partitions: a defect of the released {strategy} assignor"
        " overlooks an empty subscription that comes first.",
        "Let no consumer join with an empty subscription: call unsubscribe() or close() instead of subscribing to no"
        " topic.",
        case.points_back(after),
        {"members": list(empty)},
        after,
    )


def _better(case: Case, modelled: Modelled) -> Allocation:
    """The best answer of the system's own strategies, or the optimum where none is better than today's."""
    names = KAFKA if case.is_kafka else ROCKETMQ
    answers = [answer for name in names if (answer := under(modelled, name)) is not None]
    good = max(answers, key=lambda answer: score(answer, case.best), default=None)
    if good is not None and case.points_back(good) > 0:
        return good
    return optimum(modelled.group, modelled.today, moves=False).allocation


def _rocketmq_remedy(case: Case, modelled: Modelled, after: Allocation) -> str:
    fits = next((name for name in ROCKETMQ if under(modelled, name) == after), None)
    names = {"AVG": "Averagely", "AVG_BY_CIRCLE": "AveragelyByCircle", "CONSISTENT_HASH": "ConsistentHash"}
    if fits is None:
        return "Deal the queues of the optimum by AllocateMessageQueueByConfig, or give each topic more queues."
    wanted = "" if case.observed.strategy in ROCKETMQ else "Unless its rooms or lists are wanted so, "
    call = "call" if wanted else "Call"
    return (
        f"{wanted}{call} setAllocateMessageQueueStrategy(new AllocateMessageQueue{names[fits]}()) in every member, all"
        f" restarted at once: then {max(loads_of(after))} queues at the most, {min(loads_of(after))} at the least."
    )


def _loads(case: Case) -> str:
    highest, idle = max(case.loads), case.avoidably_idle
    if highest > case.best[0]:
        text = f"{several(highest, 'queue')} at the most where {case.best[0]} would do"
    else:
        more = sum(load == highest for load in case.loads) - list(case.best).count(highest)
        text = f"{several(highest, 'queue')} at the most, as many as needed, but for {several(more, 'member')} too many"
    return f"{text}, {several(idle, 'member')} idle needlessly" if idle else text


def _evidence(case: Case) -> dict[str, object]:
    return {"max": max(case.loads), "best_max": case.best[0], "needlessly_idle": case.avoidably_idle}


def _is_broken(modelled: Modelled) -> bool:
    return bool(modelled.today.unowned or modelled.today.double_owned)
