"""Kafka's partitions without an owner or with two, and topics that no member reads any more."""

from collections.abc import Iterator
from shlex import quote

from compare.diagnosis.finding import Case, Finding, finding, named, several
from compare.diagnosis.remedies.commands import GROUPS
from compare.diagnosis.remedies.remedy import GRAVE, LIGHT, Remedy, Risk


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
            " owner: the partitions were added after the last rebalance, or consumers choose theirs with assign().",
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
