"""What consumers print: Java, librdkafka, kafka-python, kafkajs."""

import re
from collections.abc import Mapping

from compare.logs.kafka_broker import first_match, table

_LIST = r"(?:partitions:? )?\[?(?P<text>[^\]\[]*)\]?(?: \(org\.apache\.[\w.$]+\))?$"

JAVA = table(
    r"""
joining: (Re-)joining group
    ^\(Re-\)joining group
joined: Successfully joined group with generation
    ^Successfully joined group with generation (?:Generation\{generationId=)?<generation>(?:, memberId=<'member'>,
     protocol='(?P<text>[^']*)')?
synced: Successfully synced group
    ^Successfully synced group in generation Generation\{generationId=<generation>, memberId=<'member'>
shared_out: Finished assignment for group at generation
    ^Finished assignment for group at generation <generation>: \{<text>\}
given_id: need to re-join with the given member-id
    ^Request joining group due to: need to re-join with the given member-id: (?P<member>[^\s,]+)
grown: metadata has changed from
    ^Request.* metadata has changed from (?P<text>.* at the beginning of the rebalance to .*)
resubscribed: subscription has changed
    ^Request joining group due to: subscription has changed <text>
second_round: need to revoke partitions
    ^Request joining group due to: need to revoke partitions
unknown_member: UNKNOWN_MEMBER_ID
    ^Attempt to heartbeat with (?:stale )?Generation\{generationId=(?P<generation>-?\d{1,9}), memberId=<'member'>
unknown_member: UNKNOWN_MEMBER_ID
    ^Resetting generation.* UNKNOWN_MEMBER_ID
unknown_member: The coordinator is not aware of this member
    ^(?:OffsetCommit failed with Generation\{generationId=(?P<generation>-?\d{1,9}), memberId=<'member'>)?
unknown_member: was fenced
    ^Attempt to heartbeat .* failed (?:due to|since) .*(?:fenced|UNKNOWN)
told: group is rebalancing
    ^Attempt to heartbeat failed since group is rebalancing
told: group is already rebalancing
    ^Request joining group due to: group is already rebalancing
loading: CoordinatorLoadInProgress
    ^Request joining group due to: rebalance failed due to .*CoordinatorLoadInProgress
loading: is loading the group
    ^JoinGroup failed: Coordinator .* is loading the group
refused: protocols are incompatible
    ^JoinGroup failed due to fatal error: .*protocols are incompatible
asked: Request joining group due to
    ^Request joining group due to: (?P<text>.{0,120})
leaves: sending LeaveGroup request
    ^Member (?P<member>\S+) sending LeaveGroup request to coordinator .* due to (?P<text>.{0,120})
too_slow: poll timeout has expired
    ^(?:C|c)onsumer poll timeout has expired
too_slow_by: exceeded approximately by
    exceeded approximately by (?P<text>\d{1,12}) ms
given: newly assigned partitions
    ^Adding newly assigned <partitions>
revoked: Revoke previously assigned
    ^Revoke previously assigned <partitions>
lost: Lost previously assigned
    ^Lost previously assigned <partitions>
session_over: session timed out without
    ^Group coordinator .* session timed out without receiving
coordinator_gone: is unavailable or invalid
    ^Group coordinator .* is unavailable or invalid due to cause: (?P<text>.{0,80})
twin: fenced group.instance.id
    fenced group\.instance\.id Optional\[(?P<instance>[^\]]+)\]
started: Cluster ID:
    ^Cluster ID:\x20
subscribed: Subscribed to
    ^Subscribed to (?P<text>topic\(s\):|pattern:) (?:(?<=\): )(?P<names>[^()]{1,20000}))?
unreleased: unreleased instance id
    failed due to unreleased instance id (?P<instance>[^:\s]+)
k_moved: transitioned from
    ^Member (?P<member>\S+) with epoch (?P<generation>-?\d{1,9}) transitioned from (?P<text>\w+ to \w+)
k_fatal: transitioned to fatal state
    ^Member (?P<member>\S+) with epoch -?\d+ transitioned to fatal state
""",
    partitions=_LIST,
)

