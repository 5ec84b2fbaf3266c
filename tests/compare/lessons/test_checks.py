"""The hidden checks know right answers from wrong ones, and give a hint without an answer."""

from collections.abc import Callable
from typing import Any

import pytest

from compare.lessons.checks import check

TOPICS = ["orders", "payments", "refunds"]
JOINING = {"at": "30s", "join": "c3", "subscribe": ["orders"]}
VISITORS = [
    {"at": "1min", "join": "c5", "subscribe": TOPICS, "instance_id": "i5"},
    {"at": "1min", "join": "c6", "subscribe": TOPICS, "instance_id": "i6"},
]


def share(count: int, members: list[str]) -> dict[str, list[int]]:
    return {member: list(range(at, count, len(members))) for at, member in enumerate(members)}


def circle(queues: int, members: list[str], me: str) -> list[int]:
    return list(range(members.index(me), queues, len(members)))


def committable(first: int, finished: set[int]) -> int:
    while first in finished:
        first += 1
    return first


def owner(queue: int, q: int, n: int) -> int:
    longer, over = q // n + 1, q % n
    return queue // longer if queue < over * longer else over + (queue - over * longer) // (longer - 1)


Batch = list[Any]


def reading(*steps: Callable[[Any, Callable[[Any], None], Batch], object]) -> Callable[..., None]:
    """A consumer that does these things with each batch of five."""

    def consume(consumer: Any, handle: Callable[[Any], None]) -> None:
        consumer.subscribe(["orders"])
        while True:
            batch = [message for message in consumer.consume(5, timeout=1.0) if not message.error()]
            for step in steps if batch else ():
                step(consumer, handle, batch)

    return consume


def handling(consumer: Any, handle: Callable[[Any], None], batch: Batch) -> None:
    for message in batch:
        handle(message)


def committing(*of: int) -> Callable[[Any, Callable[[Any], None], Batch], object]:
    """All that was consumed, or up to one message of the batch."""
    return lambda consumer, handle, batch: consumer.commit(*(batch[at] for at in of), asynchronous=False)


def committing_each(consumer: Any, handle: Callable[[Any], None], batch: Batch) -> None:
    for message in {message.partition(): message for message in batch}.values():
        consumer.commit(message, asynchronous=False)


def cutting_fifty(consumer: Any, handle: Callable[[Any], None]) -> None:
    consumer.subscribe(["orders"])
    while True:
        fetched = [message for message in consumer.consume(50, timeout=1.0) if not message.error()]
        for at in range(0, len(fetched), 5):
            for message in fetched[at : at + 5]:
                handle(message)
            if at == 0:
                consumer.commit(asynchronous=False)


def reconcile(owned: set[int], target: set[int], free: set[int]) -> set[int]:
    return owned & target if owned - target else owned | target & free


def reconcile_in_a_list(owned: set[int], target: set[int], free: set[int]) -> list[int]:
    to_give_up = [each for each in owned if each not in target]
    kept = [each for each in owned if each in target]
    return kept if to_give_up else [*kept, *(each for each in free if each in target)]


def giving_and_taking_at_once(owned: set[int], target: set[int], free: set[int]) -> set[int]:
    return owned & target | target & free


def without_a_look_at_what_is_free(owned: set[int], target: set[int], free: set[int]) -> set[int]:
    return owned & target if owned - target else target


def stopping_all_first(owned: set[int], target: set[int], free: set[int]) -> set[int]:
    return set() if owned - target else owned | target & free


def waiting_for_all(owned: set[int], target: set[int], free: set[int]) -> set[int]:
    return target if target <= owned | free and not owned - target else owned & target


def never_giving_up(owned: set[int], target: set[int], free: set[int]) -> set[int]:
    return owned | target & free


def from_none(first: int, finished: set[int]) -> int:
    """Right where the finished ones begin at the first."""
    return next(each for each in range(min(finished, default=first), 10**6) if each not in finished)


def each_alone(topic: str) -> list[tuple[str, int]]:
    return [(topic, number) for number in range(3)]


