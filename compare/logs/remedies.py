"""What to do about each cause: the setting and its number from what was measured, and what it would not help with."""

import math
from collections.abc import Callable, Mapping

from compare.logs.happenings import NOT_AUTHENTICATED, NOT_AUTHORIZED, REFUSALS
from compare.logs.model import GroupLog
from compare.logs.suspects import STATIC_CLOSED

_Figures = Mapping[str, float]

_MOST_SESSION_S = 1800.0
"""group.max.session.timeout.ms, as brokers have it without a word."""

_MOST_SERVER_SESSION_S = 60.0
"""group.consumer.max.session.timeout.ms."""


def remedy(log: GroupLog, cause: str) -> str | None:
    """One or two sentences; None where nothing is to be done."""
    if log.system == "rocketmq":
        return _ROCKETMQ.get(cause)
    make = _MEASURED.get(cause)
    if make is not None:
        return make(log)
    return (_ON_SERVERS.get(cause) if _on_servers(log) else None) or _KAFKA.get(cause)


def _on_servers(log: GroupLog) -> bool:
    """Whether the group is one of the consumer protocol, whose sessions are the broker's to set."""
    return any(rebalance.consumer_protocol for rebalance in log.rebalances)


def _ms(seconds: float) -> int:
    """A rounded-up setting in milliseconds: half as much again as was needed, in whole seconds."""
    return math.ceil(seconds * 1.5) * 1000


def longer_interval(figures: _Figures) -> int | None:
    """The max.poll.interval.ms that the longest batch would have fitted into, half as much again."""
    allowed, beyond = figures.get("max.poll.interval.ms"), figures.get("beyond_s")
    return None if allowed is None or beyond is None else _ms(allowed / 1000 + beyond)


def _slow(log: GroupLog) -> str:
    allowed = log.figures.get("max.poll.interval.ms")
    beyond = log.figures.get("beyond_s")
    if allowed is None or beyond is None:
        return (
            "Set max.poll.interval.ms above the longest batch, or lower max.poll.records; the logs do not tell how long"
            " the batch took. It does not help with members that crash or freeze."
        )
    longest = allowed / 1000 + beyond
    share = max(1, math.floor(100 * allowed / 1000 / longest / 1.5))
    return (
        f"Set max.poll.interval.ms to {_ms(longest)} (the longest batch took {longest:.1f} s, allowed are"
        f" {allowed / 1000:g} s), or lower max.poll.records to {share} % of its value. A longer interval does not help"
        " with members that crash or freeze, and makes rebalances wait longer for a slow member."
    )


_LOOK = {
    "broker_paused": "A broker stood still: look there for pauses (collection, disk, the machine), not at the members.",
    "broker_down": "A broker was down and another one took over: look there, not at the members.",
    "network_cut": "The network between a member and its broker was cut: look there, not at the member.",
    NOT_AUTHORIZED: "The broker denied members the group: give them READ on it (kafka-acls); no timeout helps.",
    NOT_AUTHENTICATED: "The broker did not take members' credentials: renew them; no timeout helps.",
    STATIC_CLOSED: "Static members that close tell their broker nothing: it waits for the end of their session.",
    "": "The logs do not tell whether the process crashed or stood still (a collection, a paused machine), its network"
    " was cut, or its broker did not answer: look for these.",
}


def _session(log: GroupLog) -> str:
    behind = sorted(
        {cause.behind for each in log.rebalances for cause in each.causes if cause.name == "session_timeout"} or {""}
    )
    found = [_LOOK[word] for word in behind if word in _LOOK]
    if set(REFUSALS).issuperset(behind):
        return " ".join(found)
    setting, most = "session.timeout.ms", _MOST_SESSION_S
    if _on_servers(log):
        setting, most = "group.consumer.session.timeout.ms of the broker", _MOST_SERVER_SESSION_S
    allowed = log.figures.get("session.timeout.ms", 0.0) / 1000
    same, new = log.figures.get("back_session_s"), log.figures.get("away_session_s")
    if same is not None and (same + allowed) * 1.5 <= most:
        found.append(
            f"A {setting} {_session_of(same, allowed)} would have outlived the longest silence of a process that came"
            f" back ({_since(same, allowed)}) without a rebalance; its partitions stand still so long."
        )
    if new is not None and (new + allowed) * 1.5 <= most:
        found.append(
            f"With static members (group.instance.id) and a {setting} {_session_of(new, allowed)} the longest restart"
            f" ({_since(new, allowed, ' from its last heartbeat')}) costs no rebalance."
        )
    return " ".join([*found, "A longer session does not help with a member that never comes back."])


def _session_of(away: float, allowed: float) -> str:
    """The session that would have lasted, where the logs tell how long it is (``allowed``); else by how much longer."""
    return f"of {_ms(away + allowed)}" if allowed else f"that is {_ms(away)} longer than now"


def _since(away: float, allowed: float, from_when: str = "") -> str:
    return f"{away + allowed:.1f} s{from_when}" if allowed else f"{away:.1f} s from the end of its session"


