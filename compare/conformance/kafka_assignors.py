"""Plays the golden vectors of Kafka's assignors: `assignors-*.jsonl.gz`, format in tests/golden/kafka/FORMAT.md.

The recorded orders (`member_order`, `topic_order`, the order of `previous`) are fed in as they are. Compared are
`expected` per member, `expected_error`, `withheld` per partition, `quirk`, `subscription_type` and
`same_with_long_lived_instance`. `sensitive_to` tells of other runs of the real code on disguised inputs.

Vectors of the assignor of share groups have `assignable`, `current_order` and, since 4.4, the version of the broker.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias, TypeGuard, TypeVar, overload

from compare.conformance import fields
from compare.conformance.cases import Difference, Line, MalformedCase, Player
from compare.conformance.releases import kafka_version
from compare.json_types import Json
from kafka_coordinator.catalogue import (
    CATALOGUE,
    CLASSIC,
    CONSUMER,
    Assignment,
    AssignorError,
    GroupMetadata,
    Partition,
    ShareGroup,
    ShareMember,
    Subscription,
    cooperative_sticky,
    highest_generation,
    homogeneous,
    simple,
    sticky,
)
from protocols.java import string_entry_order

T = TypeVar("T")

Assignor: TypeAlias = Callable[[GroupMetadata], Assignment]

_SIDES: Mapping[str, str] = {CLASSIC: "client", CONSUMER: "server"}

ASSIGNORS: Mapping[str, Assignor] = {
    f"{_SIDES[record.protocol]}-{record.known_as}": record.implementation.assign
    for record in CATALOGUE
    if record.implementation.assign is not None
}
"""Kinds of vectors, as their lines call them, to the assignors of the model."""

MOST_PARTITIONS = 1_000_000
"""Of all topics; a line with more is damaged rather than recorded."""

SHARED = "server-simple"
"""The assignor of share groups, which the other protocols do not have."""

_LONG_LIVED = "same_with_long_lived_instance"

_SHAPES: Mapping[type, str] = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}


def player(assignors: Mapping[str, Assignor] = ASSIGNORS) -> Player:
    """Plays assignor vectors; ``assignors`` may put your own implementation in the place of the model's."""
    return Player(
        "Kafka assignor vectors",
        recognises,
        lambda line: _play_shared(line) if line.get("assignor") == SHARED else _play(line, assignors),
    )


def recognises(line: Line) -> bool:
    """Whether the line is meant to be an assignor vector."""
    return "trace_id" not in line and ("assignor" in line or {"members", "member_order"} <= line.keys())


def metadata(line: Line) -> GroupMetadata:
    """The assignor's input as the line records it, members in ``member_order``. Raises `MalformedCase`."""
    topics = _partition_counts(line)
    members: dict[str, Subscription] = {}
    for index, given in enumerate(_field(line, "members", list)):
        member = _member(given, f"members[{index}]")
        if member.member_id in members:
            raise MalformedCase(f"members[{index}].id", "an id that no other member has", member.member_id)
        members[member.member_id] = member
    order = _texts(line, "member_order")
    if sorted(order) != sorted(members):
        raise MalformedCase("member_order", "each member's id once", order)
    racks = _racks(line, topics)
    ordered = tuple(members[id] for id in order)
    if not str(line["assignor"]).startswith("server-"):
        return GroupMetadata(topics, ordered, racks)
    ids = {topic: _topic_id(topic, id) for topic, id in _field(line, "topic_ids", dict).items()}
    known_order = None
    if "topic_order" in line:
        known_order = tuple(_texts(line, "topic_order"))
        if ordered and sorted(known_order) != sorted(ordered[0].topics):
            raise MalformedCase("topic_order", "each topic of the members' subscription once", list(known_order))
    for topic in dict.fromkeys(topic for member in ordered for topic in member.topics):
        if topic not in ids:
            raise MalformedCase("topic_ids", f"an id of topic {topic!r}", sorted(ids))
    return GroupMetadata(topics, ordered, racks, ids, known_order)


