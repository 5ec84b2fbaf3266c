"""What happened to a group, told in sentences."""

from collections.abc import Iterator, Sequence

from compare.console.output import number
from compare.logs.document import Json
from compare.logs.lines import joined

_SAID = {
    "member_joined": "{who} joined",
    "member_left": "{who} closed properly",
    "session_timeout": "{who} sent no heartbeat for the session timeout: a crash or a long pause",
    "member_rejoined_after_fencing": "{who} was back after its pause and joined again",
    "poll_interval_exceeded": "{who} left, because a batch took longer than max.poll.interval.ms",
    "member_rejoined_after_poll_timeout": "{who} polled again and joined again",
    "second_round_of_cooperative_rebalance": "the partitions given up in the round before were handed out",
    "member_rejoined_without_change": "a member joined again without need",
    "partitions_added": "a topic had more partitions",
    "topic_matched_pattern": "a new topic matched the subscribed pattern",
    "subscription_changed": "{who} subscribed to other topics",
    "coordinator_restart": "the coordinator was restarted",
    "static_member_restarted": "{who} was restarted and took its place again",
    "fenced_instance": "another process took the group.instance.id of {who}, which is out",
    "inconsistent_protocol": "{who} was refused, because it shares no assignor with the group",
    "unreleased_instance_id": "{who} was refused, because its group.instance.id is still held by the process before",
    "connection_closed": "the connections of {who} closed: a crash",
    "heartbeat_expired": "{who} sent no heartbeat and was dropped by a broker",
    "member_rejoined": "{who} was back",
    "broker_down": "a broker was gone from the routes",
    "broker_up": "a broker was back in the routes",
    "queues_changed": "a topic had another number of queues",
    "duplicate_client_id": "a second process came with the client id {who}",
    "inconsistent_subscription": "members subscribe to different topics",
    "orderly_lock_held_by_dead_member": "the locks of {who}, which had died, expired",
    "mixed_strategies": "members share queues by different strategies",
}


def sentences(group: Json) -> Iterator[str]:
    """Rebalances and events of a group of the document in order of time, one sentence each."""
    happened = [*group["rebalances"], *group["events"]]
    for each in sorted(happened, key=lambda known: str(known["at"])):
        yield f"{each['at']}: {_sentence(each)}."


def _sentence(each: Json) -> str:
    text = why(each)
    if each["generation"] is not None:
        text += f"; generation {each['generation']}"
    if each["took_s"] is not None:
        text += f" was there after {number(each['took_s'], 1)} s"
    if each["waited_for_who"]:
        text += f", everybody waited for {joined(each['waited_for_who'])}"
    if each["paused_s"] is not None:
        text += f", partitions stood still for up to {number(each['paused_s'], 1)} s"
    return text


def why(each: Json) -> str:
    """The cause of a rebalance or an event of the document in words."""
    who: Sequence[str] = each["who"]
    if each["cause"] is None:
        allowed = " or ".join(_said(cause, who) for cause in each["causes"])
        return f"the logs leave open why ({allowed})" if allowed else "nothing in the logs tells why"
    return _said(each["cause"], who)


def _said(cause: str, who: Sequence[str]) -> str:
    some = joined(who) if who else "the group's first members" if cause == "member_joined" else "a member"
    return _SAID.get(cause, cause).format(who=some)
