"""Made groups with any subscriptions and any state of today, and the optimum by trying out every allocation."""

from collections.abc import Mapping
from itertools import product

from hypothesis import strategies as st

from protocols import Allocation, Group, Queue


@st.composite
def groups(draw: st.DrawFn, members: int = 4, queues: tuple[int, ...] = (0, 1, 2, 3), topics: int = 3) -> Group:
    """Groups of up to so many members and topics; members may subscribe to nothing, topics may have no subscriber."""
    sizes = draw(st.lists(st.sampled_from(queues), max_size=topics))
    names = [f"t{n}" for n in range(len(sizes))]
    subscription = st.lists(st.sampled_from(names), unique=True) if names else st.just([])
    subscriptions = draw(st.lists(subscription, max_size=members))
    return Group.of(
        dict(zip(names, sizes, strict=True)),
        {f"m{n}": topics for n, topics in enumerate(subscriptions)},
    )


@st.composite
def with_today(draw: st.DrawFn, made: st.SearchStrategy[Group]) -> tuple[Group, Allocation]:
    """A group and what its members and one more own: nothing, once or twice, subscribed or not."""
    group = draw(made)
    before = group.joined_by("gone", [])
    ids = [member.id for member in before.members]
    owned: dict[str, list[Queue]] = {id: [] for id in ids}
    for queue in group.queues:
        for owner in draw(st.lists(st.sampled_from(ids), unique=True, max_size=2)):
            owned[owner].append(queue)
    return group, Allocation(before, owned)


def loads(allocation: Allocation) -> tuple[int, ...]:
    """Numbers of queues, descending."""
    return tuple(sorted(map(len, allocation.values()), reverse=True))


def choices(group: Group) -> list[tuple[Queue, list[str]]]:
    """The queues that somebody subscribes to, each with its subscribers."""
    subscribers = {topic: [group.members[n].id for n in who] for topic, who in group.subscribers().items()}
    return [(queue, subscribers[queue.topic]) for queue in group.queues if subscribers[queue.topic]]


def tried_out(group: Group, today: Allocation) -> tuple[tuple[int, ...], int]:
    """The least (loads descending, moves) over all allocations."""
    owners: dict[Queue, set[str]] = {}
    for member, queues in today.items():
        for queue in queues:
            owners.setdefault(queue, set()).add(member)
    open_queues = choices(group)

    def judged(pick: tuple[str, ...]) -> tuple[tuple[int, ...], int]:
        counts = sorted((pick.count(member.id) for member in group.members), reverse=True)
        moves = sum(
            queue in owners and member not in owners[queue]
            for (queue, _), member in zip(open_queues, pick, strict=True)
        )
        return tuple(counts), moves

    return min(map(judged, product(*(takers for _, takers in open_queues))))


def least_maximum(group: Group, weights: Mapping[Queue, int]) -> int:
    """The least weight of the most loaded member over all allocations."""
    open_queues = choices(group)

    def most(pick: tuple[str, ...]) -> int:
        total = {member.id: 0 for member in group.members}
        for (queue, _), member in zip(open_queues, pick, strict=True):
            total[member] += weights[queue]
        return max(total.values())

    return min(map(most, product(*(takers for _, takers in open_queues))))
