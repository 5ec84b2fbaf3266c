"""Nobody there, not settled yet, or not told."""

from collections.abc import Iterator

from compare.audit.finding import Case, Finding, named, several
from compare.audit.model import REBALANCING


def nobody(case: Case) -> Iterator[Finding]:
    """No member, while records wait."""
    observed = case.observed
    # A position behind the end of its queue (the topic was made anew) makes no other queue's records fewer.
    waiting = (case.lag or 0) - sum(lag for lag in observed.lag.values() if lag is not None and lag < 0)
    if observed.members != () or waiting <= 0:
        return
    delete = (
        f"kafka-consumer-groups.sh --bootstrap-server HOST --delete --group {observed.name}"
        if case.is_kafka
        else f"mqadmin deleteSubGroup -n NAMESRV -c CLUSTER -g {observed.name}"
    )
    yield Finding(
        "no-members",
        f"Nobody consumes: the group has no member, and {several(waiting, 'record waits', 'records wait')}.",
        f"Start its consumers, or, if the group is retired, delete it: {delete}",
        100.0,
        {"lag": waiting},
    )


def rebalancing(case: Case) -> Iterator[Finding]:
    """Ownership that is about to change."""
    state = case.observed.state
    if state not in REBALANCING:
        return
    waits = {
        "PreparingRebalance": "it waits for members to rejoin, up to the largest max.poll.interval.ms of a member",
        "CompletingRebalance": "it waits for its leader to send the assignment",
    }.get(state, "members have not yet taken over or given up what they are to")
    yield Finding(
        "rebalancing",
        f"The group is in {state}: {waits}, so what members own is not what they will own.",
        "Take the views again when the state is Stable; if it stays, look for a member that does not poll and for its"
        " max.poll.interval.ms.",
        0.0 if case.lost is None else 100.0 - case.lost.score,
        {"state": state, "unowned_queues": len(case.unowned)},
    )


def untold(case: Case) -> Iterator[Finding]:
    """Members of whom the sources do not tell what they own."""
    observed = case.observed
    members = observed.seen if observed.members is None else observed.members
    silent = [member for member in members if member.owned is None]
    if observed.members == () or (observed.members is not None and not silent):
        return
    if case.is_kafka:
        cause = "The sources do not tell which partitions the members own."
        remedy = (
            "Add the output of kafka-consumer-groups.sh --bootstrap-server HOST --describe --group"
            f" {observed.name} --members --verbose"
        )
    elif silent:
        cause = (
            f"Of {several(len(silent), 'member')} nobody tells what they own: consumerProgress shows the addresses of"
            " owners only, not those of clients that do not answer (N/A, other languages), and hides second owners."
        )
        remedy = f"Ask each of them: mqadmin consumerStatus -n NAMESRV -g {observed.name} -i {silent[0].id}"
    else:
        cause = "The sources do not tell who the members are."
        remedy = (
            f"Add the output of mqadmin consumerConnection -n NAMESRV -g {observed.name}, and of mqadmin"
            f" consumerProgress -n NAMESRV -g {observed.name} -s true"
        )
    yield Finding("untold", cause, remedy, 0.0, {"members": [member.id for member in silent]})


def static_member_silent(case: Case) -> Iterator[Finding]:
    """Static members behind whom alone the lag lies: what a crashed one looks like until its session ends."""
    members = case.observed.members
    if not case.is_kafka or not members or case.observed.state in REBALANCING:
        return
    lag = case.observed.lag
    behind = {
        member.id for member in members if member.owned and all((lag.get(queue) or 0) > 0 for queue in member.owned)
    }
    silent = [member for member in members if member.id in behind and member.instance_id is not None]
    others = [member for member in members if member.id not in behind and member.owned]
    if not silent or len(silent) != len(behind) or not others:
        return
    if any(lag.get(queue) != 0 for member in others for queue in member.owned or ()):
        return
    waiting = sum(lag[queue] or 0 for member in silent for queue in member.owned or ())
    instances = [str(member.instance_id) for member in silent]
    yield Finding(
        "static-member-silent",
        f"Static {'members' if len(silent) > 1 else 'member'} {named(instances)} may be gone:"
        f" all {several(waiting, 'record')} that wait are in what {'they own' if len(silent) > 1 else 'it owns'}, and"
        " a static member keeps its partitions until session.timeout.ms has passed.",
        "Check that the process runs; if it is gone for good, kafka-consumer-groups.sh cannot remove it, so call"
        " Admin.removeMembersFromConsumerGroup with its group.instance.id, and keep session.timeout.ms short.",
        25.0 * len(silent) / len(members),
        {"instances": instances, "lag": waiting},
    )
