"""Kafka's partitions without an owner or with two, and topics that no member reads any more.

Queues without an owner or with two, and why.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import sqrt
from shlex import quote

from compare.auditing.score import UNOWNED
from compare.catalogues import ROCKETMQ
from compare.explaining.finding import Case, Finding, finding, named
from compare.explaining.remedies.remedy import GRAVE, GROUPS, LIGHT, SERIOUS, Remedy, Risk, of_group
from compare.formatting import several
from compare.reading.group_model import Modelled, recompute
from protocols import Allocation, Group, Queue
from rocketmq_selfbalance import allocate


def broken_in_kafka(case: Case) -> Iterator[Finding]:
    """Two owners, committed offsets of topics that nobody reads, and partitions that nobody owns."""
    name = case.observed.name
    double = () if case.modelled is None else case.modelled.today.double_owned
    if double:
        yield finding(
            "two-owners",
            f"{several(len(double), 'partition has', 'partitions have')} two owners: the views were taken at"
            " different times, or some consumers with this group.id call assign().",
            (
                Remedy(
                    "Take all views at the same time, and make sure that no consumer with this group.id calls assign()."
                ),
            ),
            0.0 if case.lost is None else case.lost.double_owned,
            {"double_owned": [list(queue) for queue in double]},
        )
    read = set() if case.modelled is None else set(case.modelled.group.topics)
    dropped = sorted({queue.topic for queue in case.unowned if queue.topic not in read})
    if dropped:
        yield _left_over(name, dropped)
    unowned = [queue for queue in case.unowned if queue.topic in read]
    if unowned:
        topics = sorted({queue.topic for queue in unowned})
        yield finding(
            "unowned-queues",
            f"{several(len(unowned), 'partition')} of {named(topics)} {'has' if len(unowned) == 1 else 'have'} no"
            " owner: the partitions were added after the last rebalance, consumers choose theirs with assign(), or the"
            " views were taken at different times.",
            _for_unowned(case),
            0.0 if case.lost is None else case.lost.unowned,
            {"unowned": [list(queue) for queue in unowned]},
        )


def _for_unowned(case: Case) -> list[Remedy]:
    if case.observed.consumer_protocol:
        wait = "The broker assigns new partitions by itself: take the views again after a minute"
        return [
            Remedy(
                f"{wait}; if the partitions still have no owner, look for a member that does not revoke its partitions."
            )
        ]
    found = [
        Remedy(
            "Take the views again after metadata.max.age.ms (5 minutes), within which members notice new partitions."
        )
    ]
    if case.kind == "plain":
        found.append(
            Remedy(
                "If the partitions still have no owner: restart one member, and use subscribe() instead of assign().",
                restart="rolling",
                risks=(Risk("the restart makes the whole group rebalance", LIGHT),),
            )
        )
    return found


def _left_over(name: str, topics: list[str]) -> Finding:
    delete = tuple(f"{GROUPS} --delete-offsets --group {quote(name)} --topic {quote(topic)}" for topic in topics)
    return finding(
        "left-over-topics",
        f"No member reads {named(topics)}, where the group only has committed offsets.",
        (
            Remedy("If the topics should be read, subscribe a member to them.", restart="rolling"),
            Remedy(
                f"Only if the group will never read them again: delete the offsets: {delete[0]}",
                delete,
                reversible=False,
                risks=(
                    Risk("the committed offsets are lost, and a later subscription starts at auto.offset.reset", GRAVE),
                    Risk("a consumer that calls assign() may use the offsets: check whether they move", LIGHT),
                ),
            ),
        ),
        0.0,
        {"topics": topics},
    )


_WAIT = (
    "Take the views again after a minute, because a running rebalance or a crashed orderly member leaves queues in"
    " this state for up to a minute."
)


def broken_ownership(case: Case) -> Iterator[Finding]:
    """The most specific cause that fits: they all show as queues without owner and with two."""
    observed = case.observed
    if observed.mode != "shared" or observed.members == () or case.on_the_move:
        return
    if case.is_kafka:
        yield from broken_in_kafka(case)
        return
    specific = [*_duplicate_client_id(case), *_different_subscriptions(case)]
    if len(observed.strategies) > 1:
        # What members say of themselves: it stands beside whatever else is wrong.
        yield from _mixed_strategies(case)
    elif not specific and observed.strategy not in (None, *ROCKETMQ):
        yield from _left_by_strategy(case)
    elif not specific:
        yield from _mixed_strategies(case)
    yield from specific


def _duplicate_client_id(case: Case) -> Iterator[Finding]:
    connections = Counter(member.id for member in case.observed.members or case.observed.seen)
    twice = sorted(id for id, count in connections.items() if count > 1)
    if not twice:
        return
    after = None
    if case.modelled is not None:
        members = tuple(replace(member, client_id=None) for member in case.modelled.group.members)
        after = _allocated(case, replace(case.modelled.group, members=members))
    remedy = Remedy(
        "Give every process its own id: DefaultMQPushConsumer.setInstanceName(...) or -Drocketmq.client.name, and"
        " setClientIP where containers share an address.",
        ("-Drocketmq.client.name=UNIQUE_NAME",),
        "rolling",
        risks=(Risk("queues that had no reader are delivered from now on, including their old records", LIGHT),),
        gain=case.gain(after),
        after=after,
    )
    yield finding(
        "duplicate-client-id",
        f"Several processes run under one client id ({named(twice)}): each process takes the same share of the"
        " queues, so the other shares have no owner.",
        (remedy,),
        _cost(case, after),
        {"client_ids": twice},
    )


def _different_subscriptions(case: Case) -> Iterator[Finding]:
    told = {
        member.id: frozenset(member.subscription)
        for member in case.observed.members or case.observed.seen
        if member.subscription is not None
    }
    differ = case.modelled is not None and case.modelled.basis == "told" and not case.modelled.alike
    if not case.observed.subscriptions_differ and not differ:
        return
    after = None
    if case.modelled is not None:
        group = case.modelled.group
        read = {topic for member in group.members for topic in member.subscription}
        everything = tuple(topic for topic in group.topics if topic in read)
        members = tuple(replace(member, subscription=everything) for member in group.members)
        after = _allocated(case, replace(group, members=members))
    yield finding(
        "different-subscriptions",
        "Members of one group subscribe to different topics: RocketMQ allocates every topic to all members of the"
        " group, so the shares of members that do not subscribe to the topic have no owner.",
        (
            Remedy(
                "Give all members the same topics and tags.",
                restart="rolling",
                risks=(Risk("every member must be able to handle the records of all topics", LIGHT),),
                gain=case.gain(after),
                after=after,
            ),
            Remedy(
                "Create one group per set of topics: stop the members, copy the current offsets topic by topic,"
                " check them with consumerProgress -g NEW_GROUP, and start each member in its new group.",
                ("mqadmin cloneGroupOffset -n NAMESRV -s OLD_GROUP -d NEW_GROUP -t TOPIC",),
                "all at once",
                risks=(
                    Risk("a new group without copied offsets starts where ConsumeFromWhere says", SERIOUS),
                    Risk("records in the old group's retry topic stay there", SERIOUS),
                ),
            ),
        ),
        _cost(case, after),
        {"subscriptions": {id: sorted(topics) for id, topics in sorted(told.items())}},
    )


def _mixed_strategies(case: Case) -> Iterator[Finding]:
    observed, modelled = case.observed, case.modelled
    strategies = list(observed.strategies) if len(observed.strategies) > 1 else []
    double = modelled is not None and bool(modelled.today.double_owned)
    broken = bool(_unread(case)) or double or observed.members_disagree
    unexplained = (
        modelled is not None
        and observed.strategy in ROCKETMQ
        and recompute(modelled.group, observed.strategy) not in (None, modelled.today)
    )
    if not strategies and not broken and not unexplained:
        return
    fitting = {} if modelled is None else _fitting(modelled)
    if strategies:
        cause = (
            f"Members of one group run different strategies ({', '.join(strategies)}), whose shares do not fit"
            " together."
        )
    elif common := [name for name in ROCKETMQ if fitting and all(name in names for names in fitting.values())]:
        cause = f"A member reports the strategy {observed.strategy}, but all members own what {common[0]} allocates."
    elif fitting and all(fitting.values()):
        pairs = [f"{id} {' or '.join(names)}" for id, names in fitting.items()]
        cause = f"Members of one group run different strategies, judged by the queues that each owns: {named(pairs)}."
    elif not broken:
        cause = (
            f"Members do not own what {observed.strategy} allocates: some run another strategy or see another list of"
            " members or queues, or the views were taken at different times."
        )
    else:
        cause = (
            "The members do not agree on one allocation: no single strategy leaves queues in this state, so some"
            " members run another strategy or see another list of members or queues."
        )
    group = None if modelled is None else modelled.group
    after = None if group is None else _allocated(case, group)
    command = of_group("consumerStatus", observed.name, "-i ID")
    if not broken and not strategies:
        yield finding("mixed-strategies", cause, (_ask_each(command),), 0.0, {"strategies": [], "fitting": fitting})
        return
    first = "" if strategies else f"{_WAIT} Only if the state stays: "
    call = "Call" if strategies else "call"
    remedy = Remedy(
        f"{first}{call} setAllocateMessageQueueStrategy with the same strategy in every member (compare {command} of"
        ' each); mqadmin\'s "Rebalance OK" does not check this.',
        (command,),
        "rolling",
        risks=(Risk("queues that had no reader are delivered from now on, including their old records", LIGHT),),
        gain=case.gain(after),
        after=after,
    )
    yield finding(
        "mixed-strategies",
        cause,
        (remedy,),
        _cost(case, after),
        {"strategies": strategies, "fitting": fitting, "unowned_queues": len(case.unowned)},
    )


def _unread(case: Case) -> list[Queue]:
    """Queues without owner, of topics that somebody subscribes to: offsets outlive a subscription."""
    if case.modelled is None or case.modelled.basis != "told":
        return list(case.unowned)
    read = {topic for member in case.modelled.group.members for topic in member.subscription}
    return [queue for queue in case.unowned if queue.topic in read]


def _ask_each(command: str) -> Remedy:
    return Remedy(
        f"Take the views again, and ask each member with {command}. No member needs a restart while every queue has"
        " one owner; give members with different strategies the same one in their next release.",
        (command,),
    )


def _fitting(modelled: Modelled) -> dict[str, list[str]]:
    """Member to the strategies that give it exactly what it owns."""
    answers = {name: recompute(modelled.group, name) for name in ROCKETMQ}
    return {
        id: [name for name, answer in answers.items() if answer is not None and answer[id] == owned]
        for id, owned in modelled.today.items()
    }


def _left_by_strategy(case: Case) -> Iterator[Finding]:
    """CONFIG, rooms, or a strategy of the user's own that does not cover all queues, or some twice."""
    double = () if case.modelled is None else case.modelled.today.double_owned
    observed = case.observed
    if not case.unowned and not double and not observed.members_disagree:
        return
    after = None
    if case.modelled is not None:
        after = _allocated(case, case.modelled.group)
    if observed.strategy == "CONFIG":
        kind = "configured-gaps"
        cause = "The members' lists of AllocateMessageQueueByConfig do not fit together:"
        check = Remedy(
            "Correct the lists so that each queue is in exactly one list.",
            restart="rolling",
            risks=(Risk("until all members have the new lists, queues have two owners or none", LIGHT),),
        )
    else:
        kind = "unowned-queues" if case.unowned else "two-owners"
        cause = f"The strategy {observed.strategy} does not cover the queues:"
        check = Remedy("Check the strategy's settings (rooms, lists) in every member.")
    call = "setAllocateMessageQueueStrategy(new AllocateMessageQueueAveragely())"
    deal = Remedy(
        f"If no reason speaks against AVG, switch to AVG: stop all members, and start them with {call}.",
        (call,),
        "all at once",
        risks=(Risk(f"the purpose of {observed.strategy} (rooms, lists) is lost", SERIOUS),),
        gain=case.gain(after),
        after=after,
    )
    lacking = [f"{several(len(case.unowned), 'queue has', 'queues have')} no owner"] if case.unowned else []
    shared = [f"{several(len(double), 'queue has', 'queues have')} two"] if double else []
    what = " and ".join(lacking + shared) or "members claim the same queues"
    yield finding(
        kind,
        f"{cause} {what}.",
        (check, deal),
        _cost(case, after),
        {"unowned": [list(queue) for queue in case.unowned], "double_owned": [list(queue) for queue in double]},
    )


def _allocated(case: Case, group: Group) -> Allocation:
    """What the group's own strategy gives once all members agree; AVG where it is not known."""
    strategy = case.observed.strategy if case.observed.strategy in ROCKETMQ else "AVG"
    return allocate(strategy, group)


def _cost(case: Case, after: Allocation | None) -> float:
    if after is not None:
        broken = 0.0 if case.lost is None else case.lost.unowned + case.lost.double_owned
        # A remedy may make loads less even, and still find a reader for queues that have none.
        return max(case.points_back(after), broken)
    queues = len(case.observed.queues or ())
    # Without a model only the share without owner is known, and often not even that.
    return UNOWNED * sqrt(min(1.0, len(case.unowned) / queues)) if case.unowned and queues else UNOWNED / 2