def _partition_counts(line: Line) -> dict[str, int]:
    topics: dict[str, int] = {}
    for topic, count in _field(line, "topics", dict).items():
        if not _is_number(count) or not 0 <= count <= MOST_PARTITIONS:
            raise MalformedCase(f"topics.{topic}", f"a number of partitions, at most {MOST_PARTITIONS}", count)
        topics[topic] = count
    if sum(topics.values()) > MOST_PARTITIONS:
        raise MalformedCase("topics", f"at most {MOST_PARTITIONS} partitions in all", sum(topics.values()))
    return topics


def _play(line: Line, assignors: Mapping[str, Assignor]) -> list[Difference]:
    id = _field(line, "id", str)
    kind = _field(line, "assignor", str)
    if kind not in assignors:
        raise MalformedCase("assignor", f"one of {', '.join([*assignors, SHARED])}", kind)
    if ("expected" in line) == ("expected_error" in line):
        raise MalformedCase("expected", "either it or expected_error", sorted(line))
    group = metadata(line)
    recorded = _recorded(line, group)
    got = _answer(group, assignors[kind])
    if "subscription_type" in line:
        got["subscription_type"] = "homogeneous" if homogeneous(group) else "heterogeneous"
    if _LONG_LIVED in line:
        got[_LONG_LIVED] = _same_when_long_lived(line, group, assignors[kind], got)
    fields = dict.fromkeys([*recorded, *got])
    return [
        Difference(id, field, recorded.get(field), got.get(field))
        for field in fields
        if recorded.get(field) != got.get(field)
    ]


def _play_shared(line: Line) -> list[Difference]:
    id = _field(line, "id", str)
    if ("expected" in line) == ("expected_error" in line):
        raise MalformedCase("expected", "either it or expected_error", sorted(line))
    group = _share_group(line)
    version = kafka_version(line.get("kafka"))
    got: dict[str, object] = {"subscription_type": "HOMOGENEOUS" if group.homogeneous else "HETEROGENEOUS"}
    try:
        shares = simple(group, wishes=version.simple_has_wishes)
        named = zip((member.member_id for member in group.members), shares or (), strict=False)
        got |= {f"expected.{member}": sorted(share) for member, share in named if share}
    except AssignorError as error:
        got["expected_error"] = error.error
    recorded: dict[str, object] = {name: line[name] for name in ("subscription_type", "expected_error") if name in line}
    expected = _field(line, "expected", dict) if "expected" in line else {}
    for member in expected:
        if share := sorted(_partitions(expected, member, "expected.")):
            recorded[f"expected.{member}"] = share
    return [
        Difference(id, field, recorded.get(field), got.get(field))
        for field in dict.fromkeys([*recorded, *got])
        if recorded.get(field) != got.get(field)
    ]


