"""What happened to a group, told in sentences.

The result for people.
"""

from collections.abc import Iterator, Sequence

from compare.formatting import number, several
from compare.logs.document import Json
from compare.logs.happenings import NOT_AUTHENTICATED, NOT_AUTHORIZED, REFUSALS
from compare.logs.lines import joined
from compare.logs.unnamed import UNNAMED
from compare.showing.console import print_line, print_table

_SAID = {
    "member_joined": "{who} joined",
    "member_left": "{who} closed",
    "session_timeout": "the session of {who} ended",
    "member_rejoined_after_fencing": "{who} was back and joined again",
    "poll_interval_exceeded": "{who} left, because a batch took longer than max.poll.interval.ms",
    "member_rejoined_after_poll_timeout": "{who} polled again and joined again",
    "second_round_of_cooperative_rebalance": "the partitions given up in the round before were handed out",
    "member_rejoined_without_change": "a member joined again without need",
    "partitions_added": "a topic had more partitions",
    "topic_deleted": "the topics that its members read are gone",
    "topic_matched_pattern": "a new topic matched the subscribed pattern",
    "subscription_changed": "{who} subscribed to other topics",
    "coordinator_restart": "the coordinator was restarted",
    "coordinator_moved": "another broker became the coordinator",
    "rebalance_timeout": "{who} did not join again within the rebalance timeout and was removed",
    "member_rejoined_under_new_id": "{who} had lost the coordinator and joined under a new id",
    "static_member_restarted": "{who} was restarted and took its place again",
    "fenced_instance": "another process took the group.instance.id of {who}, which is out",
    "inconsistent_protocol": "{who} was refused, because it shares no assignor with the group",
    "unreleased_instance_id": "{who} was refused, because its group.instance.id is still held by the process before",
    "connection_closed": "the connections of {who} closed: a crash",
    "heartbeat_expired": "{who} sent no heartbeat and was dropped by a broker",
    "member_rejoined": "{who} was back",
    "broker_down": "a broker was gone from the routes",
    "broker_up": "a broker was back in the routes",
    NOT_AUTHORIZED: "{who} was denied",
    NOT_AUTHENTICATED: "{who} was not let in",
    "security_protocol_mismatch": "{who} and the broker's port differ in their security protocol",
    "network_cut": "its network was cut",
    "topic_rights_changed": "the right to read a topic was changed",
    "name_server_restarted": "a name server was started anew, and did not know all brokers yet",
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
    """The causes of a rebalance or an event of the document in words: certain ones, then what is left open."""
    certain = [_stated(stated) for stated in each["stated"]]
    open_ = [_open(doubt) for doubt in (each["unknown"] or {"each": []})["each"]]
    return "; ".join([*certain, *open_]) or "nothing in the logs tells why"


def told(each: Json, is_event: bool, group: Json) -> str:
    """`why`, and that no rebalance came of it, where that is known."""
    return why(each) + (" (no rebalance)" if is_event and not _may_rebalance(each, group) else "")


def _may_rebalance(event: Json, group: Json) -> bool:
    """Whether a rebalance may have come of an event, which is told apart or in no line."""
    return group["kind"] == UNNAMED or any(name in REFUSALS for name in event["causes"])


def _stated(stated: Json) -> str:
    text = _said(stated["cause"], stated["who"])
    if stated["behind"] == "exception":
        return f"{joined(stated['who'])} ended itself after {stated['detail'].rpartition('.')[2]}"
    text += f" ({stated['detail']})" if stated["detail"] else ""
    return f"{text}, {_BEHIND[stated['behind']]}" if stated["behind"] in _BEHIND else text


_BEHIND = {
    "broker_paused": "because a broker stood still",
    "broker_down": "because a broker was down",
    "static_member_closed": "which is static and had closed",
    "network_cut": "because nothing passed between it and its broker",
    NOT_AUTHORIZED: "because the broker denied it the group",
    NOT_AUTHENTICATED: "because the broker did not take its credentials",
}
_MOST_CANDIDATES = 4


def _open(doubt: Json) -> str:
    """Candidates and what would decide."""
    told = doubt["candidates"]
    if len(told) > _MOST_CANDIDATES:
        text = "the logs leave open why"
    else:
        text = f"candidates: {' or '.join(_said(cause, doubt['who']) for cause in told)}"
    return f"{text} ({doubt['would_decide']} would decide)" if doubt["would_decide"] else text


def causes(each: Json) -> str:
    """The names of the causes, those in doubt with a question mark."""
    certain = [_name(stated) for stated in each["stated"]]
    told = [doubt["candidates"] for doubt in (each["unknown"] or {"each": []})["each"]]
    doubts = ["unknown" if len(names) > _MOST_CANDIDATES else f"{' or '.join(names)}?" for names in told]
    return ", ".join(dict.fromkeys([*certain, *doubts])) or "unknown: nothing in the logs tells"


def _said(cause: str, who: Sequence[str]) -> str:
    some = joined(who) if who else "the group's first members" if cause == "member_joined" else "a member"
    return _SAID.get(cause, cause).format(who=some)


_MOST_ROWS = 60


def print_logs(found: Json, format: str, story: bool = False) -> None:
    """Per group: how often and why, the remedies, the rebalances, what the logs cannot tell; ``story``: sentences."""
    if not found["groups"]:
        lost = found["not_understood"]
        print_line(f"No consumer group in {'the lines that were understood' if lost else 'these logs'}.", format)
    for group in found["groups"]:
        _group(group, format, story)
    for each in found["not_understood"]:
        client = f" of {each['client']}" if each["client"] else ""
        lines = "1 line" if each["lines"] == 1 else f"{each['lines']} lines"
        print_line(f"{each['source']}: {lines}{client} not understood: {each['why']}.", format)
    for each in found["skipped"]:
        print_line(f"{each['file']}: {each['why']}.", format)


def _group(group: Json, format: str, story: bool) -> None:
    rebalances, events = group["rebalances"], group["events"]
    heading = f"{group['system']} {title(group)}"
    if group["from"]:
        heading += f", {group['from']} to {group['to']}"
    print_line(heading, format, heading=True)
    if story:
        for sentence in sentences(group):
            print_line(sentence, format)
    elif rebalances:
        _causes(group, format)
        _list(rebalances, format)
    for event in () if story else events:
        said = "" if _may_rebalance(event, group) else " without a rebalance"
        detail = "".join(f", {stated['detail']}" for stated in event["stated"] if stated["detail"])
        line = f"{event['at']}{said}: {causes(event)}{_of(event['who'])}{detail}{_lines(event)}"
        print_line(line, format)
    for note in group["notes"]:
        print_line(note, format)
    if format == "table":
        print_line("")


_KINDS = {
    "plain": "",
    "streams": " of Kafka Streams",
    "connect": " of Kafka Connect workers",
    "share": " of share consumers",
    "streams group": " of the streams protocol",
    UNNAMED: ", that no line names",
}


def title(group: Json) -> str:
    """The group with its kind and number of rebalances; of one that no line names the client and its file."""
    if group["group"] is None:
        event = group["events"][0]
        return f"group that no line names: client {joined(event['who'])} of {event['evidence'][0][0]}"
    count = "" if group["kind"] == UNNAMED else f": {counted(group['rebalances'])}"
    return f"group {group['group']}{_KINDS[group['kind']]}{count}"


def counted(rebalances: Sequence[object]) -> str:
    """How many there are."""
    return several(len(rebalances), "rebalance") if rebalances else "no rebalance"


def _causes(group: Json, format: str) -> None:
    every = len(group["rebalances"])
    rows = [
        (
            f"{row['count']} of {every}",
            row["cause"] or "unknown",
            ", ".join(row["who"]) or "-",
            number(row["paused_s"], 1),
        )
        for row in group["summary"]
    ]
    columns = (("rebalances", "right"), ("cause", "left"), ("members", "left"), ("paused s", "right"))
    print_table(columns, rows, format, names=2)
    for row in group["summary"]:
        if row["remedy"]:
            print_line(f"{row['cause']}: {row['remedy']}", format)


def _list(rebalances: Sequence[Json], format: str) -> None:
    shown = rebalances
    if len(rebalances) > _MOST_ROWS:
        longest = sorted(rebalances, key=lambda rebalance: -(rebalance["took_s"] or 0.0))[:_MOST_ROWS]
        shown = [rebalance for rebalance in rebalances if rebalance in longest]
        print_line(f"The {_MOST_ROWS} longest of {len(rebalances)} rebalances (all with --format json):", format)
    rows = [
        (
            str(each["at"]),
            str(each["generation"] if each["generation"] is not None else "-"),
            causes(each),
            ", ".join(_everybody(each)) or "-",
            number(each["took_s"], 1),
            number(each["paused_s"], 1),
            ", ".join(each["waited_for_who"]) or "-",
            _lines(each).removeprefix(" (").removesuffix(")") or "-",
        )
        for each in shown
    ]
    columns = (
        ("at", "left"),
        ("generation", "right"),
        ("cause", "left"),
        ("member", "left"),
        ("took s", "right"),
        ("paused s", "right"),
        ("waited for", "left"),
        ("evidence", "left"),
    )
    print_table(columns, rows, format)


def _name(stated: Json) -> str:
    if stated["behind"] == "exception":
        return f"{stated['cause']} ({stated['detail'].rpartition('.')[2]})"
    return f"{stated['cause']} ({stated['behind']})" if stated["behind"] else str(stated["cause"])


def _everybody(each: Json) -> list[str]:
    told = [*each["stated"], *(each["unknown"] or {"each": []})["each"]]
    return sorted({name for one in told for name in one["who"]})


def _of(names: Sequence[str]) -> str:
    return f" of {', '.join(names)}" if names else ""


def _lines(each: Json) -> str:
    shown = [f"{file}:{line}" for file, line in each["evidence"][:2]]
    return f" ({', '.join(shown)})" if shown else ""
