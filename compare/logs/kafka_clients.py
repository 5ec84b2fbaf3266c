"""The messages of consumers: Java, librdkafka, kafka-python, aiokafka, kafkajs; `kafka_go_clients` has those in Go."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from compare.logs.broker_events import OtherKind
from compare.logs.client_events import (
    Asked,
    ClientStarted,
    CoordinatorGone,
    CutInAuthentication,
    DeniedGroup,
    DeniedTopic,
    Epoch,
    Fatal,
    Given,
    GivenId,
    GivesUpId,
    Joined,
    Joining,
    Leaves,
    ListsMember,
    Loading,
    Lost,
    MetadataChanged,
    Moved,
    NotCoordinator,
    PollTimeout,
    Rebootstrapped,
    Refused,
    Resubscribed,
    Revoked,
    SecondRound,
    SessionOver,
    SharedOut,
    Subscribed,
    Synced,
    Threw,
    ToldToRejoin,
    Twin,
    Unanswered,
    Unauthenticated,
    UnknownMember,
    Unreleased,
)
from compare.logs.events import Place
from compare.logs.templates import Read, read_message, table

_JAVA = table(
    (Joining, "(Re-)joining group"),
    (
        Joined,
        "Successfully joined group with generation Generation{generationId={generation}, memberId='{*member}',"
        " protocol='{protocol}'}",
    ),
    (Joined, "Successfully joined group with generation {generation}"),
    (
        Synced,
        "Successfully synced group in generation Generation{generationId={generation}, memberId='{*member}',"
        " protocol='{}'}",
    ),
    (SharedOut, "Finished assignment for group at generation {generation}: {{members}}"),
    (GivenId, "Request joining group due to: need to re-join with the given member-id: {member}"),
    (MetadataChanged, "Request joining group due to: cached metadata has changed from {change}"),
    (
        MetadataChanged,
        "Requesting to re-join the group and trigger rebalance since the assignment metadata has changed from {change}",
    ),
    (Resubscribed, "Request joining group due to: subscription has changed{}"),
    (Resubscribed, "Requesting to re-join the group and trigger rebalance since the subscription has changed{}"),
    (SecondRound, "Request joining group due to: need to revoke partitions{}"),
    (SecondRound, "Need to revoke partitions {} and re-join the group{}"),
    (ToldToRejoin, "Attempt to heartbeat failed since group is rebalancing{}"),
    (ToldToRejoin, "Request joining group due to: group is already rebalancing{}"),
    (Loading, "Request joining group due to: rebalance failed due to {}CoordinatorLoadInProgress{}"),
    (Loading, "JoinGroup failed: Coordinator {} is loading the group{}"),
    (
        UnknownMember,
        "Attempt to heartbeat with Generation{generationId={generation}, memberId='{*member}', protocol='{}'} and"
        " group instance id {} failed due to UNKNOWN_MEMBER_ID, resetting generation",
    ),
    (
        UnknownMember,
        "OffsetCommit failed with Generation{generationId={generation}, memberId='{*member}', protocol='{}'}: The"
        " coordinator is not aware of this member{}",
    ),
    (
        UnknownMember,
        "LeaveGroup request with Generation{generationId={generation}, memberId='{*member}', protocol='{}'} failed with"
        " error: The coordinator is not aware of this member{}",
    ),
    (UnknownMember, "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID{}"),
    (UnknownMember, "Resetting generation due to: encountered UNKNOWN_MEMBER_ID{}"),
    (UnknownMember, "ConsumerGroupHeartbeatRequest failed because of UNKNOWN_MEMBER_ID: {}"),
    (UnknownMember, "Attempt to heartbeat {}failed{}UNKNOWN_MEMBER_ID{}"),
    (UnknownMember, "Offset commit failed on partition {}: The coordinator is not aware of this member{}"),
    (Asked, "Request joining group due to: {reason}"),
    (Leaves, "Member {*member} sending LeaveGroup request to coordinator {} due to {reason}"),
    (PollTimeout, "consumer poll timeout has expired{}"),
    (PollTimeout, "Consumer poll timeout has expired{}"),
    (Given, "Adding newly assigned partitions: {partitions}"),
    (Given, "Adding newly assigned partitions:"),
    (Revoked, "Revoke previously assigned partitions {partitions}"),
    (Revoked, "Revoke previously assigned partitions"),
    (Lost, "Lost previously assigned partitions {partitions}"),
    (Lost, "Lost previously assigned partitions"),
    (
        SessionOver,
        "Group coordinator {} is unavailable or invalid due to cause: session timed out without receiving a heartbeat"
        " response{}",
    ),
    (CoordinatorGone, "Group coordinator {} is unavailable or invalid due to cause: {why}"),
    (CoordinatorGone, "Group coordinator {} is unavailable or invalid, will attempt rediscovery{why}"),
    (
        Unanswered,
        "Cancelled in-flight HEARTBEAT request with correlation id {} due to node {} being disconnected (elapsed time"
        " since creation: {}ms, elapsed time since send: {elapsed}ms, {}",
    ),
    (Unanswered, "Disconnecting from node {} due to request timeout{}"),
    (Refused, "JoinGroup failed due to fatal error: {}protocols are incompatible{}"),
    (Twin, "Caught fenced group.instance.id {instance} error in heartbeat thread{}"),
    (Twin, "Received fatal exception: group.instance.id gets fenced"),
    (Unreleased, "ConsumerGroupHeartbeatRequest failed due to unreleased instance id {instance}: {}"),
    (DeniedGroup, "ConsumerGroupHeartbeatRequest failed due to group authorization failure: {}"),
    (DeniedGroup, "Offset commit failed on partition {} at offset {}: Group authorization failed."),
    (DeniedTopic, "Topic authorization failed for topics {topics}"),
    (DeniedTopic, "Not authorized to commit to topics {topics}"),
    (DeniedTopic, "OffsetCommit failed due to not authorized to commit to topics {topics}"),
    (Unauthenticated, "Connection to node {} failed authentication due to: {why}"),
    (CutInAuthentication, "Connection to node {} terminated during authentication{}"),
    (Rebootstrapped, "Rebootstrapping with {}"),
    (ClientStarted, "Cluster ID: {}"),
    (Subscribed, "Subscribed to topic(s): {topics}"),
    (Subscribed, "Subscribed to pattern: {pattern}"),
    (Fatal, "Member {member} with epoch {} transitioned to fatal state"),
    (Moved, "Member {member} with epoch {epoch} transitioned from {before} to {after}."),
    (Moved, "Member {member} with epoch {epoch} transitioned from {before} to {after}"),
)
_JAVA_BEGINS = tuple(dict.fromkeys(row.begin[:10] for rows in _JAVA.values() for row in rows))
_JAVA_HEAD = re.compile(r"\[(Consumer|Worker|ShareConsumer) (?:instanceId=|clientId=)")
_ASSIGNMENT = re.compile(r"=(?:Assignment|ConnectAssignment|ExtendedAssignment)\(")

_LIBRDKAFKA = table(
    (PollTimeout, "Application maximum poll interval ({allowed}ms) exceeded by {}"),
    (
        SessionOver,
        "Consumer group session timed out (in join-state steady) after {} without a successful response from the group"
        " coordinator (broker {coordinator}, last error was {why}): {}",
    ),
    (SessionOver, "Consumer group session timed out (in join-state steady) after {}"),
    (
        Joined,
        "JoinGroup response: GenerationId {generation}, Protocol {protocol}, LeaderId {}, my MemberId {member}, {}",
    ),
    (Leaves, "Closing consumer{reason}"),
    (ClientStarted, 'Group "{*group}": updating member id "(not-set)" -> ""'),
    (ClientStarted, 'Group "{*group}": updating member id "(not-set)" -> "{member}"'),
    (GivenId, 'Group "{*group}": updating member id "" -> "{member}"'),
    (GivesUpId, 'Group "{*group}": updating member id "{*member}" -> ""'),
    (Given, 'Group "{*group}" changed join state wait-assign-call -> steady{}'),
    (Given, 'Group "{*group}" changed join state wait-incr{} -> steady{}'),
    (Revoked, 'Group "{*group}" changed join state steady -> wait-unassign-call{}'),
    (Joining, 'Group "{*group}" changed join state init -> wait-join{}'),
    (ToldToRejoin, 'Group "{*group}" heartbeat error response {}Group rebalance in progress{}'),
    (UnknownMember, 'Group "{*group}" heartbeat error response {}nknown member{}'),
)
_RDKAFKA_LINE = re.compile(r"(?:%\d\|[\d.]{9,20}\|)?([A-Z_]{2,20})(\|| \[)")
_RDKAFKA_THREAD = re.compile(r"#(?:consumer|producer)-\d{1,9}(?:\||\]) \[thrd:")
_TIMED_OUT = re.compile(r"Timed out HeartbeatRequest in flight \(after (\d{1,9})ms,")
_LISTED = re.compile(r'(?:\]:|^) ?Member "([^"]{1,300})" ')
_HEARTBEAT = re.compile(r'received for member id "([^"]{1,60})" with epoch (\d{1,9})')
_PARTITIONS = re.compile(r"Topic (\S{1,249}) .{0,60}partition count changed from \d{1,7} to \d{1,7}")

_PYTHON = table(
    (Joining, "(Re-)joining group {group}"),
    (
        Joined,
        "Successfully joined group {*group} <Generation {generation} (member_id: {*member}, protocol: {protocol})>",
    ),
    (Joined, "Joined group '{*group}' (generation {generation}) with member_id {member}"),
    (GivenId, "Received member id {*member} for group {group}; will retry join-group"),
    (ToldToRejoin, "Group {*group} is rebalancing; rejoining{}"),
    (ToldToRejoin, "Heartbeat failed for group {*group} because it is rebalancing"),
    (Given, "Setting newly assigned partitions {*partitions} for group {group}"),
    (Revoked, "Revoking previously assigned partitions {*partitions} for group {*group} on close"),
    (Revoked, "Revoking previously assigned partitions {*partitions} for group {group}"),
    (Lost, "Group {*group} lost membership; forcibly revoking {partitions}"),
    (Leaves, "Leaving consumer group {group} (member {member})."),
    (Leaves, "LeaveGroup request succeeded"),
    (PollTimeout, "Consumer poll timeout has expired{}"),
    (ClientStarted, "IO loop starting (client_id={client})"),
    (Subscribed, "Updating subscribed topics to: {topics}"),
    (UnknownMember, "Heartbeat failed: local member_id was not recognized{}"),
    (UnknownMember, "Heartbeat failed for group {*group}: generation id is not {}"),
    (UnknownMember, "OffsetCommit failed for group {*group} due to group error ([Error 25] {}"),
    (SessionOver, "Heartbeat session expired{}marking coordinator dead{}"),
    (CoordinatorGone, "Marking the coordinator dead (node {})for group {*group}.{why}"),
    (DeniedTopic, "Not authorized to read from topic {topics}."),
    (DeniedTopic, "Not authorized to commit to topics {*topics} for group {group}"),
    (DeniedTopic, "OffsetCommit failed for unauthorized topics {topics}"),
    (DeniedGroup, "OffsetCommit failed for group {*group} - GroupAuthorizationFailedError"),
    (DeniedGroup, "Not authorized to commit offsets for group {group}"),
    (DeniedGroup, "Heartbeat failed: authorization error: [Error 30] GroupAuthorizationFailedError: {group}"),
    (DeniedGroup, "Group Coordinator Request failed: [Error 30] GroupAuthorizationFailedError: {group}"),
)
_PYTHON_WORDS = (
    (re.compile(r"InconsistentGroupProtocol"), Refused),
    (re.compile(r"FencedInstanceId"), Twin),
    (re.compile(r"[Hh]eartbeat.{0,200}(?:UnknownMemberId|not recognized|unknown member)"), UnknownMember),
)

_KAFKAJS = {
    "[ConsumerGroup] Consumer has joined the group": Joined,
    "[Consumer] Starting": ClientStarted,
    "[Consumer] Stopped": Leaves,
    "[Consumer] Restarting": Asked,
    "[Connection] Response LeaveGroup(": Unanswered,
    "[Connection] Response Heartbeat(": ToldToRejoin,
    "[Runner] The group is rebalancing, re-joining": ToldToRejoin,
    "[Runner] The coordinator is not aware of this member": UnknownMember,
    "[ConsumerGroup] The coordinator is not aware of this member": UnknownMember,
}
"""Messages of kafkajs; their parts are fields of the JSON line."""

_CRASH = "[Consumer] Crash: "
_LONGEST_WAIT_MS = 3_600_000
"""A join that is said to have taken longer is not believed."""


def is_idle_java(line: str) -> bool:
    """Whether a line of the Java client means nothing, told without looking at its layout."""
    at = line.rfind(", groupId=")
    end = line.find("] ", at) if line.find("clientId=", 0, max(at, 0)) >= 0 else -1
    return end >= 0 and not line.startswith(_JAVA_BEGINS, end + 2) and "ShareConsumer" not in line


def of_java(message: str, logger: str, place: Place) -> Read | None:
    """A line of the Java client (`[Consumer clientId=C, groupId=G] ...`)."""
    head = _JAVA_HEAD.match(message)
    if head is None:
        return None
    at = message.rfind(", groupId=")
    end = message.find("] ", at)
    if at < 0 or end < 0:
        return "java", None
    group, rest = message[at + len(", groupId=") : end], message[end + 2 :]
    if head.group(1) == "ShareConsumer":
        return "java", OtherKind(place=place, group=group, kind="share")
    if "Streams" in logger and ("Membership" in logger or "Heartbeat" in logger):
        return "java", OtherKind(place=place, group=group, kind="streams")
    if not rest.startswith(_JAVA_BEGINS):
        return "java", None
    instance, name = "", message[message.index("=") + 1 : at]
    if "instanceId=" in head.group() and ", clientId=" in name:
        instance, _, name = name.partition(", clientId=")
    event = read_message(_JAVA, rest, place, {"group": group, "client": name, "instance": instance})
    if isinstance(event, SharedOut):
        members = tuple(_assigned(rest[rest.index("{") + 1 :]))
        return "java", SharedOut(place=place, group=group, client=name, generation=event.generation, members=members)
    return "java", event


def _assigned(text: str) -> Iterator[str]:
    """The members of an assignment, `c 1-UUID=Assignment(...), c 2-UUID=Assignment(...)`: ids may hold spaces."""
    begin = 0
    for entry in _ASSIGNMENT.finditer(text):
        yield text[begin : entry.start()]
        end = text.find("), ", entry.end())
        begin = end + len("), ") if end >= 0 else len(text)


def of_librdkafka(message: str, place: Place) -> Read | None:
    """A line of librdkafka: `%LEVEL|seconds|FACILITY|client#consumer-1| [thrd:T]: text`, or through the logger of its
    Python binding `FACILITY [client#consumer-1] [thrd:T]: text`, which prints with the next poll, not at once."""
    head = _RDKAFKA_LINE.match(message)
    thread = None if head is None else _last(_RDKAFKA_THREAD, message)
    if head is None or thread is None:
        return None
    client = message[head.end() : thread.start()]
    text = message[message.find("]: ", thread.end()) + 3 :]
    place.late = head.group(2) == " ["
    found = read_message(_LIBRDKAFKA, text, place, {"client": client})
    if found is None and (listed := _LISTED.search(text)):
        found = ListsMember(place=place, client=client, member=listed.group(1))
    elif found is None and (beat := _HEARTBEAT.search(text)):
        found = Epoch(place=place, client=client, member=beat.group(1), epoch=int(beat.group(2)))
    elif found is None and head.group(1) == "PARTCNT" and (grown := _PARTITIONS.search(text)):
        found = MetadataChanged(place=place, client=client, change=grown.group(1))
    elif found is None and (late := _TIMED_OUT.search(text)):
        found = Unanswered(place=place, client=client, elapsed=int(late.group(1)))
    elif found is None and "Static consumer fenced" in text:
        found = Twin(place=place, client=client)
    elif found is None and "nconsistent group protocol" in text:
        found = Refused(place=place, client=client)
    if isinstance(found, Joined) and (found.generation or 0) < 1:
        found = None  # it was only given its member id
    elif isinstance(found, Leaves):
        found = Leaves(place=place, client=client, reason="closing")
    return "librdkafka", found


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last match: what a client id holds stands before it."""
    return next(iter([*pattern.finditer(text)][::-1]), None)


