"""Sending surplus to where it is wanted, along the arcs of a network that still have room (Dinitz 1970).

The networks of this package have few nodes and are dense: topics on one side, members on the other. They are asked for
the arcs that lead to a given set of nodes, so that a search looks at every node once, not at every arc.

The question at topic level: which topics can only be told apart by name, which members are alike.

Queues of one topic are interchangeable for fairness, and so are topics with the same subscribers and members with the
same subscription. Merging them keeps every reachable distribution of loads and makes most groups tiny: a group whose
members all subscribe to the same topics is one class of members and one bundle of topics.

The fairest loads: an optimal semi-matching of queues to members, at the level of bundles and classes.

A distribution of loads is fairest if no chain of moves leads from a member to one with at least two queues less; it is
then the least for every convex measure at once, and its sorted loads are the lexicographically least (Harvey, Ladner,
Lovasz, Tamir 2006). The reachable loads form the bases of a supermodular function, so the fairest fall into blocks
(Frank and Murota, "Decreasing minimization on M-convex sets"): within a block loads differ by at most one, and a
block's queues can go to no block of a lower level. The blocks are found by levelling a part of the group out; where
that does not succeed, the members that the surplus can reach must carry more than the others, and both sides are
levelled out apart.

Queues that are the same to everybody: who may take them, who owns them today.

The levels of the fairest loads cut a group into blocks (see `semi_matching`). The queues of a topic go to its
subscribers in the lowest of their blocks and to nobody else. Within a block queues are of one kind if the same members
may take them and, where several own them today, the same members do.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from protocols import Group, Queue


class Network(Protocol):
    """Nodes are numbers. An arc may be used while it has room; using it gives the opposite arc room."""

    def onward(self, node: int, among: AbstractSet[int]) -> list[int]:
        """The nodes of ``among`` to which an arc with room leads, ascending."""

    def room(self, tail: int, head: int) -> int:
        """How much more the arc can carry."""

    def push(self, tail: int, head: int, amount: int) -> None:
        """Send ``amount`` along the arc."""


def drain(network: Network, nodes: Iterable[int], surplus: dict[int, int], wanted: dict[int, int]) -> set[int]:
    """Send as much of ``surplus`` as can go to the nodes where something is ``wanted``; both are reduced in place.

    Returns the nodes that what is left of the surplus can still reach: nothing is wanted in any of them.
    """
    everywhere = set(nodes)
    while True:
        layers = _layers(network, everywhere, surplus)
        if not any(wanted.get(node) for layer in layers for node in layer):
            return set().union(*layers)
        _send(network, layers, surplus, wanted)


def _layers(network: Network, nodes: AbstractSet[int], surplus: Mapping[int, int]) -> list[set[int]]:
    """The nodes by their number of steps from the nearest surplus."""
    frontier = {node for node, amount in surplus.items() if amount}
    unseen = set(nodes - frontier)
    layers = []
    while frontier:
        layers.append(frontier)
        following: set[int] = set()
        for node in sorted(frontier):
            found = network.onward(node, unseen)
            following.update(found)
            unseen.difference_update(found)
        frontier = following
    return layers


def _send(network: Network, layers: list[set[int]], surplus: dict[int, int], wanted: dict[int, int]) -> None:
    """Fill the paths that go one layer further at every step until none is left."""
    depth = len(layers)
    arcs: dict[int, list[int]] = {}
    for source in sorted(layers[0]):
        path = [source]
        while path and surplus[source]:
            node = path[-1]
            if len(path) > 1 and wanted.get(node):
                amount = min(surplus[source], wanted[node], *map(network.room, path, path[1:]))
                for tail, head in pairwise(path):
                    network.push(tail, head, amount)
                surplus[source] -= amount
                wanted[node] -= amount
                path = [source]
                continue
            if node not in arcs:
                arcs[node] = network.onward(node, layers[len(path)]) if len(path) < depth else []
            ahead = arcs[node]
            while ahead and not network.room(node, ahead[-1]):
                ahead.pop()
            if ahead:
                path.append(ahead[-1])
            else:
                path.pop()
                if path:
                    arcs[path[-1]].pop()


@dataclass(frozen=True, slots=True)
class Bundle:
    """Topics with the same subscribers: together they hand out ``amount`` units to the ``classes``.

    A unit is a queue; in weighted problems it is the unit of weight, as if queues could be split.
    """

    topics: tuple[str, ...]
    amount: int
    classes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Problem:
    """Members in ``classes`` (positions in ``group.members``; alike: they subscribe to the same topics) and bundles.

    Topics without subscribers or with nothing to hand out are left out; members without such topics form a class that
    no bundle names.
    """

    classes: tuple[tuple[int, ...], ...]
    bundles: tuple[Bundle, ...]

    @classmethod
    def of(cls, group: Group, amounts: Mapping[str, int] | None = None) -> "Problem":
        """The problem of a group; ``amounts`` (units per topic, topics left out have none) default to its queues."""
        if amounts is None:
            amounts = {topic: len(queues) for topic, queues in group.topics.items()}
        number = {topic: n for n, (topic, amount) in enumerate(amounts.items()) if amount}
        alike: dict[frozenset[int], list[int]] = {}
        seen: dict[tuple[str, ...], frozenset[int]] = {}
        for position, member in enumerate(group.members):
            wanted = seen.get(member.subscription)
            if wanted is None:
                wanted = frozenset(number[topic] for topic in member.subscription if topic in number)
                seen[member.subscription] = wanted
            alike.setdefault(wanted, []).append(position)
        subscribers: dict[int, list[int]] = {n: [] for n in number.values()}
        for each, wanted in enumerate(alike):
            for n in wanted:
                subscribers[n].append(each)
        together: dict[frozenset[int], list[str]] = {}
        for topic, n in number.items():
            if subscribers[n]:
                together.setdefault(frozenset(subscribers[n]), []).append(topic)
        return cls(
            tuple(map(tuple, alike.values())),
            tuple(
                Bundle(tuple(topics), sum(amounts[topic] for topic in topics), classes)
                for classes, topics in together.items()
            ),
        )


@dataclass(frozen=True, slots=True)
class Level:
    """Classes of members who carry ``level`` or ``level + 1`` units each in every fairest distribution."""

    level: int
    classes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Fairest:
    """A fairest distribution.

    ``levels`` descending; ``load`` per class, all its members together; ``flow`` per bundle: class to its units.
    """

    levels: tuple[Level, ...]
    load: tuple[int, ...]
    flow: tuple[dict[int, int], ...]


def fairest(problem: Problem) -> Fairest:
    """A fairest distribution of the problem's units over its classes, and the levels that all of them share."""
    sizes = [len(members) for members in problem.classes]
    network = _Distribution(problem, sizes)
    found: dict[int, set[int]] = {}
    parts: list[set[int]] = [set(range(len(sizes)))] if sizes else []
    while parts:
        part = parts.pop()
        level = sum(network.load[number] for number in part) // sum(sizes[number] for number in part)
        upper = network.stuck(part, level + 1) or network.stuck(part, level)
        if upper:
            lower = part - upper
            network.keep_within(lower)
            parts += [upper, lower]
        else:
            # Parts of one level are one block: dropping the border between them claims less and allows more.
            found.setdefault(level, set()).update(part)
    return Fairest(
        tuple(Level(level, frozenset(found[level])) for level in sorted(found, reverse=True)),
        tuple(network.load),
        tuple({key - network.first: units for key, units in flow.items()} for flow in network.flow),
    )


