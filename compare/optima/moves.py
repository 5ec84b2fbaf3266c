"""From the fairest loads to who gets which queue, with fewest moves.

Where everybody in a block may take every queue of it, counting is enough. With `level` = l, members who own more than
l + 1 queues must give the rest up; those who own less than l must be given. The larger of these two counts (with queues
whose owner is gone, and without those that nobody owns yet) bounds the moves from below, and giving the larger shares
to those who own most reaches it.

In any other block it is a flow of kinds of queues to members at least cost (primal-dual).

Everything stays where it is to begin with. That costs nothing, but some members have more than `level + 1` queues, some
less than `level`, and some queues nobody. A queue that its taker does not own today costs 1, one that it owns
costs 0, and the surplus goes where it is wanted along cheapest paths. Each node has a potential, its distance from the
surplus so far; an arc of cost c from u to v is on a cheapest path if potential(v) = potential(u) + c. In the end the
potentials of the members prove that no other distribution moves less: they are the prices of the certificate.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from compare.optima.semi_matching import Block, Fairest, Problem, drain, queues_by_kind
from protocols import Group, Queue


def one_kind(block: Block) -> bool:
    """Whether the closed form answers for this block: one kind of queue, nothing with two owners."""
    return len(block.kinds) == 1 and not block.kinds[0].shared


def quotas(block: Block) -> dict[int, int]:
    """Member to its number of queues, such that most queues stay where they are today."""
    (kind,) = block.kinds
    larger = len(kind.queues) - block.level * len(kind.takers)
    order = sorted(kind.takers, key=lambda member: (-kind.kept.get(member, 0), member))
    return {member: block.level + (place < larger) for place, member in enumerate(order)}


def prices(block: Block) -> dict[int, int]:
    """Member to its price (see `certificate`): those who must give up, or those who must be given."""
    (kind,) = block.kinds
    kept = {member: kind.kept.get(member, 0) for member in kind.takers}
    too_many = sum(max(0, count - block.level - 1) for count in kept.values())
    too_few = sum(max(0, block.level - count) for count in kept.values())
    # Queues that no member keeps have to be taken by somebody in any case.
    if too_many + len(kind.queues) - sum(kept.values()) >= too_few:
        return {member: -int(kept.get(member, 0) > block.level + 1) for member in block.members}
    return {member: int(kept.get(member, block.level) < block.level) for member in block.members}


def deal(
    queues: Iterable[Queue], quotas: Mapping[int, int], owners: Mapping[Queue, tuple[int, ...]]
) -> dict[int, list[Queue]]:
    """Members (positions) to as many of these queues as their quota says; together as many as there are.

    Owners keep what their quota lets them, in the order of the queues; the rest is dealt round and round.
    """
    given: dict[int, list[Queue]] = {member: [] for member in quotas}
    left = dict(quotas)
    rest = []
    for queue in queues:
        for owner in owners.get(queue, ()):
            if left.get(owner):
                given[owner].append(queue)
                left[owner] -= 1
                break
        else:
            rest.append(queue)
    rest.reverse()
    while rest:
        for member, count in left.items():
            if count:
                given[member].append(rest.pop())
                left[member] = count - 1
    return given


def owners_today(group: Group, today: Mapping[str, Iterable[Queue]] | None) -> dict[Queue, tuple[int, ...]]:
    """Queue to the positions of the members that own it today and subscribe to its topic."""
    found: dict[Queue, tuple[int, ...]] = {}
    for position, member in enumerate(group.members):
        if today is None or member.id not in today:
            continue
        subscription = set(member.subscription)
        for queue in today[member.id]:
            if queue.topic in subscription:
                found[queue] = (*found.get(queue, ()), position)
    return found


def fewest_moves(block: Block) -> tuple[list[dict[int, int]], dict[int, int]]:
    """Per kind of the block: member to its number of queues; and the price of every member."""
    network = _Transport(block)
    network.run()
    first, sink = network.first, network.sink
    flow = [
        {block.members[node - first]: count for node, count in sorted(flow.items()) if count} for flow in network.flow
    ]
    base = network.potential[sink]
    return flow, {member: network.potential[first + n] - base for n, member in enumerate(block.members)}


class _Transport:
    """Nodes: kinds from 0 on, members from ``first`` on, and the sink to which each member passes its queues on.

    A member passes on `level` queues or one more; ``flow[kind][member]`` beyond ``kept[kind][member]`` are moves.
    """

    def __init__(self, block: Block) -> None:
        self.level = block.level
        self.first = len(block.kinds)
        self.sink = self.first + len(block.members)
        node = {member: self.first + n for n, member in enumerate(block.members)}
        self.amount = [len(kind.queues) for kind in block.kinds]
        self.takers = [{node[member] for member in kind.takers} for kind in block.kinds]
        self.kept = [{node[member]: count for member, count in kind.kept.items()} for kind in block.kinds]
        # A queue with several owners cannot stay with all of them: it starts with nobody.
        self.flow = [{} if kind.shared else dict(kept) for kind, kept in zip(block.kinds, self.kept, strict=True)]
        self.held: list[set[int]] = [set() for _ in range(self.sink)]
        for kind, flow in enumerate(self.flow):
            for member in flow:
                self.held[member].add(kind)
        self.potential = [0] * (self.sink + 1)
        self.at = {0: set(range(self.first, self.sink))}
        self.passed = [0] * self.sink

    def run(self) -> None:
        """Send all surplus to where it is wanted, nearest first."""
        surplus, wanted = self._imbalance()
        while any(surplus.values()):
            self._advance(surplus, wanted)
            drain(self, range(self.sink + 1), surplus, wanted)

    def _imbalance(self) -> tuple[dict[int, int], dict[int, int]]:
        have = {kind: self.amount[kind] - sum(flow.values()) for kind, flow in enumerate(self.flow)}
        for member in range(self.first, self.sink):
            load = sum(self.flow[kind][member] for kind in self.held[member])
            self.passed[member] = min(max(load, self.level), self.level + 1)
            have[member] = load - self.passed[member]
        have[self.sink] = sum(self.passed) - sum(self.amount)
        return (
            {node: amount for node, amount in have.items() if amount > 0},
            {node: -amount for node, amount in have.items() if amount < 0},
        )

    def _advance(self, surplus: dict[int, int], wanted: dict[int, int]) -> None:
        """Raise the potentials by the distances from the surplus, up to the nearest node where something is wanted.

        Distances are in reduced costs, which no arc has below 0, so nodes are settled in the order of a bucket queue.
        From a kind to the members at one potential is one entry, not one for each member.
        """
        potential = self.potential
        distance: dict[int, int] = {}
        unsettled = set(range(self.first, self.sink))
        single: dict[int, list[int]] = {0: [node for node, amount in surplus.items() if amount]}
        several: dict[int, list[tuple[int, int]]] = {}
        reach = 0
        while True:
            ready = single.get(reach, [])
            more = several.get(reach, [])
            while ready or more:
                if ready:
                    nodes = [ready.pop()]
                else:
                    kind, height = more.pop()
                    nodes = sorted(self.takers[kind] & self.at[height] & unsettled)
                for node in nodes:
                    if node in distance:
                        continue
                    distance[node] = reach
                    if wanted.get(node):
                        self._raise(distance, reach)
                        return
                    unsettled.discard(node)
                    here = reach + potential[node]
                    if node < self.first:
                        for height in self.at:
                            if height <= potential[node] + 1:
                                several.setdefault(here + 1 - height, []).append((node, height))
                    for head, cost in self._cheap_arcs(node):
                        single.setdefault(here + cost - potential[head], []).append(head)
                ready = single.get(reach, [])
                more = several.get(reach, [])
            reach += 1
            if reach > max((*single, *several)):
                raise AssertionError("a block has more queues than its members can take")

    def _cheap_arcs(self, node: int) -> list[tuple[int, int]]:
        """The arcs with room that do not make a move, with their costs."""
        if node < self.first:
            flow = self.flow[node]
            return [(member, 0) for member, count in self.kept[node].items() if flow.get(member, 0) < count]
        if node == self.sink:
            return [(m, 0) for m in range(self.first, self.sink) if self.passed[m] > self.level]
        arcs = [(kind, -int(self.flow[kind][node] > self.kept[kind].get(node, 0))) for kind in sorted(self.held[node])]
        return [*arcs, (self.sink, 0)] if self.passed[node] == self.level else arcs

    def _raise(self, distance: dict[int, int], limit: int) -> None:
        for node in range(self.sink + 1):
            self.potential[node] += distance.get(node, limit)
        self.at = {}
        for member in range(self.first, self.sink):
            self.at.setdefault(self.potential[member], set()).add(member)

    def onward(self, node: int, among: AbstractSet[int]) -> list[int]:
        """Along arcs of cheapest paths only."""
        here = self.potential[node]
        if node < self.first:
            moved = self.takers[node] & self.at.get(here + 1, set()) & among
            flow = self.flow[node]
            kept = [
                member
                for member, count in self.kept[node].items()
                if member in among and self.potential[member] == here and flow.get(member, 0) < count
            ]
            return sorted((*moved, *kept))
        if node == self.sink:
            level = self.at.get(here, set()) & among
            return sorted(member for member in level if self.passed[member] > self.level)
        return sorted(
            head for head, cost in self._cheap_arcs(node) if head in among and self.potential[head] == here + cost
        )

    def room(self, tail: int, head: int) -> int:
        """For arcs that `onward` named."""
        if head == self.sink:
            return self.level + 1 - self.passed[tail]
        if tail == self.sink:
            return self.passed[head] - self.level
        if tail < self.first:
            moved = self.potential[head] > self.potential[tail]
            return self.amount[tail] if moved else self.kept[tail][head] - self.flow[tail].get(head, 0)
        count = self.flow[head].get(tail, 0)
        moved = self.potential[head] < self.potential[tail]
        return count - self.kept[head].get(tail, 0) if moved else count

    def push(self, tail: int, head: int, amount: int) -> None:
        """Send queues along an arc."""
        if head == self.sink:
            self.passed[tail] += amount
        elif tail == self.sink:
            self.passed[head] -= amount
        elif tail < self.first:
            self.flow[tail][head] = self.flow[tail].get(head, 0) + amount
            self.held[head].add(tail)
        else:
            self.flow[head][tail] -= amount
            if not self.flow[head][tail]:
                self.held[tail].discard(head)


def hand_out(
    topics: Mapping[str, Sequence[Queue]], problem: Problem, answer: Fairest, owners: Mapping[Queue, tuple[int, ...]]
) -> tuple[dict[int, list[Queue]], dict[int, int]]:
    """Member (position) to its queues in a fairest allocation that moves least, and member to its price.

    ``owners``: queue to the positions of those who own it today and subscribe to its topic.
    """
    owned: dict[int, list[Queue]] = {member: [] for members in problem.classes for member in members}
    price: dict[int, int] = {}
    for block in queues_by_kind(topics, problem, answer.levels, owners):
        if one_kind(block):
            flow = [quotas(block)]
            price |= prices(block)
        else:
            flow, found = fewest_moves(block)
            price |= found
        for kind, shares in zip(block.kinds, flow, strict=True):
            for member, queues in deal(kind.queues, shares, owners).items():
                owned[member] += queues
    return owned, price


def hand_out_anyhow(
    topics: Mapping[str, Sequence[Queue]], problem: Problem, answer: Fairest, owners: Mapping[Queue, tuple[int, ...]]
) -> tuple[dict[int, list[Queue]], dict[int, int]]:
    """As `hand_out`, at the price 0 for everybody: owners keep what they happen to be left with."""
    owned: dict[int, list[Queue]] = {member: [] for members in problem.classes for member in members}
    for bundle, shares in zip(problem.bundles, _shares(problem, answer.flow), strict=True):
        queues = [queue for topic in bundle.topics for queue in topics[topic]]
        for member, given in deal(queues, shares, owners).items():
            owned[member] += given
    return owned, dict.fromkeys(owned, 0)


def _shares(problem: Problem, flow: Sequence[Mapping[int, int]]) -> list[dict[int, int]]:
    """Per bundle: member to its number of queues, where each class shares what it has evenly."""
    turn = [0] * len(problem.classes)
    found = []
    for shares in flow:
        quota = {}
        for key, units in shares.items():
            members = problem.classes[key]
            even, more = divmod(units, len(members))
            for n, member in enumerate(members):
                quota[member] = even + ((n - turn[key]) % len(members) < more)
            turn[key] = (turn[key] + more) % len(members)
        found.append(quota)
    return found