def of_python(message: str, logger: str, place: Place) -> Read | None:
    """A line of kafka-python or aiokafka, which are told apart by their loggers."""
    library = "aiokafka" if logger.startswith("aiokafka.") else "kafka-python" if logger.startswith("kafka.") else ""
    library = library if logger.islower() and not logger.endswith(".logger") else ""  # the broker's own names
    if not library:
        if not logger and isinstance(read_message(_PYTHON, message, place), Joined):
            place.stream.quoted += 1  # of which library, its layout does not tell
        return None
    found = read_message(_PYTHON, message, place)
    if found is None:
        event = next((event for pattern, event in _PYTHON_WORDS if pattern.search(message)), None)
        found = event(place=place) if event else None
    if isinstance(found, Subscribed):  # a list or a set of Python's
        found = Subscribed(place=place, topics=tuple(sorted(_QUOTED.findall(message))))
    return library, found


_QUOTED = re.compile(r"'([^']{1,249})'")


def of_kafkajs(message: str, fields: Mapping[str, object], place: Place) -> Read | None:
    """A JSON line of kafkajs."""
    if fields.get("logger") != "kafkajs":
        return None
    event = next((event for begin, event in _KAFKAJS.items() if message.startswith(begin)), None)
    if message.startswith(_CRASH):
        return "kafkajs", Threw(place=place, exception=message.removeprefix(_CRASH).partition(":")[0])
    before = place.stream.events[-1] if place.stream.events else None
    if event in {Leaves, ClientStarted} and isinstance(before, Threw | Asked | UnknownMember):
        # After a crash, or without a place, it stops whether it can leave or not; after a crash it starts by itself.
        return "kafkajs", None
    if message.startswith("[Connection] Response ") and (denied := _denied(fields, place)):
        return "kafkajs", denied
    said = str(fields.get("error", ""))
    if event is Unanswered:
        event = UnknownMember if "not aware of this member" in said else None
    if event is ToldToRejoin and message.startswith("[Connection]") and "is rebalancing" not in said:
        event = None
    named = {"group": "groupId", "member": "memberId", "client": "clientId"}
    parts = {part: value for part, name in named.items() if isinstance(value := fields.get(name), str) and value}
    if event is ToldToRejoin and "not the correct coordinator" in said:
        event = NotCoordinator
    found = None if event is None else event(place=place, **parts)
    waited = fields.get("duration")
    if isinstance(found, Joined) and isinstance(waited, int) and 0 < waited < _LONGEST_WAIT_MS:
        found = replace(found, waited_ms=waited)
    return "kafkajs", found


def _denied(fields: Mapping[str, object], place: Place) -> DeniedGroup | DeniedTopic | None:
    """What the broker's answer to kafkajs denies; of topics it does not say which."""
    error, client = str(fields.get("error", "")), str(fields.get("clientId", ""))
    if error.startswith("Not authorized to access group"):
        return DeniedGroup(place=place, client=client)
    return DeniedTopic(place=place, client=client) if error.startswith("Not authorized to access topics") else None


def logfmt(line: str) -> Mapping[str, str] | None:
    """The keys of a line as `time="..." level=info msg="..." key=value`, None where it is no such line."""
    if "msg=" not in line or "level=" not in line:
        return None
    found: dict[str, str] = {}
    for key, quoted, plain in _LOGFMT.findall(line):
        found.setdefault(key, _unquoted(quoted) if quoted else plain)
    return found if "msg" in found else None


_LOGFMT = re.compile(r"(?:^|(?<= ))([A-Za-z_@.-]{1,40})=(?:(\"(?:[^\"\\]|\\.)*\")|([^\s\"]*))")


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1]
