"""Plays the golden vectors of Kafka's assignors: `assignors-*.jsonl.gz`, format in examples/recordings/kafka/FORMAT.md.

The recorded orders (`member_order`, `topic_order`, the order of `previous`) are fed in as they are. Compared are
`expected` per member, `expected_error`, `withheld` per partition, `quirk`, `subscription_type` and
`same_with_long_lived_instance`. `sensitive_to` tells of other runs of the real code on disguised inputs.

Vectors of the assignor of share groups have `assignable`, `current_order` and, since 4.4, the version of the broker.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, TypeAlias

from pydantic import Field, StrictInt

from compare.conformance.cases import Difference, Line, MalformedCase, Player, kafka_version, validated
from compare.conformance.recordings import Part
from kafka_coordinator.catalogue import (
    CATALOGUE,
    CLASSIC,
    CONSUMER,
    Assignment,
    AssignorError,
    GroupMetadata,
    IdHashes,
    Partition,
    ShareGroup,
    ShareMember,
    Subscription,
    highest_generation,
    homogeneous,
    simple,
    topic_id,
)
from protocols.errors import StrategyError
from protocols.java import string_entry_order

Assignor: TypeAlias = Callable[..., Assignment]

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

Numbered: TypeAlias = tuple[str, StrictInt]
"""A partition, as ``[topic, number]``."""


class _Member(Part):
    """``claims``, else ``previous``, is what it owned; ``topic_order`` is of share groups."""

    id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    rack_id: str | None = None
    claims: tuple[Numbered, ...] | None = None
    previous: tuple[Numbered, ...] = ()
    claim_generation: StrictInt | None = None
    generation_field: StrictInt | None = None
    topic_order: tuple[str, ...] = ()


class _Withheld(Part):
    partition: Numbered
    new_owner: str
    claimed_by: list[str]


class _Vector(Part):
    id: str
    assignor: str
    topics: dict[str, Annotated[int, Field(strict=True, ge=0)]]
    topic_ids: dict[str, str] = Field(default_factory=dict)
    topic_order: tuple[str, ...] | None = None
    partition_racks: dict[str, tuple[tuple[str, ...], ...]] = Field(default_factory=dict)
    assignable: dict[str, list[StrictInt]] | None = None
    current_order: tuple[tuple[str, StrictInt, list[str]], ...] = ()
    members: list[_Member]
    member_order: list[str]
    expected: dict[str, list[Numbered]] | None = None
    expected_error: str | None = None
    withheld: list[_Withheld] | None = None
    step: StrictInt | None = None
    kafka: str | None = None

    def by_id(self, order: list[str]) -> dict[str, _Member]:
        """The members in this order, which names each of them once."""
        found: dict[str, _Member] = {}
        for number, member in enumerate(self.members):
            if found.setdefault(member.id, member) is not member:
                raise MalformedCase(f"members.{number}.id", "an id that no other member has", member.id)
        if sorted(order) != sorted(found):
            raise MalformedCase("member_order", "each member's id once", order)
        return {id: found[id] for id in order}

    def ids(self, members: Mapping[str, _Member]) -> dict[str, int]:
        """The topics' ids: of all that the members subscribe to."""
        for topic in dict.fromkeys(topic for member in members.values() for topic in member.topics):
            if topic not in self.topic_ids:
                raise MalformedCase("topic_ids", f"an id of topic {topic!r}", sorted(self.topic_ids))
        found = {}
        for topic, given in self.topic_ids.items():
            try:
                found[topic] = topic_id(topic, given)
            except StrategyError:
                raise MalformedCase(f"topic_ids.{topic}", "16 bytes as base64", given) from None
        return found


def recognises(line: Line) -> bool:
    """Whether the line is meant to be an assignor vector."""
    return "trace_id" not in line and ("assignor" in line or {"members", "member_order"} <= line.keys())


def metadata(line: Line) -> GroupMetadata:
    """The assignor's input as the line records it, members in ``member_order``. Raises `MalformedCase`."""
    return _metadata(_read(line))


def _read(line: Line) -> _Vector:
    vector = validated(_Vector, line)
    if sum(vector.topics.values()) > MOST_PARTITIONS:
        raise MalformedCase("topics", f"at most {MOST_PARTITIONS} partitions in all", sum(vector.topics.values()))
    return vector


