"""Properties of records that are given out one by one: what they say of facts, and of what share consumers can do."""

from collections.abc import Sequence
from typing import Any

import pytest

from compare.exploring.answers import answered, wrong_with
from compare.exploring.given_out import (
    EVERY_RECORD,
    KEPT,
    STAYS_ENDED,
    KeptWhileAllowed,
    StaysEnded,
    least_attempts,
    open_records,
)
from compare.exploring.properties import default_property, subject_of
from compare.exploring.search import Limits
from compare.exploring.settling import Fate
from compare.running.systems import scenario
from compare.running.variants import variants_of
from protocols import Queue
from protocols.engine.exploration import Bounds
from protocols.facts import Acquired, Available, Ended

A = Queue("T", "", 0)
FIRST = Acquired("g", "c1", A, 0, 3, 1, 9.0)
SECOND = Acquired("g", "c2", A, 1, 2, 2, 9.0)
BACK = Available("g", "c1", A, 1, 2, "lock timeout")
DONE = Ended("g", "c1", A, 0, 3, "acknowledged")


@pytest.mark.parametrize(
    ("watch", "facts", "violated"),
    [
        (StaysEnded(), [FIRST, BACK, SECOND, DONE], False),
        (StaysEnded(), [FIRST, DONE, SECOND], True),
        (StaysEnded(), [FIRST, Ended("g", "c1", A, 0, 1, "archived"), BACK, SECOND], False),
        (KeptWhileAllowed({"g": 2}), [FIRST, BACK, SECOND, Ended("g", "c2", A, 1, 2, "archived")], False),
        (KeptWhileAllowed({"g": 3}), [FIRST, BACK, SECOND, Ended("g", "c2", A, 1, 2, "dead letter")], True),
        (KeptWhileAllowed({"g": 3}), [FIRST, DONE], False),
        (KeptWhileAllowed({"g": 3}), [Ended("g", "c2", A, 1, 2, "archived")], False),
    ],
)
def test_facts_violate_what_they_violate(
    watch: StaysEnded | KeptWhileAllowed, facts: Sequence[Any], violated: bool
) -> None:
    remembered = watch.nothing
    for fact in facts:
        remembered = watch.remember(remembered, fact)
    assert watch.is_violated([watch.nothing, remembered]) is violated


def test_what_one_leader_gave_may_end_at_another() -> None:
    watch = StaysEnded()
    first, second = watch.remember(watch.nothing, FIRST), watch.remember(watch.nothing, DONE)
    assert open_records([first]) == {("g", A, offset) for offset in range(3)}
    assert open_records([first, second]) == frozenset()
    fate = Fate(0, True, (), (), (), (("g", A, 1),))
    assert "record 1 of T-0 never ends" in wrong_with(EVERY_RECORD, fate)


def test_share_consumers_keep_these_properties_whatever_the_order() -> None:
    (variant,) = variants_of(
        scenario(
            name="two share consumers",
            topics={"orders": 1},
            group={"name": "g", "members": {"c1": ["orders"], "c2": ["orders"]}},
            load={"produce": "1/s"},
            run={"for": "60s"},
            systems=["kafka:share"],
            events=[{"at": "10s", "crash": "c1"}],
        )
    )
    assert default_property("kafka:share") == STAYS_ENDED
    asked = (STAYS_ENDED, KEPT, EVERY_RECORD)
    subject = subject_of(variant, asked, Bounds())
    assert {Acquired, Ended} <= {type(fact) for _, fact in subject.settled.facts}
    found = answered(subject, asked, Limits(depth=4), lambda depth, states: None)
    assert found.states > 100
    assert found.stories == {}


@pytest.mark.parametrize(
    ("system", "settings", "of_group", "least"),
    [
        ("kafka:share", {}, {}, 5),
        ("kafka:share", {"group.share.delivery.count.limit": 4}, {}, 4),
        ("kafka:share", {"group.share.delivery.count.limit": 4}, {"share.delivery.count.limit": 7}, 7),
        ("kafka:share", {"share.acknowledgement.mode": "explicit", "on.error": "reject"}, {}, 1),
        ("rocketmq:POP", {}, {"share.delivery.count.limit": 2}, 17),
        ("rocketmq:POP", {"retryMaxTimes": 0}, {}, 1),
        ("rocketmq:POP", {"consumeMessageOrderly": True}, {}, 1),
    ],
)
def test_how_often_a_record_is_given_at_least(
    system: str, settings: dict[str, object], of_group: dict[str, object], least: int
) -> None:
    (variant,) = variants_of(
        scenario(
            name="limits",
            topics={"orders": 1},
            group={"name": "g", "members": {"c1": ["orders"]}, "settings": of_group},
            load={"produce": "1/s"},
            run={"for": "60s"},
            systems=[{"system": system, "settings": settings}],
        )
    )
    assert least_attempts(variant) == {"g": least}
