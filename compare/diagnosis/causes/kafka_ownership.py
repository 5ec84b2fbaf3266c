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
            f"{several(len(double), 'partition has', 'partitions have')} two owners: the views are of different"
            " moments, or members use assign() beside the group's.",
            (Remedy("Take all views at one moment; let no consumer with this group.id call assign()."),),
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
            " owner: added since the last rebalance, or consumers pick theirs by assign().",
            _for_unowned(case),
            0.0 if case.lost is None else case.lost.unowned,
            {"unowned": [list(queue) for queue in unowned]},
        )


def _for_unowned(case: Case) -> list[Remedy]:
    if case.observed.consumer_protocol:
        wait = "The broker hands out new partitions by itself: take the views again after a minute"
        return [Remedy(f"{wait}; if they stay, look for a member that does not give up what it should.")]
    found = [Remedy("Take the views again after metadata.max.age.ms (5 minutes): until then members notice them.")]
    if case.kind == "plain":
        found.append(
            Remedy(
                "If they stay: restart one member, and use subscribe() instead of assign().",
                restart="rolling",
                risks=(Risk("the restart makes the whole group rebalance", LIGHT),),
            )
        )
    return found


def _left_over(name: str, topics: list[str]) -> Finding:
    delete = tuple(f"{GROUPS} --delete-offsets --group {quote(name)} --topic {quote(topic)}" for topic in topics)
    return finding(
        "left-over-topics",
        f"No member reads {named(topics)}: the group only has committed offsets there.",
        (
            Remedy("If somebody should read them, subscribe a member.", restart="rolling"),
            Remedy(
                f"Only if nobody comes back to them: delete the offsets: {delete[0]}",
                delete,
                reversible=False,
                risks=(
                    Risk("the positions are lost, and a later subscription starts at auto.offset.reset", GRAVE),
                    Risk("a consumer that calls assign() may use them: look whether they move", LIGHT),
                ),
            ),
        ),
        0.0,
        {"topics": topics},
    )
