"""Assignor inputs for tests: written out by hand, or drawn by hypothesis."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from kafka_coordinator.assignors.inputs import Assignment, GroupMetadata, Partition, Subscription

RACKS = ("a", "b", "c")


def group_of(
    topics: Mapping[str, int],
    members: Mapping[str, str | Sequence[str]],
    *,
    instances: Mapping[str, str] | None = None,
    racks: Mapping[str, str] | None = None,
    replicas: Mapping[str, str] | None = None,
    claims: Mapping[str, Sequence[Partition]] | None = None,
) -> GroupMetadata:
    """Members in the order written. ``replicas``: topic to one letter per partition, the rack of its only replica.

    Topic ids are 1, 2, ... in the order of ``topics``.
    """
    return GroupMetadata(
        topics=topics,
        members=tuple(
            Subscription(
                member,
                tuple(wanted.split()) if isinstance(wanted, str) else tuple(wanted),
                (instances or {}).get(member),
                (racks or {}).get(member),
                tuple((claims or {}).get(member, ())),
            )
            for member, wanted in members.items()
        ),
        replica_racks={topic: tuple((rack,) for rack in letters) for topic, letters in (replicas or {}).items()},
        topic_ids={topic: 1 << 64 | number for number, topic in enumerate(topics, 1)},
    )


def owned(group: GroupMetadata, answer: Assignment) -> dict[str, str]:
    """Member to its partitions, as in `t0-0 t0-2`."""
    names = [f"{topic}-{n}" for topic, count in group.topics.items() for n in range(count)]
    return {
        member.member_id: " ".join(names[number] for number in sorted(numbers))
        for member, numbers in zip(group.members, answer.owned, strict=True)
    }


def partitions_of(group: GroupMetadata) -> list[Partition]:
    """The partition behind each number."""
    return [(topic, n) for topic, count in group.topics.items() for n in range(count)]


@st.composite
def groups(draw: st.DrawFn, *, equal: bool = False, racks: bool = False, unknown: bool = True) -> GroupMetadata:
    """Small groups; ``unknown``: members may also subscribe to a topic that does not exist."""
    topics = draw(st.dictionaries(st.sampled_from(("t0", "t1", "B", "t10", "é")), st.integers(0, 9), max_size=4))
    ids = draw(st.lists(st.sampled_from([f"c{n}" for n in range(12)] + ["ü", "\U0001f600"]), unique=True, max_size=9))
    choice = st.lists(st.sampled_from([*topics, *(["gone"] if unknown else [])] or ["-"]), unique=True).map(tuple)
    if not topics and not unknown:
        choice = st.just(())
    same = draw(choice)
    members = tuple(
        Subscription(
            id,
            same if equal else draw(choice),
            draw(st.sampled_from([None, None, f"i-{id[::-1]}"])),
            draw(st.sampled_from([None, *RACKS])) if racks else None,
        )
        for id in ids
    )
    replica = st.lists(st.sampled_from(RACKS), unique=True, min_size=1, max_size=2).map(tuple)
    return GroupMetadata(
        topics,
        members,
        {topic: tuple(draw(replica) for _ in range(count)) for topic, count in topics.items()} if racks else {},
        {topic: draw(st.integers(0, 1 << 60)) << 68 | number for number, topic in enumerate(topics)},
    )


def assert_each_partition_has_one_subscriber(group: GroupMetadata, answer: Assignment) -> None:
    """Every partition of a subscribed topic has exactly one owner, who subscribes to it; nothing else is owned."""
    names = partitions_of(group)
    given = [names[number] for numbers in answer.owned for number in numbers]
    subscribed = {topic for member in group.members for topic in member.topics}
    assert sorted(given) == sorted(each for each in names if each[0] in subscribed)
    for member, numbers in zip(group.members, answer.owned, strict=True):
        assert {names[number][0] for number in numbers} <= set(member.topics)
