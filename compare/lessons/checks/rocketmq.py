"""Notebook 3: everyone allocates for himself."""

from collections.abc import Iterable, Mapping

from compare.lessons.checks.kinds import Exercise, is_several, is_text, is_whole, mapping, several
from protocols import Group
from rocketmq_selfbalance import View, allocate


def _group(queues: int, members: int) -> Group:
    names = [f"c{at}" for at in range(1, members + 1)]
    return Group.of(topics={"orders": queues}, members={name: ["orders"] for name in names})


def _doubled(answer: Iterable[int]) -> str | None:
    found = allocate("AVG", _group(8, 4), views={name: View(members=["c1", "c2"]) for name in ("c1", "c2")})
    right = {queue.number for queue in found.double_owned}
    given = set(answer)
    if given - right:
        return f"Queue {min(given - right)} has one owner: which other member would compute it as its own?"
    if right - given:
        return "More queues have two owners. What do the two members compute that see half of the group?"
    return None


def _seen(answer: Mapping[str, Iterable[str]]) -> str | None:
    if sorted(answer) != ["c1", "c2", "c3"]:
        return "Give for each of c1, c2 and c3 the ids that it sees."
    for member, listed in answer.items():
        if member not in listed:
            return f"{member} does not see itself. (It would release all its queues, which is correct but too easy.)"
    views = {member: View(members=list(listed)) for member, listed in answer.items()}
    found = allocate("AVG", _group(6, 3), views=views)
    if found.double_owned:
        return f"Queue {found.double_owned[0].number} has two owners: {', '.join(found.owners[found.double_owned[0]])}."
    if not found.unowned:
        return "Every queue has an owner. What if a member sees another that no longer exists?"
    return None


EXERCISES = {
    "3.1": Exercise(
        several("a set of queue numbers from 0 to 7", lambda each: is_whole(each, least=0, most=7)),
        _doubled,
        "A member that sees fewer members than exist takes too many queues.",
    ),
    "3.2": Exercise(
        mapping("a mapping from each member to the list of ids that it sees", lambda ids: is_several(ids, is_text)),
        _seen,
        "A member that sees members that do not exist leaves queues to them.",
    ),
}
"""Number to the exercise."""
