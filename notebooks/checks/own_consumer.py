"""Notebook 9: test your own consumer."""

from typing import Any

from checks.kinds import TOPICS, Exercise, function, lived_through
from compare.testing import assert_fair, assert_no_idle_members, kafka_group

_CALLS = range(3, 31)
_BATCH = 5


def _lived(loop: Any, **where: int) -> tuple[int, int, int, int]:
    """Records handled by the loop, most at once between commits, handled twice, never handled."""
    group = kafka_group(topics={"orders": 2}, members=["other"], produce=2)
    group.settle()
    consumer = group.consumer("mine", {"enable.auto.commit": False})
    handled: list[Any] = []
    handle = group.watch(handled.append)
    if where:
        group.interrupt(with_=lambda: group.crash("mine"), **where)
    lived_through(lambda: group.run(lambda: loop(consumer, handle), seconds=40), "Your loop")
    group.clock.advance(seconds=120)
    commits = sum(each.member == "mine" and not each.error for each in group.timeline.commits)
    return len(handled), commits, len(group.handled_twice()), len(group.never_handled())


def _batches(answer: Any) -> str | None:
    handled, commits, _, never = _lived(answer)
    if handled < 2 * _BATCH:
        return f"In 40 seconds it handled {handled} records. Is every message given to handle?"
    if commits >= handled:
        return f"It committed {commits} times for {handled} records: once per batch is enough."
    if never:
        return f"{never} records are lost even where nobody kills it."
    for number in _CALLS:
        for where in ({"before_call": number}, {"after_calls": number}):
            _, _, twice, never = _lived(answer, **where)
            place = f"killed {'before' if 'before_call' in where else 'after'} its call number {number}"
            if never:
                return f"{place}, it loses {never} records: what was committed before it was handled?"
            if twice > _BATCH:
                return f"{place}, {twice} records come twice: what had been handled and not committed?"
    return None


def _unfair(answer: Any) -> str | None:
    topics = {topic: int(queues) for topic, queues in answer.items()}
    group = kafka_group(topics=topics, members=["c1", "c2", "c3"], assignor="range")
    group.settle()
    try:
        assert_no_idle_members(group)
    except AssertionError as failure:
        return str(failure).splitlines()[0]
    try:
        assert_fair(group, max_over_mean=1.5)
    except AssertionError:
        return None
    return "Nobody is idle, but the group is too fair. What did many topics do to range in notebook 4?"


EXERCISES = {
    "9.1": Exercise(
        function("consumer", "handle"), _batches, "The loop must handle records first and commit them afterwards."
    ),
    "9.2": Exercise(TOPICS, _unfair, "A group without idle members can still be unfair, so several assertions exist."),
}
"""Number to the exercise."""
