"""Targets that are kept from one computation to the next are those that are computed from scratch."""

import random

import pytest

from kafka_coordinator.assignors.inputs import GroupMetadata
from kafka_coordinator.assignors.uniform import uniform
from kafka_coordinator.coordinator.consumer_groups import target as targets
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.uniform_balance import member_order
from kafka_coordinator.coordinator.core import Core
from tests.kafka_coordinator.coordinator.consumer_groups.consumer_group_desk import ConsumerDesk


def from_scratch(core: Core, group: ConsumerGroup, newcomer: str | None) -> dict[str, set[tuple[str, int]]]:
    in_order = member_order(group.members, group.most_members, newcomer)
    metadata = targets._input(core, group, in_order)
    partitions = [(topic, number) for topic, count in metadata.topics.items() for number in range(count)]
    owned = uniform(metadata, True).owned
    return {
        member.member_id: {partitions[number] for number in numbers}
        for member, numbers in zip(metadata.members, owned, strict=True)
    }


@pytest.mark.parametrize("seed", range(4))
def test_targets_kept_and_computed_anew_are_equal(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members come, go and are replaced, topics grow and go, tables of the coordinator grow."""
    choice = random.Random(seed)
    desk = ConsumerDesk(topics={"t": 40, "u": 7, "v": 3})
    topics = ("t", "u", "v", "w")
    checked = 0
    kept = targets._balance

    def compared(core: Core, group: ConsumerGroup) -> "Compared":
        return Compared(kept(core, group), core, group)

    class Compared:
        def __init__(self, balance: targets.UniformBalance, core: Core, group: ConsumerGroup) -> None:
            self.balance, self.core, self.group = balance, core, group

        def compute(
            self, current: dict[str, tuple[tuple[str, int], ...]], most: int, newcomer: str | None
        ) -> dict[str, list[tuple[str, int]]]:
            nonlocal checked
            expected = from_scratch(self.core, self.group, newcomer)
            changed = self.balance.compute(current, most, newcomer)
            found = {each: set(changed.get(each, current.get(each, ()))) for each in self.group.members}
            assert found == expected
            checked += 1
            return changed

    monkeypatch.setattr(targets, "_balance", compared)
    names = [f"{choice.getrandbits(40):x}" for _ in range(60)]
    for step in range(160):
        name = choice.choice(names)
        instance = name if hash_of(name) % 3 == 0 else None
        there = desk.state != "Dead" and name in desk.group.members
        if not there:
            desk.join(name, topics, instance_id=instance)
        elif choice.random() < 0.5:
            desk.beat(name, -1, instance_id=instance)
        elif instance is not None:
            desk.beat(name, -2, instance_id=instance)
            desk.join(name + "x", topics, instance_id=instance)
            desk.beat(name + "x", -1, instance_id=instance)
        if step % 40 == 39:
            desk.topics({"t": 40 + step, "u": 7, **({"w": 2} if step > 80 else {"v": 3})})
        if step % 10 == 9:
            desk.settle()
        if step % 50 == 49:
            desk.away_and_back()
    assert checked > 60


def hash_of(name: str) -> int:
    return int(name, 16)


@pytest.mark.parametrize("seed", range(3))
def test_members_with_different_subscriptions_come_and_go_and_topics_change(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = random.Random(seed)
    kept, kept_some = targets._input, 0

    def compared(core: Core, group: ConsumerGroup, in_order: list[str]) -> GroupMetadata:
        nonlocal kept_some
        known = group.iterated
        found = kept(core, group, in_order)
        kept_some += group.iterated is known
        known, group.iterated = group.iterated, None
        assert found == kept(core, group, in_order)
        group.iterated = known
        return found

    monkeypatch.setattr(targets, "_input", compared)
    desk = ConsumerDesk(topics={"t": 40, "u": 7, "v": 3})
    names = [f"{choice.getrandbits(40):x}" for _ in range(12)]
    for step in range(100):
        name = choice.choice(names)
        if desk.state != "Dead" and name in desk.group.members:
            desk.beat(name, -1)
        else:
            desk.join(name, choice.choice([("t", "u"), ("u", "v"), ("t", "v", "w")]))
        if step % 30 == 29:
            desk.topics({"t": 40 + step, "u": 7, **({"w": 2} if step > 60 else {"v": 3})})
        if step % 10 == 9:
            desk.settle()
    assert kept_some > 30
    assert desk.group.iterated is not None
    assert len(desk.group.iterated._known) <= 2 * len(names)
