"""Rebalances that belong together: members closed and started again one after another, and a member that comes and goes
again and again.

What is looked for are clean closes and new starts of the same client ids. That somebody deployed, or that it was an
autoscaler, no log tells: it is said as what it looks like.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from compare.logs.identity import client_of
from compare.logs.model import Deploy, Rebalance

_APART_S = 120.0
"""The next member of a run of restarts is closed at most so long after the last thing that happened in it."""

_LEAST_MEMBERS = 2
_LEAST_TURNS = 2
_NEAR = 10
"""Rebalances back in which a first start is looked for."""


@dataclass(slots=True)
class _Run:
    """Moves of members that follow each other: where, who, whether it left."""

    moves: list[tuple[int, str, bool]]
    last: float


def with_deploys(rebalances: Sequence[Rebalance]) -> tuple[list[Rebalance], list[Deploy]]:
    """The rebalances with the numbers of the runs that they belong to, and the runs."""
    found = list(rebalances)
    deploys: list[Deploy] = []
    for run in _runs(rebalances):
        kind, members = _kind(run)
        if not kind:
            continue
        while kind == "restarts" and _closes_for_good(run):
            run.moves.pop()
        places = [place for place, name, _ in run.moves if name in members]
        number = len(deploys) + 1
        first, last = rebalances[places[0]], rebalances[places[-1]]
        deploys.append(Deploy(number, kind, members, first.at, last.over))
        for place in places:
            found[place] = replace(found[place], deploy=number)
    return found, deploys


def _runs(rebalances: Sequence[Rebalance]) -> list[_Run]:
    runs: list[_Run] = []
    away: set[str] = set()
    doubled = _doubled(rebalances)
    for place, each in enumerate(rebalances):
        moves = [
            (place, client_of(member), cause.name == "member_left")
            for cause in each.causes
            if cause.name in {"member_left", "member_joined"} and cause.behind != "exception"
            for member in cause.members
            if client_of(member) not in doubled
        ]
        for _, name, left in moves:
            goes_on = bool(runs) and each.at - runs[-1].last <= _APART_S
            if not goes_on and left:
                runs.append(_Run([], each.at))
                away = set()
                goes_on = True
            known = left or name in away or _turns(runs[-1] if runs else None, name)
            if goes_on and known:
                runs[-1].moves.append((place, name, left))
                runs[-1].last = each.over
            (away.add if left else away.discard)(name)
    for run in runs:  # the first start of a member that then comes and goes
        place, name, _ = run.moves[0]
        near = range(place - 1, max(0, place - _NEAR), -1)
        began = next((number for number in near if _only_joined(rebalances[number], name)), None)
        turns = sum(known == name and left for _, known, left in run.moves)
        if began is not None and turns >= _LEAST_TURNS and rebalances[place].at - rebalances[began].over <= _APART_S:
            run.moves.insert(0, (began, name, False))
    return runs


def _doubled(rebalances: Sequence[Rebalance]) -> set[str]:
    """Client ids that several members have at a time, which tell no member from another."""
    found: set[str] = set()
    for each in rebalances:
        for members in (each.after or (), each.joined):
            found |= {name for name, count in Counter(map(client_of, members)).items() if count > 1}
    return found


def _only_joined(each: Rebalance, name: str) -> bool:
    joined = [member for cause in each.causes if cause.name == "member_joined" for member in cause.members]
    return [client_of(member) for member in joined] == [name]


def _closes_for_good(run: _Run) -> bool:
    """Whether the last that happened is the close of a member that had been started again before."""
    _, name, left = run.moves[-1]
    return left and any(known == name and not gone for _, known, gone in run.moves[:-1])


def _turns(run: _Run | None, name: str) -> bool:
    return run is not None and any(known == name for _, known, _ in run.moves[-4:])


def _kind(run: _Run) -> tuple[str, tuple[str, ...]]:
    left = Counter(name for _, name, gone in run.moves if gone)
    back = Counter(name for _, name, gone in run.moves if not gone)
    names = list(dict.fromkeys(name for _, name, _ in run.moves))
    if len(left) == 1 and (name := next(iter(left))) and left[name] >= _LEAST_TURNS and back[name] >= _LEAST_TURNS - 1:
        return "flapping", (name,)
    restarted = [name for name in names if left[name] and back[name]]
    gone: dict[int, int] = defaultdict(int)
    for place, _, left_ in run.moves:
        gone[place] += left_
    if len(restarted) >= _LEAST_MEMBERS and max(left.values()) < _LEAST_TURNS + 1:
        return "restarts", tuple(name for name in names if left[name] or back[name])
    return "", ()
