"""Nobody there, not settled yet, or not told."""

from collections.abc import Iterator, Sequence
from math import sqrt
from shlex import quote
from urllib.parse import quote as percent

from compare.diagnosis.finding import Case, Finding, finding, named, several
from compare.diagnosis.remedies.assignors import connector_of, session_timeout
from compare.diagnosis.remedies.commands import GROUPS, connector, describe, of_group
from compare.diagnosis.remedies.remedy import GRAVE, LIGHT, Remedy, Risk
from compare.measure.groups.cost import MISSING
from compare.reading.group_model import REBALANCING
from compare.reading.known_ownership import missing_share


def nobody(case: Case) -> Iterator[Finding]:
    """No member, while records wait."""
    observed = case.observed
    # A position behind the end of its queue (the topic was made anew) makes no other queue's records fewer.
    waiting = (case.lag or 0) - sum(lag for lag in observed.lag.values() if lag is not None and lag < 0)
    if observed.members != () or waiting <= 0:
        return
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
        (_start(case), _delete(case)),
        100.0,
        {"lag": waiting},
    )


def _start(case: Case) -> Remedy:
    if case.kind == "assign":
        command = f"{GROUPS} --describe --group {quote(case.observed.name)}"
        return Remedy("Take the offsets view twice: offsets that move are those of consumers at work.", (command,))
    if case.kind == "connect":
        name = connector_of(case)
        return Remedy(
            f"Look at the connector's state and its failed tasks (GET /connectors/{percent(name)}/status), and resume"
            f" it: {connector(name, 'resume')}"
        )
    return Remedy("Start its consumers.")


def _delete(case: Case) -> Remedy:
    name = case.observed.name
    if case.is_kafka:
        commands: tuple[str, ...] = (
            f"{GROUPS} --reset-offsets --to-current --all-topics --group {quote(name)} --dry-run --export"
            " > offsets.csv",
            f"{GROUPS} --delete --group {quote(name)}",
        )
        risks = (
            Risk("the group's positions are lost, and whoever comes back starts at auto.offset.reset", GRAVE),
            Risk(
                "consumers that call assign(), and MirrorMaker (sync.group.offsets.enabled), are in no list of members:"
                " they may be at work and store offsets here",
                LIGHT,
            ),
        )
        text = f"keep its positions ({commands[0]}), and delete it: {commands[1]}"
    else:
        commands = (of_group("deleteSubGroup", name, "-c CLUSTER"),)
        risks = (
            Risk("its retry and dead-letter topics are deleted with all records in them", GRAVE),
            Risk("clients that pull by hand may store offsets here without being members", LIGHT),
        )
        text = f"delete it: {commands[0]}"
    return Remedy(
        f"Only if the group is retired and its offsets stand still: {text}", commands, reversible=False, risks=risks
    )


def nobody_online(case: Case) -> Iterator[Finding]:
    """A RocketMQ group whose members no source lists, and of whose queues none has an owner, while records wait."""
    waiting = sum(lag for queue, lag in case.observed.lag.items() if lag is not None and lag > 0)
    if not case.observed.seems_deserted or waiting <= 0:
        return
    ask = of_group("consumerConnection", case.observed.name)
    yield finding(
        "nobody-online",
        f"Nobody seems to be online: no queue has an owner, and {several(waiting, 'record waits', 'records wait')}.",
        (
            Remedy(
                f"Check first whether members are connected: {ask}. Clients that do not answer consumerProgress (other"
                " languages, gRPC) look the same, and so does a group whose first client hangs.",
                (ask,),
            ),
            Remedy("If nobody is connected: start its consumers."),
        ),
        100.0,
        {"lag": waiting},
    )


def missing_topics(case: Case) -> Iterator[Finding]:
    """Topics that members subscribe to and the cluster does not have."""
    missing = case.observed.missing_topics
    if not missing:
        return
    meanwhile = ""
    if not case.is_kafka:
        meanwhile = " Members go on asking the name server for it, which does no harm."
    create = tuple(
        f"kafka-topics.sh --bootstrap-server HOST --create --topic {quote(topic)}"
        if case.is_kafka
        else f"mqadmin updateTopic -n NAMESRV -c CLUSTER -t {quote(topic)} -r QUEUES -w QUEUES"
        for topic in missing
    )
    yield finding(
        "missing-topics",
        f"Members subscribe to {named(missing)}, which the cluster does not have, so nothing is read there.{meanwhile}",
        (
            Remedy(f"If it should be there: create it: {create[0]}", create),
            Remedy(
                "If the name is wrong: correct the subscription in every member.",
                restart="rolling",
                risks=()
                if case.is_kafka
                else (Risk("until all members are corrected, queues of the right topic have no owner", LIGHT),),
            ),
        ),
        MISSING * sqrt(missing_share(case.observed)),
        {"topics": list(missing)},
    )


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


def unknown_ownership(case: Case) -> Iterator[Finding]:
    """Members of whom the sources do not tell what they own."""
    observed = case.observed
    members = observed.seen if observed.members is None else observed.members
    silent = [member for member in members if member.owned is None]
    if observed.members == () or (observed.members is not None and not silent):
        return
    if next(nobody_online(case), None) is not None:
        return
    if case.is_kafka:
        cause = "The sources do not tell which partitions the members own."
        command = describe(observed.name, "members --verbose")
        remedy = f"Add the output of {command}"
    elif silent:
        cause = (
            f"Of {several(len(silent), 'member')} nobody tells what they own: consumerProgress shows the addresses of"
            " owners only, not those of clients that do not answer (N/A, other languages), and hides second owners."
        )
        command = of_group("consumerStatus", observed.name, f"-i {quote(silent[0].id)}")
        remedy = f"Ask each of them: {command}"
    else:
        cause = "The sources do not tell who the members are."
        command = of_group("consumerConnection", observed.name)
        remedy = f"Add the output of {command}, and of {of_group('consumerProgress', observed.name, '-s true')}"
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
    refused = " (the broker refuses it until then)" if case.observed.consumer_protocol else ""
    yield finding(
        "static-member-silent",
        f"Static {'members' if len(silent) > 1 else 'member'} {named(instances)} may be gone:"
        f" all {several(waiting, 'record')} that wait are in what {'they own' if len(silent) > 1 else 'it owns'}, and"
        f" a static member keeps its partitions until {session_timeout(case)} has passed.",
        (
            Remedy(f"Check that the process runs, and start it again under the same group.instance.id{refused}."),
            Remedy(
                "Only if it is gone for good: call Admin.removeMembersFromConsumerGroup with its group.instance.id"
                " (kafka-consumer-groups.sh has no such command).",
                reversible=False,
                risks=(Risk("a member that is alive after all is fenced and stops with an error", LIGHT),),
            ),
        ),
        25.0 * len(silent) / len(members),
        {"instances": instances, "lag": waiting},
    )