RIGHT: dict[str, Any] = {
    "1.1": 12,
    "1.2": share,
    "2.1": [JOINING, {"at": "50s", "leave": "c3"}, {"at": "70s", "leave": "c2"}],
    "2.2": 8000,
    "2.3": reconcile,
    "3.1": {4, 5, 6, 7},
    "3.2": {name: ["c1", "c2", "c3", "c4"] for name in ("c1", "c2", "c3")},
    "4.1": circle,
    "4.2": dict.fromkeys("abcdef", 1),
    "5.1": "65500ms",
    "5.2": committable,
    "6.1": [6, 6, 0, 0],
    "6.2": {"c1": each_alone("A"), "c2": each_alone("B"), "c3": each_alone("C")},
    "7.1": 20_500,
    "7.2": [*VISITORS, {"at": "5min", "leave": "c5"}, {"at": "5min", "leave": "c6"}],
    "8.1": owner,
    "9.1": reading(handling, committing()),
    "9.2": {"large": 3, "a": 1, "b": 1, "c": 1},
    "10.1": 41_000,
    "10.2": 7,
}

WRONG: dict[str, list[Any]] = {
    "1.1": [24, 6, 0, "twelve"],
    "1.2": [lambda count, members: {member: [] for member in members}, lambda count, members: None],
    "2.1": [[], [JOINING], "nothing"],
    "2.2": [45_000, 6000, 1000, "9s"],
    "2.3": [lambda owned, target, free: target, lambda owned, target, free: owned, lambda owned, target, free: set()],
    "3.1": [{4}, {3, 4, 5, 6, 7}, set()],
    "3.2": [
        {"c1": ["c1"], "c2": ["c2"], "c3": ["c3"]},
        {name: ["c1", "c2", "c3"] for name in ("c1", "c2", "c3")},
        {"c1": ["c2"], "c2": ["c2"], "c3": ["c3"]},
        {"c1": ["c1"]},
    ],
    "4.1": [lambda queues, members, me: [0], lambda queues, members, me: list(range(queues))],
    "4.2": [{"a": 12}, dict.fromkeys("abcdef", 4), {"a": 3, "b": 3}],
    "5.1": ["62s", "66040ms", "50s", "soon"],
    "5.2": [from_none, lambda first, finished: max(finished, default=first), lambda first, finished: first],
    "6.1": [[6, 2, 2, 2], [6, 4, 2, 0], [3, 3, 3, 3], [12]],
    "6.2": [{"c1": [*each_alone("A"), *each_alone("B")], "c2": [], "c3": each_alone("C")}, {}],
    "7.1": [45_000, 10_000, 1000, "25s"],
    "7.2": [[], VISITORS, [{"at": "1min", "crash": "c1"}]],
    "8.1": [lambda queue, q, n: queue % n],
    "9.1": [reading(committing(), handling), lambda consumer, handle: None],
    "9.2": [{"a": 3}, {"a": 1}, {"a": 0}],
    "10.1": [30_000, 60_000, "40s"],
    "10.2": [6, 8],
}


ALSO_RIGHT: list[tuple[str, Any]] = [
    ("2.2", 8980),
    ("2.3", reconcile_in_a_list),
    ("5.1", "65100ms"),
    ("5.1", "66s"),
    ("7.1", 26_900),
    ("9.1", reading(handling, committing_each)),
]
"""At the ends of what is right, and another way."""


def test_a_right_answer_is_right(subtests: pytest.Subtests) -> None:
    for exercise, answer in [*RIGHT.items(), *ALSO_RIGHT]:
        with subtests.test(exercise=exercise, answer=answer):
            verdict = check(exercise, answer)
            assert verdict.right is True, verdict
            assert str(verdict).startswith(f"Exercise {exercise}: right. ")


def test_a_wrong_answer_is_told_with_a_hint(subtests: pytest.Subtests) -> None:
    for exercise, answer in [(name, each) for name in WRONG for each in WRONG[name]]:
        with subtests.test(exercise=exercise, answer=answer):
            verdict = check(exercise, answer)
            assert verdict.right is False, verdict
            assert len(str(verdict)) > len(f"Exercise {exercise}: not yet. ") + 10


def numbered(queues: int, members: list[str], me: str) -> list[int]:
    return list(range(int(me[1:]) - 1, queues, len(members)))


def renamed(count: int, members: list[str]) -> dict[str, list[int]]:
    return {f"m{at}": list(range(at, count, len(members))) for at in range(len(members))}


JOINING_TWICE = [JOINING, {"at": "30030ms", "join": "c4", "subscribe": ["orders"]}, {"at": "70s", "leave": "c2"}]

