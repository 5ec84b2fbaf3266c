"""What one who knows all could reach in `burst` without its noise: `python -m tools.loads.bounds` prints it.

Without noise queues are of two kinds, hot and others, so a member is what it has of each. The records older than an age
that it adds are computed once for each such pair, and all ways to share are compared: the least age that 99 % of all
records have, where the group is shared once, before the burst, and moves cost nothing.
"""

from bisect import bisect_left
from functools import cache

import numpy as np

from tools.loads.day import Floats, ages_of
from tools.loads.families import BURST_RATE, BURST_S, CAPACITY, OTHER_RATE, QUEUES, SECONDS

MEMBERS, HOT = 6, 4
AFTER_S = 120
"""In which a member must have handled what the burst has left, and has least to do until then."""

AGES = tuple(float(age) for age in np.arange(0.5, 40.0, 0.05))
"""Seconds, in which ages are looked for; none is below the first one."""

ROUNDING = 1e-6

Contents = tuple[tuple[int, int], ...]
"""Of each member its hot queues and its others."""


@cache
def member_ages(hot: int, others: int, burst_s: int) -> tuple[Floats, Floats] | None:
    """Ages and numbers of the records of a member with such queues, from the burst's first second on; None where it
    has not handled all in time. Queues of a kind fare alike."""
    counts = (hot, others)
    rates = np.full((burst_s + AFTER_S, 2), OTHER_RATE)
    rates[:burst_s, 0] = BURST_RATE
    handled = np.zeros((len(rates) + 1, 2))
    waiting = [0.0, 0.0]
    for second, come in enumerate(rates.tolist()):
        waiting = [left + more for left, more in zip(waiting, come, strict=True)]
        free, readers = CAPACITY, hot + others
        # As `tools.loads.day.live`, for all queues of a kind at once.
        for kind in sorted((0, 1), key=waiting.__getitem__):
            if counts[kind]:
                amount = min(waiting[kind], free / readers)
                free -= amount * counts[kind]
                readers -= counts[kind]
                waiting[kind] -= amount
                handled[second + 1, kind] = amount
    if any(count and left > ROUNDING for count, left in zip(counts, waiting, strict=True)):
        return None
    ages, records = ages_of(rates, handled)
    return ages, records * np.repeat(counts, len(rates) + 1)


def records_in_all(burst_s: int) -> float:
    """Of half an hour."""
    return SECONDS * QUEUES * OTHER_RATE + burst_s * HOT * (BURST_RATE - OTHER_RATE)


def sharing(burst_s: int, age: float) -> tuple[float, Contents]:
    """The way to share with the fewest records older than this, and their part of all."""
    total = records_in_all(burst_s)
    late = {}
    for hot in range(HOT + 1):
        for others in range(QUEUES - HOT + 1):
            found = member_ages(hot, others, burst_s)
            if found is not None:
                late[hot, others] = float(found[1][found[0] > age + ROUNDING].sum()) / total
    best: dict[tuple[int, int], tuple[float, Contents]] = {(0, 0): (0.0, ())}
    for _ in range(MEMBERS):
        more: dict[tuple[int, int], tuple[float, Contents]] = {}
        for (hot, others), (share, contents) in best.items():
            for (its_hot, its_others), adds in late.items():
                left = hot + its_hot, others + its_others
                if left[0] <= HOT and left[1] <= QUEUES - HOT and (left not in more or share + adds < more[left][0]):
                    more[left] = share + adds, (*contents, (its_hot, its_others))
        best = more
    return best[HOT, QUEUES - HOT]


def least_age(burst_s: int) -> float:
    """The least 99th percentile of the ages that any way to share has, one of `AGES`."""
    return AGES[bisect_left(AGES, True, key=lambda age: sharing(burst_s, age)[0] <= 0.01)]


def age_with(contents: Contents, burst_s: int) -> float:
    """The 99th percentile of the ages where members have these queues, one of `AGES`."""
    found = [member_ages(*each, burst_s) for each in contents]
    allowed = records_in_all(burst_s) / 100

    def meets(age: float) -> bool:
        return sum(each[1][each[0] > age + ROUNDING].sum() if each else allowed + 1 for each in found) <= allowed

    return AGES[bisect_left(AGES, True, key=meets)]


def main() -> None:
    """Print the bounds, who has what, and what comes of it in a burst that is twice as long."""
    for burst_s in (BURST_S // 3, BURST_S, 2 * BURST_S):
        age = least_age(burst_s)
        contents = sharing(burst_s, age)[1]
        longer = f"{age_with(contents, 2 * burst_s):.2f} s in a burst of {2 * burst_s} s"
        print(f"burst of {burst_s} s: {age:.2f} s, hot queues and others: {contents}; {longer}")


if __name__ == "__main__":
    main()
