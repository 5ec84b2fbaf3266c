"""Sharing by load (`protocols.load_aware`): CPU seconds, moves and their bound, for groups of 12 to 1,000 queues.

Peer: HiGHS, a solver of mixed-integer programs, on the same problems: least moves after which no member has more than
it can do, with a limit of 30 s. Its own bound is beside ours. Budget: where it proves the least number of moves, ours
is within two of it (and no bound of ours is above it); 20 s for 1,000 queues.

Part of `benchmarks.allocations`.
"""

import random
import time
from fractions import Fraction

import highspy
from tabulate import tabulate

from protocols.load_aware import Problem, share_out

SIZES = ((12, 4, 0.7, 1.2), (24, 6, 0.7, 1.2), (48, 8, 0.7, 1.1), (100, 10, 0.5, 1.1), (200, 20, 0.5, 1.1))
"""Queues, members, the exponent of Zipf's law, and capacity over what is needed."""
LARGE = (1_000, 50, 0.5, 1.1)
LIMIT_S, WITHIN, LARGE_S = 30.0, 2, 20.0


def problem(queues: int, members: int, exponent: float, slack: float, seed: int, some: bool) -> Problem:
    """Queues owned at random. ``some``: each has half of the members as its takers."""
    draw = random.Random(f"{queues} {members} {seed} {some}")
    needs = [int(1e6 * (rank + 1) ** -exponent * draw.uniform(0.5, 1.5)) + 1 for rank in range(queues)]
    takers = [
        tuple(sorted(draw.sample(range(members), max(2, members // 2)))) if some else tuple(range(members))
        for _ in needs
    ]
    capacity = int(sum(needs) / members * slack)
    return Problem(needs, takers, [capacity] * members, [draw.choice(each) for each in takers], [1] * queues)


def by_highs(given: Problem) -> tuple[float | None, float]:
    """Its least number of moves, None where it finds no assignment, and its bound."""
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("time_limit", LIMIT_S)
    owns = [{member: solver.addBinary() for member in takers} for takers in given.takers]
    for member, capacity in enumerate(given.capacity):
        load = [given.need[queue] * of[member] for queue, of in enumerate(owns) if member in of]
        solver.addConstr(solver.qsum(load) <= capacity)
    for of in owns:
        solver.addConstr(solver.qsum(of.values()) == 1)
    solver.minimize(solver.qsum([1 - of[owner] for of, owner in zip(owns, given.owner, strict=True)]))
    info = solver.getInfo()
    found = info.primal_solution_status == 2
    return (info.objective_function_value if found else None), info.mip_dual_bound


def by_load() -> None:
    """Print the table, and fail where a budget is missed."""
    rows = []
    for size in (*SIZES, LARGE):
        for some in (False, True):
            given = problem(*size, seed=1, some=some)
            began = time.process_time()
            ours = share_out(given, hysteresis=Fraction(0))
            ours_s = time.process_time() - began
            began = time.process_time()
            moves, bound = by_highs(given)
            theirs_s = time.process_time() - began
            proven = moves is not None and bound > moves - 1 + 1e-6
            if ours.within and proven:
                assert ours.cost_at_least <= moves <= ours.cost <= moves + WITHIN, (size, some, ours.cost, moves)
            at_least = ours.cost if ours.searched else ours.cost_at_least
            rows.append(
                (
                    *size[:2],
                    "half" if some else "all",
                    ours.within,
                    ours.cost,
                    at_least,
                    ours_s,
                    "-" if moves is None else round(moves),
                    round(bound, 1),
                    theirs_s,
                )
            )
            assert size != LARGE or ours_s <= LARGE_S, ours_s
    head = ["queues", "members", "takers", "drains", "moves", "at least", "s", "HiGHS", "its bound", "its s"]
    print(tabulate(rows, headers=head, floatfmt=".2f"))