def _metadata(vector: _Vector) -> GroupMetadata:
    members = vector.by_id(vector.member_order)
    for id, member in members.items():
        if len(set(member.topics)) != len(member.topics):
            raise MalformedCase(f"members.{id}.topics", "each topic once", member.topics)
    for topic, racks in vector.partition_racks.items():
        if len(racks) != vector.topics.get(topic):
            raise MalformedCase(f"partition_racks.{topic}", "racks for each of the topic's partitions", racks)
    ordered = tuple(
        Subscription(
            member_id=id,
            topics=member.topics,
            instance_id=member.instance_id,
            rack=member.rack_id,
            claims=member.previous if member.claims is None else member.claims,
            claim_generation=member.claim_generation,
            generation_field=member.generation_field,
        )
        for id, member in members.items()
    )
    if not vector.assignor.startswith("server-"):
        return GroupMetadata(vector.topics, ordered, vector.partition_racks)
    known_order = vector.topic_order
    if known_order is not None and ordered and sorted(known_order) != sorted(ordered[0].topics):
        raise MalformedCase("topic_order", "each topic of the members' subscription once", known_order)
    return GroupMetadata(vector.topics, ordered, vector.partition_racks, vector.ids(members), known_order)


def play(line: Line) -> list[Difference]:
    """Ask the model's assignor what the real one was asked."""
    vector = _read(line)
    if vector.assignor != SHARED and vector.assignor not in ASSIGNORS:
        raise MalformedCase("assignor", f"one of {', '.join([*ASSIGNORS, SHARED])}", vector.assignor)
    if (vector.expected is None) == (vector.expected_error is None):
        raise MalformedCase("expected", "either it or expected_error", sorted(line))
    if vector.assignor == "client-cooperative-sticky" and vector.expected is not None and vector.withheld is None:
        raise MalformedCase("withheld", "the partitions that are held back", sorted(line))
    got = _shared(vector) if vector.assignor == SHARED else _assigned(vector, line, ASSIGNORS[vector.assignor])
    recorded = _recorded(vector, line)
    return [
        Difference(vector.id, field, recorded.get(field), got.get(field))
        for field in dict.fromkeys([*recorded, *got])
        if recorded.get(field) != got.get(field)
    ]


ASSIGNOR_VECTORS = Player("Kafka assignor vectors", recognises, play)


def _recorded(vector: _Vector, line: Line) -> dict[str, object]:
    """The recorded answer, flat: field to value, in a form in which equal answers are equal."""
    found: dict[str, object] = {}
    if vector.expected is not None:
        found |= {f"expected.{member.id}": [] for member in vector.members}
        found |= {f"expected.{id}": sorted(partitions) for id, partitions in vector.expected.items()}
    for number, each in enumerate(vector.withheld or ()):
        name = "withheld.{}-{}".format(*each.partition)
        if name in found:
            raise MalformedCase(f"withheld.{number}", "a partition that is not listed before", each.partition)
        found[name] = {"new_owner": each.new_owner, "claimed_by": sorted(each.claimed_by)}
    return found | {
        name: line[name] for name in ("expected_error", "quirk", "subscription_type", _LONG_LIVED) if name in line
    }


def _shared(vector: _Vector) -> dict[str, object]:
    """What the assignor of share groups answers: members of a homogeneous group in ``member_order``, of another one in
    the order of Java's map, because those without topics count as well."""
    homogeneous = len({frozenset(each.topics) for each in vector.members}) < 2
    order = vector.member_order if homogeneous else string_entry_order([each.id for each in vector.members])
    of = vector.by_id(order)
    members = tuple(ShareMember(id, each.topic_order, each.previous) for id, each in of.items())
    assignable = {topic: list(range(count)) for topic, count in vector.topics.items()}
    if vector.assignable is not None:
        assignable = {topic: sorted(vector.assignable.get(topic, ())) for topic in vector.topics}
    position = {id: number for number, id in enumerate(order)}
    holders = [
        ((topic, number), [position[id] for id in ids if id in position]) for topic, number, ids in vector.current_order
    ]
    wishes = kafka_version(vector.kafka).simple_has_wishes
    got: dict[str, object] = {"subscription_type": "HOMOGENEOUS" if homogeneous else "HETEROGENEOUS"}
    try:
        shares = simple(
            ShareGroup(members, assignable, IdHashes(vector.ids(of).get), homogeneous, holders), wishes=wishes
        )
    except AssignorError as error:
        return {**got, "expected_error": error.error}
    shared = dict(zip(order, shares or (), strict=False))
    return got | {f"expected.{id}": sorted(shared.get(id, ())) for id in order}


def _assigned(vector: _Vector, line: Line, assignor: Assignor) -> dict[str, object]:
    group = _metadata(vector)
    got = _answer(group, assignor)
    if "subscription_type" in line:
        got["subscription_type"] = "homogeneous" if homogeneous(group) else "heterogeneous"
    if _LONG_LIVED in line:
        # An assignor object that was kept has seen the generations before the step, which make a difference only where
        # all claims are older.
        if vector.step is None:
            raise MalformedCase("step", "the number of the step in its sequence", None)
        seen = vector.step - 1
        remembers = highest_generation(group) < seen
        got[_LONG_LIVED] = not remembers or got == _answer(group, partial(assignor, max_generation=seen))
    return got


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