class _Distribution:
    """Units of bundles given to classes. Nodes: bundles from 0 on, then classes from ``first`` on."""

    def __init__(self, problem: Problem, sizes: Sequence[int]) -> None:
        self.first = len(problem.bundles)
        self.sizes = sizes
        self.everything = sum(bundle.amount for bundle in problem.bundles)
        self.load = [0] * len(sizes)
        self.takers = [{each + self.first for each in bundle.classes} for bundle in problem.bundles]
        self.flow: list[dict[int, int]] = [{} for _ in problem.bundles]
        self.held: dict[int, set[int]] = {number + self.first: set() for number in range(len(sizes))}
        for n in sorted(range(self.first), key=lambda n: len(problem.bundles[n].classes)):
            self._pour(n, problem.bundles[n].amount, sorted(problem.bundles[n].classes))

    def _pour(self, bundle: int, amount: int, classes: list[int]) -> None:
        """Give a bundle to those who have least, as water fills a vessel: a good start, no more."""
        classes.sort(key=lambda number: self.load[number] // self.sizes[number])
        size = load = 0
        for count, number in enumerate(classes, 1):
            size += self.sizes[number]
            load += self.load[number]
            level = (load + amount) // size
            if count < len(classes) and level <= self.load[classes[count]] // self.sizes[classes[count]]:
                break
        for height in (level, level + 1):
            for number in classes[:count]:
                units = min(amount, height * self.sizes[number] - self.load[number])
                if units > 0:
                    self.push(bundle, number + self.first, units)
                    self.load[number] += units
                    amount -= units

    def stuck(self, part: AbstractSet[int], level: int) -> set[int] | None:
        """Move what members of the part have above the level to those below it.

        None if one of the two is gone then; else the classes that the surplus can reach: what they share cannot leave
        them, and none of them is below the level.
        """
        above = {number: self.load[number] - level * self.sizes[number] for number in sorted(part)}
        surplus = {key + self.first: units for key, units in above.items() if units > 0}
        wanted = {key + self.first: -units for key, units in above.items() if units < 0}
        if not surplus or not wanted:
            return None
        classes = {number + self.first for number in part}
        bundles = set().union(*(self.held[number] for number in classes))
        reached = drain(self, classes | bundles, surplus, wanted)
        for each, units in (*surplus.items(), *((key, -units) for key, units in wanted.items())):
            self.load[each - self.first] = level * self.sizes[each - self.first] + units
        if not reached or not any(wanted.values()):
            return None
        return {number - self.first for number in reached & classes}

    def keep_within(self, part: Iterable[int]) -> None:
        """From now on the bundles that this part holds go to no class outside of it."""
        classes = {number + self.first for number in part}
        for bundle in set().union(*(self.held[number] for number in classes)):
            self.takers[bundle] &= classes

    def onward(self, node: int, among: AbstractSet[int]) -> list[int]:
        """A bundle may go to any class that subscribes; a class may give up what it holds."""
        return sorted((self.takers[node] if node < self.first else self.held[node]) & among)

    def room(self, tail: int, head: int) -> int:
        """Bundles may give any amount, classes what they hold of the bundle."""
        return self.everything if tail < self.first else self.flow[head].get(tail, 0)

    def push(self, tail: int, head: int, amount: int) -> None:
        """Give units of a bundle to a class, or take them back."""
        if tail < self.first:
            self.flow[tail][head] = self.flow[tail].get(head, 0) + amount
            self.held[head].add(tail)
        else:
            left = self.flow[head][tail] - amount
            if left:
                self.flow[head][tail] = left
            else:
                del self.flow[head][tail]
                self.held[tail].discard(head)


@dataclass(slots=True)
class Kind:
    """Queues that ``takers`` (positions of members) may take.

    ``kept``: member to how many of these queues it can keep; together these are no more than there are queues, except
    where every queue has several owners (``shared``).
    """

    takers: frozenset[int]
    shared: bool = False
    queues: list[Queue] = field(default_factory=list)
    kept: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """Members (positions) who get ``level`` or ``level + 1`` queues each, all from these kinds."""

    level: int
    members: tuple[int, ...]
    kinds: tuple[Kind, ...]


def blocks_of(bundles: Sequence[Bundle], levels: Sequence[Level]) -> list[list[tuple[Bundle, frozenset[int]]]]:
    """Per level the bundles whose units go there, each with the classes of that level that take them."""
    place = {each: n for n, level in enumerate(levels) for each in level.classes}
    blocks: list[list[tuple[Bundle, frozenset[int]]]] = [[] for _ in levels]
    for bundle in bundles:
        lowest = max(place[each] for each in bundle.classes)
        blocks[lowest].append((bundle, bundle.classes & levels[lowest].classes))
    return blocks


def queues_by_kind(
    topics: Mapping[str, Sequence[Queue]],
    problem: Problem,
    levels: Sequence[Level],
    owners: Mapping[Queue, tuple[int, ...]],
) -> list[Block]:
    """The blocks with their kinds of queues, those of ``topics``.

    ``owners``: queue to the positions of the members who own it today and subscribe to its topic.
    """
    blocks = []
    for level, bundles in zip(levels, blocks_of(problem.bundles, levels), strict=True):
        kinds: dict[tuple[frozenset[int], tuple[int, ...]], Kind] = {}
        takers_of: dict[frozenset[int], frozenset[int]] = {}
        for bundle, classes in bundles:
            if classes not in takers_of:
                takers_of[classes] = frozenset(member for number in classes for member in problem.classes[number])
            takers = takers_of[classes]
            for topic in bundle.topics:
                for queue in topics[topic]:
                    keepers = tuple(owner for owner in owners.get(queue, ()) if owner in takers)
                    key = classes, keepers if len(keepers) > 1 else ()
                    kind = kinds.get(key)
                    if kind is None:
                        kind = kinds[key] = Kind(takers, shared=len(keepers) > 1)
                    kind.queues.append(queue)
                    for keeper in keepers:
                        kind.kept[keeper] = kind.kept.get(keeper, 0) + 1
        members = sorted(member for each in level.classes for member in problem.classes[each])
        blocks.append(Block(level.level, tuple(members), tuple(kinds.values())))
    return blocks
