"""The sticky assignors word for word after spec 5.5 to 5.7: slow, without a clever line, the judge of the fast ones.

Everything is a partition (topic, number) or a member id; every order is sorted anew where it is needed. A claim on a
partition that does not exist is a claim like any other, as long as its topic is there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from kafka_coordinator.assignors.inputs import AssignorError, GroupMetadata, Partition
from protocols.java import utf16_key
from tests.kafka_coordinator.assignors.textbook_balancing import Balancing

NO_GENERATION = -1


@dataclass
class Answer:
    """Member id to its partitions, and withheld partitions to the member who gets them next round."""

    owned: dict[str, list[Partition]]
    withheld: dict[Partition, str] = field(default_factory=dict)


def textbook_sticky(group: GroupMetadata, cooperative: bool = False, max_generation: int = -1) -> Answer:
    """What the released `sticky` or `cooperative-sticky` assignor answers."""
    return _Textbook(group, cooperative, max_generation).answer()


class _Textbook:
    def __init__(self, group: GroupMetadata, cooperative: bool, max_generation: int) -> None:
        self.group = group
        self.cooperative = cooperative
        self.members = {member.member_id: member for member in group.members}
        subscribed = {topic for member in group.members for topic in member.topics}
        self.topics = {topic: n for topic, n in group.topics.items() if topic in subscribed and n > 0}
        self.partitions = [(topic, n) for topic, count in self.topics.items() for n in range(count)]
        self.max_generation = max([max_generation, *(self.generation(id) for id in self.members)])
        self.claims = {
            id: [partition for partition in member.claims if partition[0] in self.topics]
            for id, member in self.members.items()
        }
        member_racks = {member.rack for member in group.members if member.rack}
        replica_racks = {rack for partition in self.partitions for rack in self.racks(partition)}
        self.rack_aware = bool(member_racks & replica_racks) and any(
            set(self.racks(partition)) != replica_racks for partition in self.partitions
        )

    def answer(self) -> Answer:
        if not self.members:
            return Answer({})
        owned, doubly_claimed = self.owners_from_claims()
        if self.subscriptions_are_equal():
            return self.constrained(owned, doubly_claimed)
        return self.general(owned)

    # Small words.

    def generation(self, id: str) -> int:
        generation = self.members[id].claim_generation
        return NO_GENERATION if generation is None else generation

    def racks(self, partition: Partition) -> Sequence[str]:
        topic, number = partition
        racks = self.group.replica_racks.get(topic, ())
        return racks[number] if 0 <= number < len(racks) else ()

    def beside(self, id: str, partition: Partition) -> bool:
        return self.rack_aware and bool(self.members[id].rack) and self.members[id].rack in self.racks(partition)

    def mismatch(self, id: str, partition: Partition) -> bool:
        return self.rack_aware and bool(self.members[id].rack) and not self.beside(id, partition)

    def subscribers(self, topic: str) -> list[str]:
        return [id for id, member in self.members.items() for each in member.topics if each == topic]

    def most(self, id: str) -> int:
        return sum(self.topics.get(topic, 0) for topic in self.members[id].topics)

    # 5.5

    def owners_from_claims(self) -> tuple[dict[str, list[Partition]], set[Partition]]:
        owned: dict[str, list[Partition]] = {id: [] for id in self.members}
        claimant: dict[Partition, str] = {}
        doubly_claimed: set[Partition] = set()
        for id in self.members:
            for partition in self.claims[id]:
                if partition not in claimant:
                    owned[id].append(partition)
                    claimant[partition] = id
                    continue
                other = claimant[partition]
                theirs = self.members[other].generation_field
                theirs = NO_GENERATION if theirs is None else theirs
                if self.generation(id) < theirs:
                    continue
                if self.generation(id) > theirs:
                    owned[id].append(partition)
                else:
                    doubly_claimed.add(partition)
                if partition in owned[other]:
                    owned[other].remove(partition)
                claimant[partition] = id
        return owned, doubly_claimed

    def subscriptions_are_equal(self) -> bool:
        reference: set[str] = set()
        for member in self.members.values():
            if not reference:
                reference = set(member.topics)
            elif len(member.topics) != len(reference) or not set(member.topics) <= reference:
                return False
        return True

    # 5.6

    def constrained(self, claimed: dict[str, list[Partition]], doubly_claimed: set[Partition]) -> Answer:
        least, seats = divmod(len(self.partitions), len(self.members))
        most = least + (seats > 0)
        owned: dict[str, list[Partition]] = {}
        revoked: list[tuple[str, Partition]] = []
        under: list[str] = []
        exact: list[str] = []
        over = 0
        for id in self.members:
            own = [p for p in claimed[id] if not self.mismatch(id, p)]
            revoked += [(id, p) for p in claimed[id] if self.mismatch(id, p)]
            own.sort(key=lambda p: (p[1], utf16_key(p[0])))
            own = [p for p in own if p not in doubly_claimed]
            if len(own) < least:
                keep = len(own)
                under.append(id)
            elif len(own) >= most and over < seats:
                keep = most
                over += 1
                if over == seats:
                    exact.clear()
            else:
                keep = least
                if over < seats:
                    exact.append(id)
            owned[id] = own[:keep]
            revoked += [(id, p) for p in own[keep:]]
        kept = {p for each in owned.values() for p in each}
        by_name = sorted(self.partitions, key=lambda p: (utf16_key(p[0]), p[1]))
        left = _without(by_name, sorted(kept, key=lambda p: (utf16_key(p[0]), p[1])))
        under.sort(key=utf16_key)
        exact.sort(key=utf16_key)
        given: list[tuple[str, Partition]] = []

        def give(id: str, partition: Partition) -> int:
            owned[id].append(partition)
            given.append((id, partition))
            return len(owned[id])

        if self.rack_aware:
            left.sort(key=lambda p: sum(self.beside(id, p) for id in self.members))
            index = 0
            for partition in list(left):
                turns = [*range(index, len(under)), *range(index)]
                found = next((k for k in turns if self.beside(under[k], partition)), None)
                if found is not None:
                    id = under[found]
                    if give(id, partition) >= least:
                        del under[found]
                        if len(owned[id]) < most and over < seats:
                            exact.append(id)
                        index = found
                    else:
                        index = found + 1
                    index = index % len(under) if under else 0
                    left.remove(partition)
                    continue
                found_id = next((id for id in exact if self.beside(id, partition)), None)
                if found_id is not None:
                    left.remove(partition)
                    if give(found_id, partition) == most:
                        exact.remove(found_id)
                        over += 1
                        if over == seats:
                            exact.clear()
        index = 0
        for partition in left:
            if under:
                index = index % len(under)
                if give(under[index], partition) == least:
                    exact.append(under.pop(index))
                else:
                    index += 1
            elif exact:
                give(exact.pop(0), partition)
            else:
                raise AssignorError("IllegalStateException")
        answer = Answer(owned)
        if self.cooperative:
            for id, partition in given:
                if partition in doubly_claimed or any(p == partition and other != id for other, p in revoked):
                    answer.withheld[partition] = id
                    owned[id].remove(partition)
        return answer

    # 5.7

    def general(self, owned: dict[str, list[Partition]]) -> Answer:
        previous: dict[Partition, tuple[int, str]] = {}
        for id, member in self.members.items():
            stale = self.generation(id) < self.max_generation
            for partition in member.claims if stale else ():
                if partition not in previous or previous[partition][0] < self.generation(id):
                    previous[partition] = self.generation(id), id
        revocation_required = False
        for id, own in owned.items():
            keep = [p for p in own if p[0] in self.members[id].topics and not self.mismatch(id, p)]
            revocation_required |= len(keep) < len(own)
            owned[id] = keep

        def sizes_order() -> list[str]:
            return sorted(owned, key=lambda id: (len(owned[id]), utf16_key(id)))

        initializing = not owned[sizes_order()[-1]]

        def dealing_order(partitions: Iterable[Partition]) -> list[Partition]:
            return sorted(partitions, key=lambda p: (len(self.subscribers(p[0])), utf16_key(p[0]), p[1]))

        every = dealing_order(self.partitions)
        owner = {p: id for id, own in owned.items() for p in own}
        fresh = _without(every, dealing_order(owner))
        waiting = set(fresh)
        for only_matching in (True, False) if self.rack_aware else (False,):
            for partition in (p for p in fresh if p in waiting):
                for id in sizes_order():
                    if partition[0] in self.members[id].topics and not (only_matching and self.mismatch(id, partition)):
                        owned[id].append(partition)
                        owner[partition] = id
                        waiting.remove(partition)
                        break
        shared = {topic for topic in self.topics if len(self.subscribers(topic)) > 1}
        fixed = {
            id: own
            for id, own in owned.items()
            if len(own) >= self.most(id) and not any(topic in shared for topic, _ in own)
        }
        for id in fixed:
            del owned[id]
        remembered = {id: list(own) for id, own in owned.items()}
        before = {p: id for p, (_, id) in previous.items()}
        subscriptions = {id: member.topics for id, member in self.members.items()}
        most = {id: self.most(id) for id in self.members}
        balancing = Balancing(self.partitions, subscriptions, most, owned, owner, before, self.beside)
        if not revocation_required:
            balancing.balance([p for p in fresh if p[0] in shared])
        moved = balancing.balance([p for p in every if p[0] in shared])
        if not initializing and moved and _score(owned.values()) >= _score(remembered.values()):
            owned = remembered
        answer = Answer({id: owned[id] if id in owned else fixed[id] for id in self.members})
        if self.cooperative:
            self.withhold(answer)
        return answer

    def withhold(self, answer: Answer) -> None:
        lost = {p for id in self.members for p in self.claims[id] if p not in answer.owned[id]}
        for id, own in answer.owned.items():
            answer.withheld.update({p: id for p in own if p not in self.claims[id] and p in lost})
        for partition, id in answer.withheld.items():
            answer.owned[id].remove(partition)


def _without(every: Sequence[Partition], kept: Sequence[Partition]) -> list[Partition]:
    """Both in order, side by side: a kept partition that does not exist is waited for in vain."""
    waiting = list(kept)
    left = []
    for partition in every:
        if waiting and waiting[0] == partition:
            waiting.pop(0)
        else:
            left.append(partition)
    return left


def _score(assignment: Iterable[list[Partition]]) -> int:
    return sum(abs(len(one) - len(other)) for one, other in combinations(assignment, 2))