def _closed(log: GroupLog) -> str:
    found = []
    kinds = {deploy.kind for deploy in log.deploys}
    exceptions = {
        cause.detail.rpartition(".")[2]
        for each in log.rebalances
        for cause in each.causes
        if cause.behind == "exception"
    }
    for exception in sorted(exceptions):
        found.append(
            f"Members ended themselves after {exception}: {_CATCH.get(exception, 'catch what need not end them')}."
        )
    if "flapping" in kinds:
        found.append("If an autoscaler did that, let it wait longer before it takes a member away again.")
    away = log.figures.get("away_clean_s")
    if away is not None and kinds != {"flapping"}:
        setting = "group.consumer.session.timeout.ms of the broker" if _on_servers(log) else "session.timeout.ms"
        found.append(
            f"For restarts: static members (group.instance.id) with {setting} of {_ms(away)}; the longest restart took"
            f" {away:.1f} s. They do not help when the number of members changes for good."
        )
    return " ".join(found) or "One rebalance for each member that is closed for good: close them together."


_RETRY = "the rebalance ends with the next poll(), after which the commit is tried again or left to the new owner"
_GROUP, _TOPIC = (f"give its principal READ on the {what} (kafka-acls)" for what in ("group", "topic"))
_CATCH = {
    "Group authorization failed": _GROUP,
    "GroupAuthorizationException": _GROUP,
    "GroupAuthorizationFailedError": _GROUP,
    "Topic authorization failed": _TOPIC,
    "TopicAuthorizationException": _TOPIC,
    "TopicAuthorizationFailedError": _TOPIC,
    "SaslAuthenticationException": "renew its credentials",
    "RebalanceInProgressException": f"a commit met a rebalance; {_RETRY}",
    "CommitFailedException": "its commit came after its partitions were given away; catch it and go on with poll()",
    "CommitFailedError": "its commit came after its partitions were given away; catch it and go on polling",
}

_MEASURED: Mapping[str, Callable[[GroupLog], str]] = {
    "poll_interval_exceeded": _slow,
    "session_timeout": _session,
    "member_left": _closed,
}

_ON_SERVERS = {
    "member_joined": "Each member that joins raises the epoch; members that keep their partitions go on meanwhile.",
}
"""Of the consumer protocol, where they differ."""

_KAFKA = {
    NOT_AUTHORIZED: _LOOK[NOT_AUTHORIZED],
    NOT_AUTHENTICATED: _LOOK[NOT_AUTHENTICATED],
    "security_protocol_mismatch": "Compare security.protocol of the client with that of the broker's listener"
    " (listener.security.protocol.map), and look into that broker's log of that time; no timeout helps.",
    "member_rejoined_after_poll_timeout": "Goes with poll_interval_exceeded: its remedy removes both.",
    "member_rejoined_after_fencing": "Goes with the session that ended before: its remedy removes both.",
    "member_rejoined_under_new_id": "Goes with the coordinator that did not answer: the member joined anew while"
    " its old id was still in the group, which waits for that one's session.",
    "rebalance_timeout": "A member was busy or gone while the others joined again: the rebalance waits for it as"
    " long as max.poll.interval.ms (the rebalance timeout). Shorter batches end the wait sooner.",
    "member_joined": "Start members together: a rebalance takes all who join before it completes;"
    " group.initial.rebalance.delay.ms does so for an empty group.",
    "second_round_of_cooperative_rebalance": "The price of cooperative-sticky where partitions move; it stops"
    " nobody who keeps its partitions. The consumer protocol (group.protocol=consumer) has no second round.",
    "coordinator_restart": "Restarts of brokers: keep session.timeout.ms longer than a restart of the broker, and"
    " restart one at a time.",
    "coordinator_moved": "Another broker took the group over: keep session.timeout.ms longer than a fail-over takes.",
    "partitions_added": "One rebalance for each change of the topic: make changes together.",
    "topic_deleted": "Stop the group's members before their topics are deleted.",
    "topic_matched_pattern": "Narrow the pattern of the subscription, or create topics together.",
    "subscription_changed": "Subscribe once, before the first poll, with the same topics in every member.",
    "member_rejoined_without_change": "Harmless: a client library rejoined without need; update it.",
    "static_member_restarted": "Nothing to do: this is what static members are for.",
    "fenced_instance": "Give every process a group.instance.id of its own.",
    "inconsistent_protocol": "Let partition.assignment.strategy of all members share one assignor.",
    "unreleased_instance_id": "Wait for the session of the killed process before the new one starts, or lower"
    " group.consumer.session.timeout.ms.",
}

_ROCKETMQ = {
    "member_joined": "Start members together: each one that starts makes all others share anew.",
    "member_left": "Clean shutdowns hand over within a second; restart one member at a time.",
    "connection_closed": "Look for the crash; the others take over as soon as the brokers see the connection close.",
    "heartbeat_expired": "Look for the freeze; lower channelExpiredTimeout and serverChannelMaxIdleTimeSeconds of"
    " the brokers (120 s) to have the queues taken over sooner.",
    "member_rejoined": "Goes with the absence before.",
    "broker_down": "A replica that takes over (DLedger or controller mode) keeps the broker's queues readable.",
    "broker_up": "Goes with broker_down.",
    "queues_changed": "Clients see new queues with their next poll of routes (pollNameServerInterval, 30 s).",
    "duplicate_client_id": "Give every process its own instanceName (or let it be the process id) and address.",
    "inconsistent_subscription": "Let all members of the group subscribe to the same topics and tags.",
    "orderly_lock_held_by_dead_member": "Queues of a dead orderly consumer wait until its lock expires:"
    " rebalanceLockMaxLiveTime of the brokers (60000 ms).",
    "mixed_strategies": "Set the same AllocateMessageQueueStrategy in every member.",
}
