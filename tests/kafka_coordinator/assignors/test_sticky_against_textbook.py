"""The fast sticky assignors answer as the textbook does, lists in order and withheld partitions included."""

import random

from hypothesis import given
from hypothesis import strategies as st

from kafka_coordinator.assignors.inputs import AssignorError, GroupMetadata, Partition, Subscription
from kafka_coordinator.assignors.sticky import cooperative_sticky, sticky
from tests.kafka_coordinator.assignors.textbook_sticky import textbook_sticky
from tests.kafka_coordinator.consumer.metadata import partitions_of
from tests.rows import rows

MEMBER_IDS = [f"c{n}" for n in range(14)] + ["Z", "ü", "\U0001f600", "\ufb00"]
TOPICS = ["t0", "t1", "B", "t10", "orders", "é"]
RACKS = ["a", "b", "c"]
GENERATION = 4


def group_from(seed: random.Random, topics: dict[str, int], ids: list[str], equal: bool, racked: bool) -> GroupMetadata:
    """Members with equal or differing subscriptions, racks or none, and claims that may contradict each other."""
    names = list(topics)
    replicas = {
        topic: tuple(tuple(seed.sample(RACKS, seed.choice((1, 1, 2)))) for _ in range(count))
        for topic, count in topics.items()
    }
    claims = _claims(seed, topics, ids, seed.choice(("none", "few", "all", "conflicting", "conflicting")))
    latest = seed.choice((0, 1, 2))
    members = []
    for id in ids:
        wanted = tuple(names if equal else seed.sample(names, seed.choice((0, 1, len(names) // 2, len(names)))))
        generation = seed.choice((GENERATION, GENERATION, GENERATION - latest, -1, None))
        field = generation if seed.random() < 0.7 else seed.choice((None, GENERATION, GENERATION - 1))
        rack = seed.choice((None, *RACKS, *RACKS)) if racked else None
        members.append(Subscription(id, wanted, None, rack, tuple(claims[id]), generation, field))
    return GroupMetadata(topics, tuple(members), replicas if racked else {})


def _claims(seed: random.Random, topics: dict[str, int], ids: list[str], kind: str) -> dict[str, list[Partition]]:
    """Who claims what: nothing; everything by a few; everything by all; whatever by whoever, gone ones too."""
    claims: dict[str, list[Partition]] = {id: [] for id in ids}
    claimants = ids[: 1 + len(ids) // 3] if kind == "few" else ids
    partitions = [(topic, number) for topic, count in topics.items() for number in range(count)]
    if kind == "conflicting":
        strays = [(seed.choice(list(topics)), number) for number in seed.sample((-2, -1, 20, 21, 99, 692), 3)]
        partitions += [("gone", 0), (next(iter(topics)), 99), *strays]
    for partition in partitions if kind != "none" else ():
        times = seed.choice((0, 1, 1, 1, 2)) if kind == "conflicting" else 1
        for id in seed.sample(claimants, min(times, len(claimants))):
            claims[id].append(partition)
    for own in claims.values():
        seed.shuffle(own)
    return claims


def fast(group: GroupMetadata, cooperative: bool, max_generation: int) -> object:
    """The fast answer under the names that the textbook uses, or the error's name."""
    try:
        answer = (cooperative_sticky if cooperative else sticky)(group, max_generation)
    except AssignorError as error:
        return error.error
    names = [*partitions_of(group), *answer.strays]
    ids = [member.member_id for member in group.members]
    owned = {id: [names[number] for number in own] for id, own in zip(ids, answer.owned, strict=True)}
    return owned, {names[number]: ids[position] for number, position in answer.withheld.items()}


def textbook(group: GroupMetadata, cooperative: bool, max_generation: int) -> object:
    """The textbook's answer, or the error's name."""
    try:
        answer = textbook_sticky(group, cooperative, max_generation)
    except AssignorError as error:
        return error.error
    return answer.owned, answer.withheld


@given(
    st.integers(0, 1 << 32),
    st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 20), min_size=1),
    st.lists(st.sampled_from(MEMBER_IDS), unique=True, min_size=1, max_size=12),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from((-1, GENERATION - 1, GENERATION + 1)),
)
def test_fast_and_textbook_answers_are_equal(
    seed: int, topics: dict[str, int], ids: list[str], equal: bool, racked: bool, cooperative: bool, seen: int
) -> None:
    group = group_from(random.Random(seed), topics, ids, equal, racked)
    assert fast(group, cooperative, seen) == textbook(group, cooperative, seen)


@rows("part", range(4))
def test_they_are_equal_on_many_groups(part: int) -> None:
    seed = random.Random(part)
    for number in range(200):
        topics = {topic: seed.choice((0, 1, 2, 8, 20)) for topic in seed.sample(TOPICS, seed.randint(1, len(TOPICS)))}
        ids = seed.sample(MEMBER_IDS, seed.randint(1, 12))
        group = group_from(seed, topics, ids, equal=number % 3 == 0, racked=number % 2 == 0)
        assert fast(group, part % 2 == 0, -1) == textbook(group, part % 2 == 0, -1)


def test_they_are_equal_on_large_uneven_groups_where_partitions_move_often() -> None:
    for number in range(12):
        seed = random.Random(number)
        topics = {f"topic-{n}": seed.choice((3, 10, 40)) for n in range(8)}
        ids = [f"m{n}" for n in range(15)]
        group = group_from(seed, topics, ids, equal=False, racked=False)
        assert fast(group, True, -1) == textbook(group, True, -1)
