"""The messages of consumers in Go: franz-go; sarama and segmentio's kafka-go are recognised, not read."""

import re
from collections.abc import Mapping

from compare.logs.client_events import (
    ClientStarted,
    DeniedGroup,
    Given,
    GivenId,
    Joined,
    Joining,
    Leaves,
    OfClient,
    Resubscribed,
    SecondRound,
    Synced,
    ToldToRejoin,
    UnknownMember,
)
from compare.logs.events import Place
from compare.logs.templates import Read

_FRANZ: Mapping[str, type[OfClient]] = {
    "joining group": Joining,
    "join returned MemberIDRequired, rejoining with response's MemberID": GivenId,
    "joined, balancing group": Joined,
    "joined as leader but unable to balance group due to KIP-345 limitations": Joined,
    "joined": Joined,
    "syncing": Synced,
    "synced": Synced,
    "new group session begun": Given,
    "leaving group": Leaves,
    "beginning to manage the group lifecycle": ClientStarted,
    "join returned UnknownMemberID, rejoining without a member id": UnknownMember,
}
"""franz-go's messages; their parts are keys."""

_FRANZ_ERRORS = (
    "heartbeat errored",
    "join group failed",
    "offset commit returned a fatal group member error, triggering rejoin",
)
"""franz-go's messages that say why, by the key `err`."""

_FRANZ_REJOIN = "forced rejoin quitting heartbeat loop; why: "
_FRANZ_REJOINS = {
    "after revoking what we lost": SecondRound,
    "rejoining because there are more topics to consume": Resubscribed,
}
"""Why a member of franz-go joins again by itself; the line names no group."""

_FRANZ_LINE = re.compile(r"([^;]{4,90}); (.*)$")
_NEXT_KEY = re.compile(r", (?=[a-z_]{2,30}:(?: |$))")
_FRANZ_OTHERS = (
    "heartbeat",
    "join group failed",
    "sync",
    "forced rejoin",
    "beginning",
    "fetch offsets",
    "calling on",
    "offset commit ",
)
_GO_LINE = re.compile(
    r"(?P<sarama>client/coordinator |consumergroup/|consumer/broker/|loop check partition number )|(?P<segmentio>^(?:"
    r"entering loop for consumer group, |[Jj]oined group |joinGroup succeeded|(?:sync|started \w+ for) group ))"
)


def of_go(message: str, fields: Mapping[str, object], place: Place) -> Read | None:
    """A line of franz-go (`[INFO] joined; group: g, member_id: m, generation: 3`, or with keys in JSON or logfmt), of
    sarama, whose lines name no join and no member, or of segmentio's kafka-go, which are not read."""
    if line := _GO_LINE.search(message[:120]):
        return line.lastgroup or "", None
    if message.startswith(_FRANZ_REJOIN):
        why = message.removeprefix(_FRANZ_REJOIN)
        of_itself = next((event for begin, event in _FRANZ_REJOINS.items() if why.startswith(begin)), None)
        return "franz-go", of_itself(place=place) if of_itself else None
    text, keys = message, {name: str(value) for name, value in fields.items()}
    if not keys:
        line = _FRANZ_LINE.match(message)
        if line is None:
            return None
        text = line.group(1)
        keys = dict(pair.partition(": ")[::2] for pair in _NEXT_KEY.split(line.group(2)))  # the last of a name counts
    if "group" not in keys or not (text in _FRANZ or text.startswith(_FRANZ_OTHERS)):
        return None
    event: type[OfClient] | None = _FRANZ.get(text)
    if event is None and text in _FRANZ_ERRORS:
        event = _errored(keys.get("err", ""))
    if event is None:
        return "franz-go", None
    group, member, generation = keys["group"], keys.get("member_id", ""), keys.get("generation", "")
    if event is Joined:
        number = int(generation) if generation.isdecimal() and len(generation) < 10 else None
        return "franz-go", Joined(place=place, group=group, member=member, generation=number)
    if event is Leaves:
        return "franz-go", Leaves(place=place, group=group, member=member, reason="closing, as franz-go only leaves so")
    return "franz-go", event(place=place, group=group, member=member)


def _errored(error: str) -> type[OfClient] | None:
    if "REBALANCE_IN_PROGRESS" in error:
        return ToldToRejoin
    if "GROUP_AUTHORIZATION_FAILED" in error:
        return DeniedGroup
    return UnknownMember if "UNKNOWN_MEMBER_ID" in error else None