def _share_group(line: Line) -> ShareGroup:
    """The assignor's input: members of a homogeneous group in ``member_order``, of another one in that of Java's map,
    because those without topics count as well."""
    counts = _partition_counts(line)
    given: dict[str, dict[str, Json]] = {}
    for each in _field(line, "members", list):
        id = _field(each, "id", str, "members")
        if not isinstance(each, dict) or id in given:
            raise MalformedCase("members", "an id that no other member has", id)
        given[id] = each
    topics = {id: _texts(member, "topics", f"members.{id}") for id, member in given.items()}
    homogeneous = len({frozenset(each) for each in topics.values()}) < 2
    order = _texts(line, "member_order") if homogeneous else string_entry_order(list(given))
    if sorted(order) != sorted(given):
        raise MalformedCase("member_order", "each member's id once", order)
    members = tuple(
        ShareMember(
            id,
            tuple(_texts(given[id], "topic_order", f"members.{id}")),
            tuple(_partitions(given[id], "previous", f"members.{id}.") if "previous" in given[id] else ()),
        )
        for id in order
    )
    assignable = {topic: list(range(count)) for topic, count in counts.items()}
    if line.get("assignable") is not None:
        told = _field(line, "assignable", dict)
        assignable = {topic: sorted(fields.numbers(told, topic)) if topic in told else [] for topic in counts}
    ids = {topic: _topic_id(topic, id) for topic, id in _field(line, "topic_ids", dict).items()}
    for topic in dict.fromkeys(topic for member in members for topic in member.topics):
        if topic not in ids:
            raise MalformedCase("topic_ids", f"an id of topic {topic!r}", sorted(ids))
    position = {id: number for number, id in enumerate(order)}
    holders = []
    for index, entry in enumerate(_field(line, "current_order", list)):
        path = f"current_order[{index}]"
        if not isinstance(entry, list) or len(entry) != 3:
            raise MalformedCase(path, "[topic, partition, members]", entry)
        of = _all_texts(entry[2], path)
        holders.append((_partition(entry[:2], path), [position[id] for id in of if id in position]))
    return ShareGroup(members, assignable, ids, homogeneous, holders)


def _recorded(line: Line, group: GroupMetadata) -> dict[str, object]:
    """The recorded answer, flat: field to value, in a form in which equal answers are equal."""
    found: dict[str, object] = {}
    if "expected_error" in line:
        found["expected_error"] = _field(line, "expected_error", str)
    else:
        expected = _field(line, "expected", dict)
        for member in group.members:
            found[f"expected.{member.member_id}"] = []
        for member_id in expected:
            found[f"expected.{member_id}"] = sorted(_partitions(expected, member_id, "expected."))
        if line["assignor"] == "client-cooperative-sticky":
            _field(line, "withheld", list)
    for index, entry in enumerate(_field(line, "withheld", list) if "withheld" in line else ()):
        path = f"withheld[{index}]"
        partition = _partition(_field(entry, "partition", list, path), f"{path}.partition")
        name = f"withheld.{partition[0]}-{partition[1]}"
        if name in found:
            raise MalformedCase(path, "a partition that is not listed before", list(partition))
        found[name] = {
            "new_owner": _field(entry, "new_owner", str, path),
            "claimed_by": sorted(_texts(entry, "claimed_by", path)),
        }
    for name in ("quirk", "subscription_type", _LONG_LIVED):
        if name in line:
            found[name] = line[name]
    return found


def _same_when_long_lived(line: Line, group: GroupMetadata, assignor: Assignor, got: Mapping[str, object]) -> object:
    """Whether an assignor object that was kept over the sequence up to this step would answer the same.

    It has seen the generations before the step, which make a difference only where all claims are older. Somebody
    else's assignor cannot be asked: it gets the recorded value.
    """
    if assignor not in (sticky, cooperative_sticky):
        return line[_LONG_LIVED]
    seen = _field(line, "step", int) - 1
    return highest_generation(group) >= seen or got == _answer(group, partial(assignor, max_generation=seen))


def _answer(group: GroupMetadata, assignor: Assignor) -> dict[str, object]:
    """The assignor's answer in the form of `_recorded`."""
    try:
        answer = assignor(group)
    except AssignorError as error:
        crash = {"quirk": ["crash"]} if error.error == "NullPointerException" else {}
        return {"expected_error": error.error, **crash}
    partitions: list[Partition] = [(topic, n) for topic, count in group.topics.items() for n in range(count)]
    partitions += answer.strays
    got: dict[str, object] = {}
    for member, numbers in zip(group.members, answer.owned, strict=True):
        owned = sorted([partitions[number] for number in numbers])
        got[f"expected.{member.member_id}"] = owned
        if not {topic for topic, _ in owned}.issubset(member.topics):
            got["quirk"] = ["assigned_without_subscription"]
    for number, position in answer.withheld.items():
        partition = partitions[number]
        got[f"withheld.{partition[0]}-{partition[1]}"] = {
            "new_owner": group.members[position].member_id,
            "claimed_by": sorted(member.member_id for member in group.members if partition in member.claims),
        }
    return got