LIBRDKAFKA = table(
    r"""
too_slow: |MAXPOLL|
    Application maximum poll interval \(<generation>ms\) exceeded by (?P<text>\d+)ms
session_over: |SESSTMOUT|
    session timed out
joined: JoinGroup response: GenerationId
    JoinGroup response: GenerationId <generation>, Protocol (?P<text>[^,]*), .*my MemberId (?P<member>[^,]+),
started: "(not-set)" ->
    Group <"group">: updating member id "\(not-set\)" -> "(?P<member>[^"]+)?
given_id: updating member id
    Group <"group">: updating member id "" -> <"member">
gives_up_id: updating member id
    Group <"group">: updating member id <"member"> -> ""
given: changed join state
    Group <"group"> changed join state (?:wait-assign-call|wait-incr\S*) -> steady
revoked: changed join state
    Group <"group"> changed join state steady -> wait-unassign-call
joining: changed join state
    Group <"group"> changed join state init -> wait-join
told: heartbeat error response
    Group <"group"> heartbeat error response .*Group rebalance in progress
unknown_member: heartbeat error response
    Group <"group"> heartbeat error response .*[Uu]nknown member
lists: owned partition(s) and
    \]:  ?Member <"member">
twin: Static consumer fenced
    \|FATAL\|.*Static consumer fenced
refused: nconsistent group protocol
    [Ii]nconsistent group protocol
k_epoch: ConsumerGroupHeartbeat response received
    received for member id <"member"> with epoch (?P<generation>-?\d{1,9})
grown: |PARTCNT|
    Topic (?P<text>\S+) .*partition count changed from \d+ to \d+
"""
)

_LIBRDKAFKA_CLIENT = re.compile(r"^%\d\|[^|]*\|[^|]*\|(?P<client>.*?)#consumer-\d+\| ")

PYTHON = table(
    r"""
joining: (Re-)joining group
    \(Re-\)joining group <group>
joined: Successfully joined group
    Successfully joined group <group> <Generation <generation> \(member_id: (?P<member>[^,]+), protocol:
     (?P<text>[^)]*)\)
given_id: Received member id
    Received member id (?P<member>\S+) for group (?P<group>[^;\s]+)
told: is rebalancing; rejoining
    Group <group> is rebalancing; rejoining
given: newly assigned partitions
    Setting newly assigned partitions <text> for group <group>
revoked: Revoking previously assigned
    Revoking previously assigned partitions (?P<text>.*?) for group <group>
leaves: Leaving consumer group
    Leaving consumer group <group> \(member (?P<member>\S+)\)
too_slow: poll timeout has expired
    Consumer poll timeout has expired
started: IO loop starting
    IO loop starting \(client_id=(?P<client>.*)\)
subscribed: subscribed topics
    Updating subscribed (?P<text>topics) to:
unknown_member: member
    [Hh]eartbeat.*(?:UnknownMemberId|not recognized|unknown member)|UnknownMemberIdError|local member_id was not
     recognized
refused: InconsistentGroupProtocol
    InconsistentGroupProtocol
twin: FencedInstanceId
    FencedInstanceId
"""
)

KAFKAJS = (
    ("joined", "[ConsumerGroup] Consumer has joined the group"),
    ("started", "[Consumer] Starting"),
    ("leaves", "[Consumer] Stopped"),
    ("told", "[Runner] The group is rebalancing, re-joining"),
    ("unknown_member", "[Runner] The coordinator is not aware of this member"),
    ("unknown_member", "[ConsumerGroup] The coordinator is not aware of this member"),
)
"""Messages of kafkajs; their parts are fields of the JSON line."""

_JAVA_HEAD = re.compile(
    r"\[(?:Consumer|Worker) (?:instanceId=(?P<instance>[^,\]]+), )?"
    r"clientId=(?P<client>.*?), groupId=(?P<group>[^\]]*)\] "
)
_MEMBER = re.compile(r"([^\s{,=]+)=(?:Assignment|ConnectAssignment|ExtendedAssignment)\(")


def of_java(message: str) -> tuple[str, dict[str, str]] | None:
    """Kind and parts of a line of the Java client (`[Consumer clientId=C, groupId=G] ...`)."""
    head = _JAVA_HEAD.search(message)
    if head is None:
        return None
    found = first_match(JAVA, message[head.end() :])
    if found is None:
        return None
    kind, parts = found
    if kind == "shared_out":
        parts["names"] = ",".join(_MEMBER.findall(parts["text"]))
        del parts["text"]
    return kind, {name: value for name, value in head.groupdict().items() if value} | parts


def of_librdkafka(message: str) -> tuple[str, dict[str, str]] | None:
    """Kind and parts of a line of librdkafka (`%LEVEL|epoch seconds|FACILITY|client id#consumer-1| ...`)."""
    head = _LIBRDKAFKA_CLIENT.match(message)
    found = first_match(LIBRDKAFKA, message) if head else None
    if head is None or found is None:
        return None
    return found[0], {"client": head.group("client")} | found[1]


def of_kafkajs(message: str, fields: Mapping[str, object]) -> tuple[str, dict[str, str]] | None:
    """Kind and parts of a JSON line of kafkajs."""
    kind = next((kind for kind, begin in KAFKAJS if message.startswith(begin)), None)
    if kind is None:
        return None
    named = {"group": "groupId", "member": "memberId", "client": "clientId"}
    parts = {part: value for part, name in named.items() if isinstance(value := fields.get(name), str) and value}
    return kind, parts