LUCKY: list[tuple[str, Any, str]] = [
    ("1.2", renamed, "has other members"),
    ("2.1", JOINING_TWICE, "With seed 8: That makes 3"),
    ("2.2", 9000, "seed 1, crash at 60.02 s: a queue waits for 12.0"),
    ("2.2", 10_000, "seed 1, crash at 60.02 s: a queue waits for 12.0"),
    ("2.2", 12_000, "seed 1, crash at 60.02 s: a queue waits for 15.0"),
    ("2.3", giving_and_taking_at_once, "in the answer that takes"),
    ("2.3", without_a_look_at_what_is_free, "would have two owners"),
    ("2.3", stopping_all_first, "What may it keep?"),
    ("2.3", waiting_for_all, "nobody reads"),
    ("2.3", never_giving_up, "outside of its target"),
    ("4.1", numbered, "what is its place?"),
    ("7.1", 27_500, "seed 1, crash at 60.01 s: a queue is without an owner for 30.0"),
    ("7.1", 29_500, "seed 1, crash at 60.01 s: a queue is without an owner for"),
    ("9.1", reading(handling, committing(-1)), "2 of 4 queues"),
    ("9.1", reading(handling, committing(0)), "records come twice"),
    ("9.1", cutting_fifty, "20 records per second"),
]
"""Wrong answers that one seed, one moment, one load or a few handy cases let pass, and what the hint names."""


def test_no_answer_is_right_by_luck(subtests: pytest.Subtests) -> None:
    for exercise, answer, named in LUCKY:
        with subtests.test(exercise=exercise, answer=answer, named=named):
            verdict = check(exercise, answer)
            assert verdict.right is False, verdict
            assert named in str(verdict)


MISFITS: list[Any] = [
    *(None, -1, 10**12, 1.5, float("nan"), True, "", "c1", b"c1", object(), len, range(9), iter([1])),
    *([None], [[]], [1, "a"], [-1, 2], [10**12, 1, 1, 1], [{}], [{"at": 5, 3: 4}], [{"at": {}, "crash": []}]),
    *({"a": None}, {1: 2}, {"c1": "c1", "c2": "c2", "c3": "c3"}, {"c1": [("A", 99)]}, {"c1": [("A", 0), ("A", 0)]}),
    *(lambda: 0, lambda *given: None, lambda *given: {1: 2}, lambda *given: "ab", lambda *given: [None]),
]
"""Nobody's right answer: of a wrong type or shape for most exercises."""


def test_whatever_the_answer_is_a_plain_line_says_what_is_asked_for(subtests: pytest.Subtests) -> None:
    for exercise in RIGHT:
        with subtests.test(exercise=exercise):
            for answer in MISFITS:
                verdict = check(exercise, answer)
                assert verdict.right is False, answer
                assert str(verdict).startswith(f"Exercise {exercise}: not yet. ")
                assert "\n" not in str(verdict)
                assert "Error" not in str(verdict), answer
                assert " object at 0x" not in str(verdict)


def test_what_a_function_of_the_reader_raises_is_told_with_its_arguments() -> None:
    def share(count: int, members: list[str]) -> dict[str, list[int]]:
        return {members[count + 1]: []}

    told = "With 0, ['m0'] it raises IndexError: list index out of range"
    assert str(check("1.2", share)) == f"Exercise 1.2: not yet. {told}"


def test_an_exercise_that_is_not_there_is_refused_with_those_that_are(subtests: pytest.Subtests) -> None:
    for exercise in ["1.3", "0.1", "one", "", 1.2, None]:
        with subtests.test(exercise=exercise):
            assert str(check(exercise, 1)).startswith(f"There is no exercise {exercise!r}, expected one of '1.1'")


def test_no_answer_is_neither(subtests: pytest.Subtests) -> None:
    for exercise in RIGHT:
        with subtests.test(exercise=exercise):
            assert check(exercise, ...).right is None


def unwritten(*arguments: Any) -> Any:
    return ...


def test_a_function_still_to_be_written_is_neither(subtests: pytest.Subtests) -> None:
    for exercise in [name for name, answer in RIGHT.items() if callable(answer)]:
        with subtests.test(exercise=exercise):
            assert check(exercise, unwritten).right is None


@pytest.mark.slow
def test_the_exercise_on_a_data_frame_knows_right_from_wrong() -> None:
    def enough_queues(figures: Any) -> Any:
        return figures.where("idle_members > 0 and queues >= members")

    assert check("8.2", enough_queues).right is True
    for misfit in (None, [1], lambda figures: [1], lambda figures: figures.idle_members > 0):
        told = str(check("8.2", misfit))
        assert told.endswith("is asked for.")
        assert "Error" not in told
    for wrong in ("idle_members > 0", "idle_members > 0 and queues > members", "queues >= members", "false"):
        assert check("8.2", lambda figures, wrong=wrong: figures.where(wrong)).right is False
    assert check("8.2", unwritten).right is None
