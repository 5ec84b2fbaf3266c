"""Rebalances that belong together: members closed and started again one after another, and members that come and go
again and again.

What is looked for are clean closes and new starts of the same client ids. That somebody deployed, or that it was an
autoscaler, no log tells: it is said as what it looks like.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.logs.identity import client_of
from compare.logs.model import Deploy, Rebalance

_APART_S = 120.0
"""The next member of a run of restarts is closed at most so long after the last thing that happened in it."""

_LEAST_MEMBERS = 2
_LEAST_TURNS = 2
_MANY_TURNS = 3
"""Several members closed so often came and went again and again; twice may be a deploy and the next one."""
_NEAR = 10
"""Rebalances back in which a first start is looked for."""


_Move = tuple[int, str, bool]
"""Where, who, whether it left."""


@dataclass(slots=True)
class _Run:
    """Moves of members that follow each other."""

    moves: list[_Move]
    last: float


def with_deploys(rebalances: Sequence[Rebalance]) -> tuple[list[Rebalance], list[Deploy]]:
    """The rebalances with the numbers of the runs that they belong to, and the runs."""
    found = list(rebalances)
    deploys: list[Deploy] = []
    for run in _runs(rebalances):
        for kind, members in _kinds(run, rebalances):
            moves = [move for move in run.moves if move[1] in members]
            if kind == "flapping":
                moves = [*_first_starts(moves, rebalances), *moves]
            while kind == "restarts" and _closes_for_good(moves):
                moves.pop()
            number = len(deploys) + 1
            places = sorted({place for place, _, _ in moves})
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
    return runs


def _first_starts(moves: Sequence[_Move], rebalances: Sequence[Rebalance]) -> list[_Move]:
    """Of members that then come and go: where nobody else joined."""
    members = {name for _, name, _ in moves}
    found: list[_Move] = []
    for name in sorted(members):
        first = next(place for place, known, _ in moves if known == name)
        near = range(first - 1, max(0, first - _NEAR), -1)
        began = next((number for number in near if name in _joined(rebalances[number])), None)
        if began is None or not _joined(rebalances[began]) <= members:
            continue
        if rebalances[first].at - rebalances[began].over <= _APART_S:
            found.append((began, name, False))
    return found


def _doubled(rebalances: Sequence[Rebalance]) -> set[str]:
    """Client ids that several members have at a time, which tell no member from another."""
    found: set[str] = set()
    for each in rebalances:
        for members in (each.after or (), each.joined):
            found |= {name for name, count in Counter(map(client_of, members)).items() if count > 1}
    return found


def _joined(each: Rebalance) -> set[str]:
    return {client_of(member) for cause in each.causes if cause.name == "member_joined" for member in cause.members}


def _closes_for_good(moves: Sequence[_Move]) -> bool:
    """Whether the last that happened is the close of a member that had been started again before."""
    _, name, left = moves[-1]
    return left and any(known == name and not gone for _, known, gone in moves[:-1])


def _turns(run: _Run | None, name: str) -> bool:
    return run is not None and any(known == name for _, known, _ in run.moves[-4:])


def _kinds(run: _Run, rebalances: Sequence[Rebalance]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What the run is, by those of its members that came and went again and again, and by the others."""
    left = Counter(name for _, name, gone in run.moves if gone)
    back = Counter(name for _, name, gone in run.moves if not gone)
    least = _LEAST_TURNS if len(left) == 1 else _least_turns(run, left, rebalances)
    names = dict.fromkeys(name for _, name, _ in run.moves)
    flapping = tuple(name for name in names if left[name] >= least and back[name] >= least - 1)
    if flapping:
        yield "flapping", flapping
    others = [name for name in names if name not in flapping]
    if sum(bool(left[name] and back[name]) for name in others) >= _LEAST_MEMBERS:
        yield "restarts", tuple(others)


def _least_turns(run: _Run, left: Mapping[str, int], rebalances: Sequence[Rebalance]) -> float:
    """How often members of a run are closed that come and go again and again. Those that go together while others stay
    do so twice; all members of a group, one after another, are deployed, however often."""
    members = {name for _, name, _ in run.moves}
    others = any(client_of(name) not in members for place, _, _ in run.moves for name in rebalances[place].after or ())
    away: set[str] = set()
    numbers = []
    for _, name, gone in run.moves:
        (away.add if gone else away.discard)(name)
        numbers.append(len(away) if gone else 0)
    if not others:
        return float("inf") if max(numbers) == 1 else _MANY_TURNS
    is_together = min(left.values()) >= _LEAST_TURNS <= numbers.count(len(members))
    return _LEAST_TURNS if is_together else _MANY_TURNS
