"""From the fairest loads to who gets which queue."""

from collections.abc import Mapping, Sequence

from compare.measure.optimum.closed_form import one_kind, prices, quotas
from compare.measure.optimum.dealing import deal
from compare.measure.optimum.kinds import queues_by_kind
from compare.measure.optimum.moves import fewest_moves
from compare.measure.optimum.problem import Problem
from compare.measure.optimum.semi_matching import Fairest
from protocols import Queue


def hand_out(
    topics: Mapping[str, Sequence[Queue]],
    problem: Problem,
    answer: Fairest,
    owners: Mapping[Queue, tuple[int, ...]],
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
    topics: Mapping[str, Sequence[Queue]],
    problem: Problem,
    answer: Fairest,
    owners: Mapping[Queue, tuple[int, ...]],
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
        for each, units in shares.items():
            members = problem.classes[each]
            even, more = divmod(units, len(members))
            for n, member in enumerate(members):
                quota[member] = even + ((n - turn[each]) % len(members) < more)
            turn[each] = (turn[each] + more) % len(members)
        found.append(quota)
    return found
