"""Nobody there, not settled yet, or not told."""

from collections.abc import Iterator, Sequence

from compare.audit.finding import Case, Finding, finding, named, several
from compare.audit.model import REBALANCING
from compare.audit.remedies.remedy import GRAVE, LIGHT, Remedy, Risk


def nobody(case: Case) -> Iterator[Finding]:
    """No member, while records wait."""
    observed = case.observed
    # A position behind the end of its queue (the topic was made anew) makes no other queue's records fewer.
    waiting = (case.lag or 0) - sum(lag for lag in observed.lag.values() if lag is not None and lag < 0)
    if observed.members != () or waiting <= 0:
        return
    name = observed.name
    if case.is_kafka:
        tool = "kafka-consumer-groups.sh --bootstrap-server HOST"
        delete: tuple[str, ...] = (
            f"{tool} --export --reset-offsets --to-current --group {name} --all-topics --dry-run",
            f"{tool} --delete --group {name}",
        )
        others = "consumers that call assign() are in no list of members: they may be at work and store offsets here"
    else:
        delete = (f"mqadmin deleteSubGroup -n NAMESRV -c CLUSTER -g {name}",)
        others = "clients that pull by hand may store offsets here without being members"
    records = several(waiting, "record waits", "records wait")
    cause = f"Nobody consumes: the group has no member, and {records}."
    if case.kind == "assign":
        cause = (
            "The group only stores offsets for consumers that call assign(), which no list of members shows, so that"
            f" nobody tells whether they are at work: {records}."
        )
    yield finding(
        "no-members",
        cause,
        (
            Remedy("Start its consumers.") if case.kind != "assign" else _look_whether_they_move(case),
            Remedy(
                f"Only if the group is retired and its offsets stand still: delete it: {delete[-1]}",
                delete,
                reversible=False,
                risks=(
                    Risk("the group's positions are lost, and whoever comes back starts where it is told to", GRAVE),
                    Risk(others, LIGHT),
                ),
            ),
        ),
        100.0,
        {"lag": waiting},
    )


def _look_whether_they_move(case: Case) -> Remedy:
    command = f"kafka-consumer-groups.sh --bootstrap-server HOST --describe --group {case.observed.name}"
    return Remedy("Take the offsets view twice: offsets that move are those of consumers at work.", (command,))


def rebalancing(case: Case) -> Iterator[Finding]:
    """Ownership that is about to change."""
    if not case.on_the_move:
        return
    state, moving = case.observed.state, case.observed.moving or ()
    shown = _shown_by_state(state) if state in REBALANCING else _shown_by_members(moving, state)
    yield finding(
        "rebalancing",
        f"{shown}, so what members own is not what they will own.",
        (
            Remedy(
                "Take the views again when the state is Stable; if it stays, look for a member that does not poll and"
                " for its max.poll.interval.ms. Restart nothing meanwhile: that would begin another rebalance."
            ),
        ),
        0.0 if case.lost is None else 100.0 - case.lost.score,
        {"state": state, "moving": list(moving), "unowned_queues": len(case.unowned)},
    )


def _shown_by_state(state: str | None) -> str:
    waits = {
        "PreparingRebalance": "it waits for members to rejoin, up to the largest max.poll.interval.ms of a member",
        "CompletingRebalance": "it waits for its leader to send the assignment",
    }.get(state or "", "members have not yet taken over or given up what they are to")
    return f"The group is in {state}: {waits}"


def _shown_by_members(moving: Sequence[str], state: str | None) -> str:
    have = "has not reached its" if len(moving) == 1 else "have not reached their"
    text = (
        f"{named(moving)} {have} target assignment: in the members view CURRENT-EPOCH is not TARGET-EPOCH, or"
        " CURRENT-ASSIGNMENT not TARGET-ASSIGNMENT"
    )
    return text if state is None else f"{text} (the state view, taken at another time, says {state})"


def untold(case: Case) -> Iterator[Finding]:
    """Members of whom the sources do not tell what they own."""
    observed = case.observed
    members = observed.seen if observed.members is None else observed.members
    silent = [member for member in members if member.owned is None]
    if observed.members == () or (observed.members is not None and not silent):
        return
    if case.is_kafka:
        cause = "The sources do not tell which partitions the members own."
        command = (
            f"kafka-consumer-groups.sh --bootstrap-server HOST --describe --group {observed.name} --members --verbose"
        )
        remedy = f"Add the output of {command}"
    elif silent:
        cause = (
            f"Of {several(len(silent), 'member')} nobody tells what they own: consumerProgress shows the addresses of"
            " owners only, not those of clients that do not answer (N/A, other languages), and hides second owners."
        )
        command = f"mqadmin consumerStatus -n NAMESRV -g {observed.name} -i {silent[0].id}"
        remedy = f"Ask each of them: {command}"
    else:
        cause = "The sources do not tell who the members are."
        command = f"mqadmin consumerConnection -n NAMESRV -g {observed.name}"
        remedy = f"Add the output of {command}, and of mqadmin consumerProgress -n NAMESRV -g {observed.name} -s true"
    evidence = {"members": [member.id for member in silent]}
    yield finding("untold", cause, (Remedy(remedy, (command,)),), 0.0, evidence)


def static_member_silent(case: Case) -> Iterator[Finding]:
    """Static members behind whom alone the lag lies: what a crashed one looks like until its session ends."""
    members = case.observed.members
    if not case.is_kafka or not members or case.on_the_move:
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
    yield finding(
        "static-member-silent",
        f"Static {'members' if len(silent) > 1 else 'member'} {named(instances)} may be gone:"
        f" all {several(waiting, 'record')} that wait are in what {'they own' if len(silent) > 1 else 'it owns'}, and"
        " a static member keeps its partitions until session.timeout.ms has passed.",
        (
            Remedy("Check that the process runs, and start it again under the same group.instance.id."),
            Remedy(
                "Only if it is gone for good: call Admin.removeMembersFromConsumerGroup with its group.instance.id"
                " (kafka-consumer-groups.sh has no such command), and keep session.timeout.ms short.",
                reversible=False,
                risks=(Risk("a member that is alive after all is fenced and stops with an error", LIGHT),),
            ),
        ),
        25.0 * len(silent) / len(members),
        {"instances": instances, "lag": waiting},
    )
