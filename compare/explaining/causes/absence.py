"""Nobody there, not settled yet, or not told."""

from collections.abc import Iterator, Sequence
from math import sqrt
from shlex import quote
from typing import Final
from urllib.parse import quote as percent

from compare.auditing.group_figures import MISSING
from compare.explaining.finding import Case, Finding, clients, finding, named
from compare.explaining.remedies.assignors import connector_of, session_timeout
from compare.explaining.remedies.remedy import GRAVE, GROUPS, LIGHT, Remedy, Risk, connector, describe, of_group
from compare.formatting import several
from compare.reading.group_model import REBALANCING, missing_share
from compare.reading.observed import ObservedGroup


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
            "The group only stores offsets for consumers that call assign(); whether they run is unknown, because no"
            f" list of members shows them: {records}."
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
        return Remedy("Take the offsets view twice: offsets that move belong to running consumers.", (command,))
    if case.kind == "connect":
        name = connector_of(case)
        return Remedy(
            f"Check the connector's state and failed tasks (GET /connectors/{percent(name)}/status), and resume the"
            f" connector: {connector(name, 'resume')}"
        )
    return Remedy("Start the group's consumers.")


def _delete(case: Case) -> Remedy:
    name = case.observed.name
    if case.is_kafka:
        commands: tuple[str, ...] = (
            f"{GROUPS} --reset-offsets --to-current --all-topics --group {quote(name)} --dry-run --export"
            " > offsets.csv",
            f"{GROUPS} --delete --group {quote(name)}",
        )
        risks = (
            Risk("the committed offsets are lost, and consumers that return start at auto.offset.reset", GRAVE),
            Risk(
                "consumers that call assign() and MirrorMaker (sync.group.offsets.enabled) appear in no list of"
                " members, but may run and store offsets in this group",
                LIGHT,
            ),
        )
        text = f"export the committed offsets ({commands[0]}), and delete the group: {commands[1]}"
    else:
        commands = (of_group("deleteSubGroup", name, "-c CLUSTER"),)
        risks = (
            Risk("the group's retry and dead-letter topics are deleted with all their records", GRAVE),
            Risk("clients that pull by hand may store offsets in this group without being members", LIGHT),
        )
        text = f"delete the group: {commands[0]}"
    return Remedy(
        f"Only if the group is retired and its offsets no longer change: {text}",
        commands,
        reversible=False,
        risks=risks,
    )


def nobody_online(case: Case) -> Iterator[Finding]:
    """A RocketMQ group whose members no source lists, and of whose queues none has an owner, while records wait."""
    waiting = sum(lag for queue, lag in case.observed.lag.items() if lag is not None and lag > 0)
    if not case.observed.seems_deserted or waiting <= 0:
        return
    ask = of_group("consumerConnection", case.observed.name)
    yield finding(
        "nobody-online",
        f"No member seems to be online: no queue has an owner, and {several(waiting, 'record waits', 'records wait')}.",
        (
            Remedy(
                f"Check first whether members are connected: {ask}. Clients that do not answer consumerProgress"
                " (other languages, gRPC) and a group whose first client hangs look the same.",
                (ask,),
            ),
            Remedy("If no member is connected, start the group's consumers."),
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
        meanwhile = " Members keep asking the name server for the route, which does no harm."
    create = tuple(
        f"kafka-topics.sh --bootstrap-server HOST --create --topic {quote(topic)}"
        if case.is_kafka
        else f"mqadmin updateTopic -n NAMESRV -c CLUSTER -t {quote(topic)} -r QUEUES -w QUEUES"
        for topic in missing
    )
    yield finding(
        "missing-topics",
        f"Members subscribe to {named(missing)}, which does not exist in the cluster, so members receive nothing"
        f" from there.{meanwhile}",
        (
            Remedy(f"If the topic should exist, create it: {create[0]}", create),
            Remedy(
                "If the name is wrong, correct the subscription in every member.",
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
    shown = _shown_by_state(state) if state in REBALANCING else _shown_by_members(clients(case.observed, moving), state)
    yield finding(
        "rebalancing",
        f"{shown}, so ownership is about to change.",
        (
            Remedy(
                "Take the views again when the state is Stable; if the rebalance does not end, look for a member"
                " that does not poll, and check its max.poll.interval.ms. Do not restart members meanwhile, because"
                " each restart begins another rebalance."
            ),
        ),
        0.0 if case.lost is None else 100.0 - case.lost.score - case.lost.idle,
        {"state": state, "moving": list(moving), "unowned_queues": len(case.unowned)},
    )


def _shown_by_state(state: str | None) -> str:
    waits = {
        "PreparingRebalance": "the coordinator waits for members to rejoin, at most their largest max.poll.interval.ms",
        "CompletingRebalance": "the coordinator waits for the leader's assignment",
    }.get(state or "", "members have not yet revoked or taken over partitions as their target assignment demands")
    return f"The group is in {state}: {waits}"


def _shown_by_members(moving: Sequence[str], state: str | None) -> str:
    have = "has not reached its" if len(moving) == 1 else "have not reached their"
    text = (
        f"{named(moving)} {have} target assignment: the members view shows a CURRENT-EPOCH other than TARGET-EPOCH,"
        " or a CURRENT-ASSIGNMENT other than TARGET-ASSIGNMENT"
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
        cause = "Ownership is unknown, because no line that can be read lists the members' partitions."
        command = describe(observed.name, "members --verbose")
        remedy = f"Add the output of {command}"
    elif silent:
        cause = (
            f"Ownership is unknown for {several(len(silent), 'member')}: consumerProgress shows the addresses of"
            " owners only, not those of clients that do not answer (N/A, other languages), and hides second owners."
        )
        command = of_group("consumerStatus", observed.name, f"-i {quote(silent[0].id)}")
        remedy = f"Ask each of them: {command}"
    else:
        cause = "The members are unknown, because no line that can be read lists them."
        command = of_group("consumerConnection", observed.name)
        remedy = f"Add the output of {command}, and of {of_group('consumerProgress', observed.name, '-s true')}"
    evidence = {"members": [member.id for member in silent]}
    yield finding("untold", cause, (Remedy(remedy, (command,)),), 0.0, evidence)


GIVEN_OUT: Final = "given-out"
"""The kind of the one finding of such a group."""


def given_out(observed: ObservedGroup) -> Finding:
    """What there is to say of a group whose records are given out one by one: not who owns what."""
    how = "members consume by POP" if observed.mode == "pop" else "this is a share group"
    cause = "; ".join([f"No queue has an owner, because {how}: records are given out one by one", *observed.notes])
    return finding(GIVEN_OUT, f"{cause}.", (), 0.0, {"lag": sum(lag or 0 for lag in observed.lag.values())})


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
        f"Static {'members' if len(silent) > 1 else 'member'} {named(instances)} may be gone: all of the lag"
        f" ({several(waiting, 'record')}) is in {'their' if len(silent) > 1 else 'its'} partitions, and a static"
        f" member keeps its partitions until {session_timeout(case)} has passed.",
        (
            Remedy(f"Check that the process runs, or start it again with the same group.instance.id{refused}."),
            Remedy(
                "Only if the member is gone for good: call Admin.removeMembersFromConsumerGroup with its"
                " group.instance.id (kafka-consumer-groups.sh has no such command).",
                reversible=False,
                risks=(Risk("a member that still runs is fenced and stops with an error", LIGHT),),
            ),
        ),
        25.0 * len(silent) / len(members),
        {"instances": instances, "lag": waiting},
    )
