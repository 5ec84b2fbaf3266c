"""One table of messages per source: what a message must hold, how its parts are found, what it then says.

What Kafka's group coordinator prints: 2.x and 3.x (kafka.coordinator.group), 4.x (both protocols).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

PARTS = ("group", "member", "client", "instance", "generation", "text", "names")
"""Named groups of the patterns; `names` is a list with commas."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """``holds``: text that every such message has; ``parts``: finds the parts; ``kind``: of the fact."""

    holds: str
    parts: re.Pattern[str]
    kind: str


def table(rows: Sequence[tuple[str, str, str]]) -> tuple[Pattern, ...]:
    """Rows of (kind, text that it holds, regular expression with named groups)."""
    return tuple(Pattern(holds, re.compile(expression), kind) for kind, holds, expression in rows)


def first_match(patterns: Sequence[Pattern], message: str) -> tuple[str, dict[str, str]] | None:
    """The kind and the parts of the first pattern that the message matches."""
    for pattern in patterns:
        if pattern.holds in message and (match := pattern.parts.search(message)):
            return pattern.kind, {name: value for name, value in match.groupdict().items() if value is not None}
    return None


MARKS = ("GroupCoordinator", "coordinator.group", "[Group ", "[GroupId ", "is identified as a known static member")
"""One of these is in every line of the coordinator."""

_M = r"(?P<member>\S+?)"
_WITH_I = r"(?: with instance id (?P<instance>\S+))?"
_I = r"(?:Some\(|Optional\[)?(?P<instance>[^\s,;)\]]+)[\])]?"

COORDINATOR = table(
    (
        (
            "prepare",
            "Preparing to rebalance group",
            r"Preparing to rebalance group (?P<group>\S+) in state \S+ with old generation (?P<generation>\d{1,9})"
            r".*?\(reason: (?P<text>.*)\)",
        ),
        (
            "stabilized",
            "Stabilized group",
            r"Stabilized group (?P<group>\S+) generation (?P<generation>\d{1,9})\b.* with (?P<text>\d+) members",
        ),
        (
            "assigned",
            "Assignment received from leader",
            r"Assignment received from leader(?: (?P<member>\S+))? for group (?P<group>\S+) for"
            r" generation (?P<generation>\d{1,9})\.",
        ),
        ("emptied", "is now empty", r"Group (?P<group>\S+) with generation (?P<generation>\d{1,9}) is now empty"),
        (
            "left",
            "has left",
            r"MemberMetadata\(memberId=(?P<member>[^,]+), groupInstanceId=(?P<instance>[^,]+),"
            r" clientId=(?P<client>.*?), clientHost=.*\) has left group (?P<group>\S+) through explicit `LeaveGroup`;"
            r" client reason: (?P<text>.*)",
        ),
        (
            "left",
            "has left",
            rf"\[Group(?:Id)? (?P<group>[^\]]+)\] (?:Dynamic |Static )?[Mm]ember {_M}{_WITH_I}"
            r" has left group through explicit `LeaveGroup` request; client reason: (?P<text>.*)",
        ),
        (
            "left",
            "has left",
            r"Member\[group\.instance\.id (?P<instance>.+?), member\.id (?P<member>[^\]]+)\]"
            r" in group (?P<group>\S+) has left",
        ),
        ("failed", "has failed", rf"Member {_M} in group (?P<group>\S+) has failed, removing it"),
        (
            "not_rejoined",
            "who haven't joined",
            r"Group (?P<group>\S+) removed dynamic members who haven't joined: (?:Set\(|\[)(?P<names>[^)\]]*)",
        ),
        (
            "static_replaced",
            "Replacing previously mapped member",
            rf"groupInstanceId={_I} and unknown member id joins group (?P<group>\S+) in \S+ state\."
            rf" Replacing previously mapped member {_M} with",
        ),
        (
            "static_replaced",
            "rejoins, assigning new member id",
            rf"Static member {_I} of group (?P<group>\S+) with unknown member id rejoins, assigning new member id"
            rf" (?P<text>[^\s,]+), while old member id {_M} will be",
        ),
        ("static_quiet", "which joins during Stable stage", r"Static member which joins during Stable stage"),
        (
            "fenced",
            "is fenced by",
            rf"Request memberId={_M} for static member with groupInstanceId={_I} is fenced by \w+"
            r" memberId=(?P<text>\S+) ",
        ),
        (
            "fenced",
            "is identified as a known static member",
            rf"given member\.id {_M} is identified as a known static member (?P<instance>[^\s,]+?), but not matching"
            r" the expected member\.id (?P<text>\S+) during",
        ),
        (
            "added",
            "for this member and add",
            rf"joins group (?P<group>\S+) in \S+ state\. Created a new member id {_M} for this member and add",
        ),
        (
            "added",
            "Pending dynamic member",
            rf"Pending dynamic member with id {_M} joins group (?P<group>\S+) in \S+ state",
        ),
        (
            "announced",
            "with unknown member id joins group",
            rf"joins group (?P<group>\S+) in \S+ state\. Created a new member id {_M}(?:,? and| for)",
        ),
        (
            "loaded",
            "Loading group metadata for",
            r"Loading group metadata for (?P<group>\S+) with generation (?P<generation>\d{1,9})",
        ),
        ("loaded", "Loaded classic group", r"Loaded classic group (?P<group>\S+) with (?P<text>\d+) members"),
        ("loaded", "Loaded consumer group", r"Loaded consumer group (?P<group>\S+) with (?P<text>\d+) members"),
        (
            "k_replaced",
            "to replace the existing member",
            rf"\[GroupId (?P<group>[^\]]+)\] Static member with instance id {_I} re-joins .*Created a new member"
            r" (?P<member>\S+) to replace the existing member (?P<text>\S+?)\.",
        ),
        (
            "k_refused",
            "cannot join the group because the instance id is owned",
            rf"\[GroupId (?P<group>[^\]]+)\] Static member {_M} with instance id {_I} cannot join the group because the"
            r" instance id is owned by member (?P<text>\S+?)\.",
        ),
        (
            "k_away",
            "temporarily left the consumer group",
            rf"\[GroupId (?P<group>[^\]]+)\] Static member {_M} with instance id {_I} temporarily left",
        ),
        (
            "k_joined",
            "joins the consumer group using the consumer protocol",
            rf"\[GroupId (?P<group>[^\]]+)\] (?:Static m|M)ember {_M}{_WITH_I} joins the",
        ),
        (
            "k_joined_classic",
            "joins the consumer group using the classic protocol",
            rf"\[GroupId (?P<group>[^\]]+)\] (?:Static m|M)ember {_M}{_WITH_I} joins the",
        ),
        (
            "k_left",
            "left the consumer group",
            rf"\[GroupId (?P<group>[^\]]+)\] (?:Static m|M)ember {_M}{_WITH_I} left the",
        ),
        (
            "k_fenced",
            "fenced from the group because",
            rf"\[GroupId (?P<group>[^\]]+)\] Member {_M} fenced from the group because (?P<text>.*)",
        ),
        (
            "k_subscribed",
            "updated its subscribed",
            rf"\[GroupId (?P<group>[^\]]+)\] Member {_M} updated its subscribed (?P<text>topics|regex)",
        ),
        (
            "k_bumped",
            "Bumped group epoch to",
            r"\[GroupId (?P<group>[^\]]+)\] Bumped group epoch to (?P<generation>\d{1,9})"
            r"(?: with metadata hash (?P<text>-?\d+))?",
        ),
        (
            "k_target",
            "Computed a new target assignment",
            r"\[GroupId (?P<group>[^\]]+)\] Computed a new target assignment for epoch (?P<generation>\d{1,9})"
            r"(?: with '(?P<text>[^']+)' assignor)?",
        ),
        ("k_converted", "Converted the classic group", r"\[GroupId (?P<group>[^\]]+)\] Converted the classic group"),
    )
)

OTHERS = table(
    (
        (
            "partition_created",
            "Created log for partition",
            r"Created log for partition (?P<text>\S+)-(?P<generation>\d{1,9}) in",
        ),
        ("broker_stopped", "shut down completed", r"\[Kafka\w*Server id=\d+\] shut down completed"),
    )
)
"""Lines of other parts of the broker."""
