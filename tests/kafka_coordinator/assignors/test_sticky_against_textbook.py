"""The sticky assignors answer as a transcription of the released class did, strays and contradictory claims included.

textbook_answers.json holds a digest of its answer to each of these groups: it was written down plainly, line by line
after Kafka 4.1.0, met the golden vectors, and agreed with the fast assignors on thousands of drawn groups.
"""

import json
import random
import zlib
from collections.abc import Iterator
from pathlib import Path

from kafka_coordinator.assignors.inputs import AssignorError, GroupMetadata, Partition, Subscription
from kafka_coordinator.assignors.sticky import cooperative_sticky, sticky
from tests.kafka_coordinator.consumer.metadata import partitions_of

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


def answer_to(group: GroupMetadata, cooperative: bool) -> object:
    """Who owns what, in order, and who waits for what; or the error's name."""
    try:
        answer = (cooperative_sticky if cooperative else sticky)(group, -1)
    except AssignorError as error:
        return error.error
    names = [*partitions_of(group), *answer.strays]
    ids = [member.member_id for member in group.members]
    owned = {id: [names[number] for number in own] for id, own in zip(ids, answer.owned, strict=True)}
    return owned, sorted((names[number], ids[position]) for number, position in answer.withheld.items())


def small_groups() -> Iterator[tuple[str, GroupMetadata, bool]]:
    """Name, group, and whether the cooperative assignor is asked."""
    for part in range(4):
        seed = random.Random(part)
        for number in range(200):
            topics = {
                topic: seed.choice((0, 1, 2, 8, 20)) for topic in seed.sample(TOPICS, seed.randint(1, len(TOPICS)))
            }
            ids = seed.sample(MEMBER_IDS, seed.randint(1, 12))
            group = group_from(seed, topics, ids, equal=number % 3 == 0, racked=number % 2 == 0)
            yield f"{part}.{number}", group, part % 2 == 0


def large_groups() -> Iterator[tuple[str, GroupMetadata, bool]]:
    """Groups with different subscriptions in which partitions move often."""
    for number in range(12):
        seed = random.Random(number)
        topics = {f"topic-{n}": seed.choice((3, 10, 40)) for n in range(8)}
        yield f"large.{number}", group_from(seed, topics, [f"m{n}" for n in range(15)], equal=False, racked=False), True


def test_answers_are_those_of_the_textbook() -> None:
    recorded = json.loads((Path(__file__).parent / "textbook_answers.json").read_text(encoding="utf-8"))
    digests = {
        name: f"{zlib.crc32(repr(answer_to(group, cooperative)).encode()):08x}"
        for groups in (small_groups(), large_groups())
        for name, group, cooperative in groups
    }
    assert [name for name, digest in digests.items() if recorded[name] != digest] == []
    assert len(digests) == len(recorded) == 812
