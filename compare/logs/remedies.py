"""What to do about each cause: the setting and its number from what was measured, and what it would not help with."""

import math
from collections.abc import Callable, Mapping

from compare.logs.model import GroupLog

_Figures = Mapping[str, float]


def remedy(log: GroupLog, cause: str) -> str | None:
    """One or two sentences; None where nothing is to be done."""
    make = (_ROCKETMQ if log.system == "rocketmq" else _KAFKA).get(cause)
    return make(log.figures) if make else None


def _ms(seconds: float) -> int:
    """A rounded-up setting in milliseconds: half as much again as was needed, in whole seconds."""
    return math.ceil(seconds * 1.5) * 1000


def longer_interval(figures: _Figures) -> int | None:
    """The max.poll.interval.ms that the longest batch would have fitted into, half as much again."""
    allowed, beyond = figures.get("max.poll.interval.ms"), figures.get("beyond_s")
    return None if allowed is None or beyond is None else _ms(allowed / 1000 + beyond)


def _slow(figures: _Figures) -> str:
    allowed = figures.get("max.poll.interval.ms")
    beyond = figures.get("beyond_s")
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


def _session(figures: _Figures) -> str:
    away = figures.get("away_session_s") or figures.get("away_not_rejoined_s")
    allowed = figures.get("session.timeout.ms")
    if away is None:
        return (
            "Look for the crash, the long garbage collection or the paused machine; a longer session.timeout.ms only"
            " pays for pauses that end. A crash it makes noticed later."
        )
    needed = away + (allowed or 0.0) / 1000
    return (
        f"Static members (group.instance.id) with session.timeout.ms of {_ms(needed)} would have outlived the longest"
        f" absence ({needed:.1f} s from its last heartbeat) without a rebalance; its partitions stand still so long."
        " It does not help with a member that never comes back."
    )


def _restart(figures: _Figures) -> str:
    away = figures.get("away_clean_s") or figures.get("away_unknown_s")
    if away is None:
        return (
            "Static members (group.instance.id) with a session.timeout.ms longer than a restart make restarts free of"
            " rebalances. They do not help when the number of members changes for good."
        )
    return (
        f"Static members (group.instance.id) with session.timeout.ms of {_ms(away)}: the longest restart took"
        f" {away:.1f} s. They do not help when the number of members changes for good."
    )


def _says(text: str) -> Callable[[_Figures], str]:
    return lambda _: text


_KAFKA: Mapping[str, Callable[[_Figures], str]] = {
    "poll_interval_exceeded": _slow,
    "member_rejoined_after_poll_timeout": _says("Goes with poll_interval_exceeded: its remedy removes both."),
    "session_timeout": _session,
    "member_rejoined_after_fencing": _says("Goes with the session that ended before: its remedy removes both."),
    "member_left": _restart,
    "member_joined": _says(
        "Start members together: a rebalance takes all who join before it completes; group.initial.rebalance.delay.ms"
        " does so for an empty group. Static members come back from a restart without one."
    ),
    "second_round_of_cooperative_rebalance": _says(
        "The price of cooperative-sticky where partitions move; it stops nobody who keeps its partitions. The consumer"
        " protocol (group.protocol=consumer) has no second round."
    ),
    "coordinator_restart": _says(
        "Restarts of brokers: keep session.timeout.ms longer than a restart of the broker, and restart one at a time."
    ),
    "partitions_added": _says("One rebalance for each change of the topic: make changes together."),
    "topic_matched_pattern": _says("Narrow the pattern of the subscription, or create topics together."),
    "subscription_changed": _says("Subscribe once, before the first poll, with the same topics in every member."),
    "member_rejoined_without_change": _says("Harmless: a client library rejoined without need; update it."),
    "static_member_restarted": _says("Nothing to do: this is what static members are for."),
    "fenced_instance": _says("Give every process a group.instance.id of its own."),
    "inconsistent_protocol": _says("Let partition.assignment.strategy of all members share one assignor."),
    "unreleased_instance_id": _says(
        "Wait for the session of the killed process before the new one starts, or lower"
        " group.consumer.session.timeout.ms."
    ),
}

_ROCKETMQ: Mapping[str, Callable[[_Figures], str]] = {
    "member_joined": _says("Start members together: each one that starts makes all others share anew."),
    "member_left": _says("Clean shutdowns hand over within a second; restart one member at a time."),
    "connection_closed": _says(
        "Look for the crash; the others take over as soon as the brokers see the connection close."
    ),
    "heartbeat_expired": _says(
        "Look for the freeze; lower channelExpiredTimeout and serverChannelMaxIdleTimeSeconds of the brokers (120 s) to"
        " have the queues taken over sooner."
    ),
    "member_rejoined": _says("Goes with the absence before."),
    "broker_down": _says("A replica that takes over (DLedger or controller mode) keeps the broker's queues readable."),
    "broker_up": _says("Goes with broker_down."),
    "queues_changed": _says("Clients see new queues with their next poll of routes (pollNameServerInterval, 30 s)."),
    "duplicate_client_id": _says("Give every process its own instanceName (or let it be the process id) and address."),
    "inconsistent_subscription": _says("Let all members of the group subscribe to the same topics and tags."),
    "orderly_lock_held_by_dead_member": _says(
        "Queues of a dead orderly consumer wait until its lock expires: rebalanceLockMaxLiveTime of the brokers"
        " (60000 ms)."
    ),
    "mixed_strategies": _says("Set the same AllocateMessageQueueStrategy in every member."),
}