def _member(given: Json, path: str) -> Subscription:
    if not isinstance(given, dict):
        raise MalformedCase(path, "an object", given)
    topics = _texts(given, "topics", path)
    if len(set(topics)) != len(topics):
        raise MalformedCase(f"{path}.topics", "each topic once", topics)
    claims = next((name for name in ("claims", "previous") if name in given), None)
    return Subscription(
        member_id=_field(given, "id", str, path),
        topics=tuple(topics),
        instance_id=_optional(given, "instance_id", str, path),
        rack=_optional(given, "rack_id", str, path),
        claims=tuple(_partitions(given, claims, f"{path}.")) if claims else (),
        claim_generation=_optional(given, "claim_generation", int, path),
        generation_field=_optional(given, "generation_field", int, path),
    )


def _racks(line: Line, topics: Mapping[str, int]) -> dict[str, tuple[tuple[str, ...], ...]]:
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    if "partition_racks" in line:
        given = _field(line, "partition_racks", dict)
        for topic in given:
            path = f"partition_racks.{topic}"
            partitions = _field(given, topic, list, "partition_racks")
            if len(partitions) != topics.get(topic):
                raise MalformedCase(path, "racks for each of the topic's partitions", partitions)
            found[topic] = tuple(tuple(_all_texts(racks, f"{path}[{n}]")) for n, racks in enumerate(partitions))
    return found


def _topic_id(topic: str, id: Json) -> int:
    try:
        raw = base64.urlsafe_b64decode(f"{id}==") if isinstance(id, str) else b""
    except (ValueError, binascii.Error):
        raw = b""
    if len(raw) != 16:
        raise MalformedCase(f"topic_ids.{topic}", "16 bytes as base64", id)
    return int.from_bytes(raw, "big")


def _is_number(value: Json) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


@overload
def _field(given: Json, name: str, shape: type[dict[str, Json]], path: str = "") -> dict[str, Json]: ...
@overload
def _field(given: Json, name: str, shape: type[list[Json]], path: str = "") -> list[Json]: ...
@overload
def _field(given: Json, name: str, shape: type[T], path: str = "") -> T: ...
def _field(given: Json, name: str, shape: type[object], path: str = "") -> object:
    where = f"{path}.{name}" if path else name
    if not isinstance(given, dict):
        raise MalformedCase(path or "line", "an object", given)
    if name not in given:
        raise MalformedCase(where, f"{_SHAPES[shape]}, but it is missing", sorted(given))
    value = given[name]
    if not isinstance(value, shape) or isinstance(value, bool):
        raise MalformedCase(where, _SHAPES[shape], value)
    return value


def _optional(given: Mapping[str, Json], name: str, shape: type[T], path: str) -> T | None:
    return None if given.get(name) is None else _field(given, name, shape, path)


def _texts(given: Json, name: str, path: str = "") -> list[str]:
    return _all_texts(_field(given, name, list, path), f"{path}.{name}" if path else name)


def _all_texts(value: Json, path: str) -> list[str]:
    texts = [each for each in value if isinstance(each, str)] if isinstance(value, list) else None
    if texts is None or texts != value:
        raise MalformedCase(path, "a list of texts", value)
    return texts


def _partitions(given: Mapping[str, Json], name: str, prefix: str) -> list[Partition]:
    path = prefix + name
    value = given[name]
    if not isinstance(value, list):
        raise MalformedCase(path, "a list of [topic, partition]", value)
    return [_partition(each, f"{path}[{index}]") for index, each in enumerate(value)]


def _partition(value: Json, path: str) -> Partition:
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and _is_number(value[1]):
        return value[0], value[1]
    raise MalformedCase(path, "[topic, partition]", value)
