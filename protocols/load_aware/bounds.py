"""What no assignment can undercut, as claims that anybody can check by adding up.

**Prices.** Let each member m have a price p(m) of 0 or more per unit of need that it takes, and each unit of cost the
price r. An assignment with the utilisation U and the cost K pays, queue by queue, need times the price of the taker,
and r times the cost where the queue moves. Per queue that is at least what its cheapest taker would pay; in all it is
at most U times the sum of p(m) times the capacity of m, plus r times K. So

    sum over queues of the cheapest  <=  U * sum over members of p * capacity  +  r * K

which bounds U from below where K is known, and K where U is. It is the dual of the linear program in which queues may
be split; its best prices say exactly how good an assignment of split queues can be.

**Departures.** Queues cannot be split. A member whose queues need more than it may take must give up some: at least so
many that the heaviest of them suffice (by cost: at least what the cheapest part of each would cost, rounded up). What
different members give up are different moves, so these numbers add up.

**One queue.** Somebody gets the whole of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from protocols.load_aware.problem import NOBODY, Problem


@dataclass(frozen=True, slots=True)
class Prices:
    """Whole numbers of 0 or more. ``of_member``: per unit of need; members that are left out have the price 0.
    ``of_cost``: per unit of cost."""

    of_member: Mapping[int, int]
    of_cost: int = 0

    def paid(self, problem: Problem) -> int:
        """What every assignment pays at least."""
        of, of_cost = self.of_member, self.of_cost
        cheapest = [min([of.get(member, 0) for member in takers]) for takers in problem.kinds]
        total = 0
        for need, kind, owner, cost in zip(problem.need, problem.kind_of, problem.owner, problem.cost, strict=True):
            paid = need * cheapest[kind]
            if owner != NOBODY and of_cost:
                paid = min(paid + of_cost * cost, need * of.get(owner, 0))
            total += paid
        return total

    def of_capacity(self, problem: Problem) -> int:
        """What all capacity is worth."""
        return sum(price * problem.capacity[member] for member, price in self.of_member.items())


Departures = Mapping[int, int]
"""Member to the least cost of the queues that it must give up."""


def utilisation_at_least(prices: Prices, problem: Problem, cost: int = 0) -> Fraction:
    """The utilisation that some member has in every assignment of this cost or less."""
    worth = prices.of_capacity(problem)
    return Fraction(max(0, prices.paid(problem) - prices.of_cost * cost), worth) if worth else Fraction(0)


def moves_at_least(prices: Prices, problem: Problem, level: Fraction) -> int:
    """The cost of every assignment in which no utilisation is above this level; ``of_cost`` must be above 0."""
    surplus = level.denominator * prices.paid(problem) - level.numerator * prices.of_capacity(problem)
    return max(0, -(-surplus // (level.denominator * prices.of_cost)))


def departures_hold(departures: Departures, problem: Problem, level: Fraction) -> bool:
    """Whether each member must give up queues of so much cost, however they were found."""
    room = problem.room(level)
    return all(cost <= _departures_of(problem, member, room[member])[0] for member, cost in departures.items())


def departures(problem: Problem, level: Fraction) -> dict[int, int]:
    """Of each member that owns more than it may at this level, what it must give up at least."""
    room = problem.room(level)
    found = {member: _departures_of(problem, member, room[member])[0] for member in range(len(room))}
    return {member: cost for member, cost in found.items() if cost}


def _departures_of(problem: Problem, member: int, room: int) -> tuple[int, int]:
    """The least cost to give up, rounded up to a whole number, and the price per unit of the queue that is cut, where a
    unit of cost has the price `UNIT`."""
    need, cost = problem.need, problem.cost
    owned = problem.owned[member]
    excess = sum(need[queue] for queue in owned) - room
    whole = 0
    if excess <= 0:
        return 0, 0
    for queue in sorted(owned, key=lambda queue: (-Fraction(need[queue], cost[queue]), queue)):
        if need[queue] >= excess:
            return whole + -(-cost[queue] * excess // need[queue]), UNIT * cost[queue] // need[queue]
        whole += cost[queue]
        excess -= need[queue]
    raise AssertionError("a member without queues needs nothing")


UNIT = 1 << 40
"""The price of a unit of cost: so large that whole prices are as good as broken ones."""


def prices_of_departures(problem: Problem, level: Fraction) -> Prices:
    """What a unit less would be worth to each member that owns more than it may at this level."""
    room = problem.room(level)
    found = {member: _departures_of(problem, member, room[member])[1] for member in range(len(room))}
    return Prices({member: price for member, price in found.items() if price}, UNIT)


ROUNDS = 60
"""Steps towards better prices; each looks at every queue."""


def better_prices(problem: Problem, level: Fraction, found: int) -> Prices:
    """Prices that prove more moves than `prices_of_departures` where queues must go through other members' hands.

    A subgradient method: a member's price rises while more would be laid on it than it may take. ``found``: the cost
    of an assignment that is known, which is no less than any bound.
    """
    best = prices_of_departures(problem, level)
    proven = moves_at_least(best, problem, level)
    room = [float(level * capacity) for capacity in problem.capacity]
    prices = [best.of_member.get(member, 0) / UNIT for member in range(len(room))]
    for number in range(ROUNDS):
        laid, paid = _laid(problem, prices)
        value = paid - sum(map(float.__mul__, prices, room))
        if value > proven:
            whole = {member: int(price * UNIT) for member, price in enumerate(prices) if price}
            tried = Prices(whole, UNIT)
            exact = moves_at_least(tried, problem, level)
            if exact > proven:
                best, proven = tried, exact
        slope = [
            load - most if load > most or price else 0.0 for load, most, price in zip(laid, room, prices, strict=True)
        ]
        length = sum(each * each for each in slope)
        if not length or proven >= found:
            break
        step = (found - value) / length / (1 + number / 10)
        prices = [max(0.0, price + step * each) for price, each in zip(prices, slope, strict=True)]
    return best


def _laid(problem: Problem, prices: Sequence[float]) -> tuple[list[float], float]:
    """What lies on each member where every queue goes to its cheapest taker, and what is paid in all."""
    laid = [0.0] * len(prices)
    paid = 0.0
    cheapest = [min(takers, key=prices.__getitem__) for takers in problem.kinds]
    for need, kind, owner, cost in zip(problem.need, problem.kind_of, problem.owner, problem.cost, strict=True):
        taker = cheapest[kind]
        pays = need * prices[taker]
        if owner != NOBODY:
            pays += cost
            if need * prices[owner] <= pays:
                taker, pays = owner, need * prices[owner]
        laid[taker] += need
        paid += pays
    return laid, paid


def densest(problem: Problem) -> Prices:
    """The best prices where moves cost nothing: 1 for the members that have, together, most to do for their capacity.

    Starting with all members, the level is lowered from one set's to the next denser one's (Dinkelbach): at a level,
    a cut through the flow from queues to members shows a set that needs more than it can take, if there is one.
    """
    kinds = dict.fromkeys(problem.kinds, 0)
    for need, takers in zip(problem.need, problem.takers, strict=True):
        kinds[takers] += need
    capacity = problem.capacity
    members = sorted({member for takers in kinds for member in takers})
    if len(kinds) < 2:
        return Prices(dict.fromkeys(members, 1))
    import networkx as nx  # so late, because commands that only list strategies shall start at once

    while True:
        level = Fraction(
            sum(need for takers, need in kinds.items() if set(takers) <= set(members)), _sum(capacity, members)
        )
        if not level:
            break
        graph: nx.DiGraph[tuple[str, object]] = nx.DiGraph()
        for takers, need in kinds.items():
            graph.add_edge(("from", 0), ("kind", takers), capacity=need * level.denominator)
            for member in takers:
                graph.add_edge(("kind", takers), ("member", member))
        for member in range(len(capacity)):
            graph.add_edge(("member", member), ("to", 0), capacity=capacity[member] * level.numerator)
        value, (source, _) = nx.minimum_cut(graph, ("from", 0), ("to", 0))
        if value >= sum(kinds.values()) * level.denominator:
            break
        members = sorted(member for side, member in source if side == "member" and isinstance(member, int))
    return Prices(dict.fromkeys(members, 1))


def _sum(capacity: Sequence[int], members: Sequence[int]) -> int:
    return sum(capacity[member] for member in members)


def largest_alone(problem: Problem) -> Fraction:
    """The utilisation that the one queue causes which suits its best taker least."""
    best = [max([problem.capacity[member] for member in takers]) for takers in problem.kinds]
    largest = [0] * len(best)
    for need, kind in zip(problem.need, problem.kind_of, strict=True):
        largest[kind] = max(largest[kind], need)
    return max(map(Fraction, largest, best), default=Fraction(0))


def prices_of_the_busiest(problem: Problem, cost: int) -> Prices:
    """The prices that prove most of what members keep, whatever moves for this cost: those of the busiest ones today.

    Of each number of busiest members the queues with most need per cost leave, as many as the cost allows; the price of
    a unit of cost is what the last of them brings.
    """
    loads = problem.loads(problem.owner)
    busiest = sorted(range(len(loads)), key=lambda member: (-loads[member] / problem.capacity[member], member))
    best, proven = Prices({}), Fraction(-1)
    queues: list[int] = []
    for count, member in enumerate(busiest[:MOST_TOGETHER], 1):
        queues = sorted([*queues, *problem.owned[member]], key=lambda q: (-problem.need[q] / problem.cost[q], q))
        left, price, of_cost = cost, 1, 0
        for queue in queues:
            left -= problem.cost[queue]
            if left < 0:
                price, of_cost = problem.cost[queue], problem.need[queue]
                break
        tried = Prices(dict.fromkeys(busiest[:count], price), of_cost)
        value = utilisation_at_least(tried, problem, cost)
        if value > proven:
            best, proven = tried, value
    return best


MOST_TOGETHER = 16
"""Busiest members that are looked at together."""
