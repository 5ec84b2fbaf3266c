"""Tables of messages (what a message must hold, how its parts are found, what it then says), and that of Kafka's group
coordinator: 2.x and 3.x (kafka.coordinator.group), 4.x (both protocols).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SHORT = {
    "group": r"(?P<group>\S+)",
    "GroupId": r"\[GroupId (?P<group>[^\]]+)\]",
    "member": r"(?P<member>\S+?)",
    "generation": r"(?P<generation>\d{1,9})",
    "instance": r"(?:Some\(|Optional\[)?(?P<instance>[^\s,;)\]]+)[\])]?",
    "with_instance": r"(?: with instance id (?P<instance>\S+))?",
    "text": r"(?P<text>.*)",
}
"""What stands for a part in the tables. The parts are the fields of `Fact`; `names` is a list with commas."""
_TOKEN = re.compile(r"""(?<!\?P)<(?:(\w+)|(["'])(\w+)\2)>""")


@dataclass(frozen=True, slots=True)
class Pattern:
    """``holds``: text that every such message has; ``parts``: finds the parts; ``kind``: of the fact."""

    holds: str
    parts: re.Pattern[str]
    kind: str


def table(text: str, **short: str) -> tuple[Pattern, ...]:
    """Two lines a row: ``kind: text that every such message holds``, and below it the expression of the parts.

    ``<name>`` in an expression is one of `_SHORT` or ``short``, ``<'name'>`` a part in quotes. An expression that goes
    on in the next line is indented as before: what is more than four blanks belongs to it.
    """

    def long(token: re.Match[str]) -> str:
        name, quote, quoted = token.groups()
        return rf"{quote}(?P<{quoted}>[^{quote}]+){quote}" if quote else {**_SHORT, **short}[name]

    rows = re.findall(r"^(\w+): (.*)\n((?:    .*\n)+)", text, re.MULTILINE)
    return tuple(
        Pattern(holds, re.compile(_TOKEN.sub(long, parts.replace("\n    ", "")[4:].rstrip("\n"))), kind)
        for kind, holds, parts in rows
    )


def first_match(patterns: Sequence[Pattern], message: str) -> tuple[str, dict[str, str]] | None:
    """The kind and the parts of the first pattern that the message matches."""
    for pattern in patterns:
        if pattern.holds in message and (match := pattern.parts.search(message)):
            return pattern.kind, {name: value for name, value in match.groupdict().items() if value is not None}
    return None


MARKS = ("GroupCoordinator", "coordinator.group", "[Group ", "[GroupId ", "is identified as a known static member")
"""One of these is in every line of the coordinator."""

COORDINATOR = table(
    r"""
prepare: Preparing to rebalance group
    Preparing to rebalance group <group> in state \S+ with old generation <generation>.*?\(reason: <text>\)
stabilized: Stabilized group
    Stabilized group <group> generation <generation>\b.* with (?P<text>\d+) members
assigned: Assignment received from leader
    Assignment received from leader(?: (?P<member>\S+))? for group <group> for generation <generation>\.
emptied: is now empty
    Group <group> with generation <generation> is now empty
left: has left
    MemberMetadata\(memberId=(?P<member>[^,]+), groupInstanceId=(?P<instance>[^,]+), clientId=(?P<client>.*?),
     clientHost=.*\) has left group <group> through explicit `LeaveGroup`; client reason: <text>
left: has left
    \[Group(?:Id)? (?P<group>[^\]]+)\] (?:Dynamic |Static )?[Mm]ember <member><with_instance> has left group through
     explicit `LeaveGroup` request; client reason: <text>
left: has left
    Member\[group\.instance\.id (?P<instance>.+?), member\.id (?P<member>[^\]]+)\] in group <group> has left
failed: has failed
    Member <member> in group <group> has failed, removing it
not_rejoined: who haven't joined
    Group <group> removed dynamic members who haven't joined: (?:Set\(|\[)(?P<names>[^)\]]*)
static_replaced: Replacing previously mapped member
    groupInstanceId=<instance> and unknown member id joins group <group> in \S+ state\. Replacing previously mapped
     member <member> with
static_replaced: rejoins, assigning new member id
    Static member <instance> of group <group> with unknown member id rejoins, assigning new member id (?P<text>[^\s,]+),
     while old member id <member> will be
static_quiet: which joins during Stable stage
    Static member which joins during Stable stage
fenced: is fenced by
    Request memberId=<member> for static member with groupInstanceId=<instance> is fenced by \w+
     memberId=(?P<text>\S+)\x20
fenced: is identified as a known static member
    given member\.id <member> is identified as a known static member (?P<instance>[^\s,]+?), but not matching the
     expected member\.id (?P<text>\S+) during
added: for this member and add
    joins group <group> in \S+ state\. Created a new member id <member> for this member and add
added: Pending dynamic member
    Pending dynamic member with id <member> joins group <group> in \S+ state
announced: with unknown member id joins group
    joins group <group> in \S+ state\. Created a new member id <member>(?:,? and| for)
loaded: Loading group metadata for
    Loading group metadata for <group> with generation <generation>
loaded: Loaded classic group
    Loaded classic group <group> with (?P<text>\d+) members
loaded: Loaded consumer group
    Loaded consumer group <group> with (?P<text>\d+) members
k_replaced: to replace the existing member
    <GroupId> Static member with instance id <instance> re-joins .*Created a new member (?P<member>\S+) to replace the
     existing member (?P<text>\S+?)\.
k_refused: cannot join the group because the instance id is owned
    <GroupId> Static member <member> with instance id <instance> cannot join the group because the instance id is owned
     by member (?P<text>\S+?)\.
k_away: temporarily left the consumer group
    <GroupId> Static member <member> with instance id <instance> temporarily left
k_joined: joins the consumer group using the consumer protocol
    <GroupId> (?:Static m|M)ember <member><with_instance> joins the
k_joined_classic: joins the consumer group using the classic protocol
    <GroupId> (?:Static m|M)ember <member><with_instance> joins the
k_left: left the consumer group
    <GroupId> (?:Static m|M)ember <member><with_instance> left the
k_fenced: fenced from the group because
    <GroupId> Member <member> fenced from the group because <text>
k_subscribed: updated its subscribed
    <GroupId> Member <member> updated its subscribed (?P<text>topics|regex)
k_bumped: Bumped group epoch to
    <GroupId> Bumped group epoch to <generation>(?: with metadata hash (?P<text>-?\d+))?
k_target: Computed a new target assignment
    <GroupId> Computed a new target assignment for epoch <generation>(?: with <'text'> assignor)?
k_converted: Converted the classic group
    <GroupId> Converted the classic group
"""
)

OTHERS = table(
    r"""
partition_created: Created log for partition
    Created log for partition (?P<text>\S+)-<generation> in
broker_stopped: shut down completed
    \[Kafka\w*Server id=\d+\] shut down completed
"""
)
"""Lines of other parts of the broker."""
