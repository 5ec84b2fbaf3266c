"""Sharing queues by load: who gets which queue so that what waits is handled in time, and little moves.

A queue *needs* a part of a member's time: for the records that come, at their rate, and for those that wait, spread
over the limit in which they shall be gone. A member's *utilisation* is what its queues need over its capacity. The
aims, in this order:

1. every member's utilisation is at most 1, so that every queue drains within the limit, if any assignment does that;
   if none does, or no capacity is known, the largest utilisation is within the hysteresis of the least possible one;
2. the queues that change their owner cost least;
3. the largest utilisation is the least that this cost allows.

Nothing moves while today's owners meet the first aim. Where something must move, it leads to a utilisation of at most
1 less the hysteresis, if any assignment does, so that noise of that size is no reason for the next move.

The first aim is bin packing, which is NP-hard. So three parts work together: `drafts` finds good assignments by single
moves and swaps, `bounds` proves from prices what no assignment can undercut, and `search` closes what is left between
them, branch by branch, as long as its budget of steps lasts. All loads are whole numbers: nothing is rounded, and the
same input gives the same answer everywhere.
"""

from protocols.load_aware.bounds import Departures, Prices, departures_hold, moves_at_least, utilisation_at_least
from protocols.load_aware.paying import Flows, pays
from protocols.load_aware.problem import Problem
from protocols.load_aware.rates import at_equal_members, checked_rates, rate_in
from protocols.load_aware.sharing import Shared, share_out

__all__ = [
    "Departures",
    "Flows",
    "Prices",
    "Problem",
    "Shared",
    "at_equal_members",
    "checked_rates",
    "departures_hold",
    "moves_at_least",
    "pays",
    "rate_in",
    "share_out",
    "utilisation_at_least",
]
