"""Why POP gives records again or up, and with which settings, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.compare.compared import made, ran

POISON = {"at": "10s", "poison": "X-0"}


@pytest.mark.parametrize(
    ("harm", "handle", "settings", "events", "text", "setting"),
    [
        (
            "given_again",
            "40s",
            {},
            [{"at": "30s", "crash": "c1"}],
            "c1 is taken for gone while having them after c1 crashes",
            "channelExpiredTimeout: 120s",
        ),
        (
            "given_again",
            "10ms",
            {},
            [{"at": "31s", "crash": "c1"}],
            "the client of c1 is gone after c1 crashes",
            "restarts of the members",
        ),
        (
            "given_again",
            "90s",
            {"enableProxyAutoRenew": False},
            [{"at": "65s", "slow": {"c1": "80s"}, "for": "1s"}],  # it is about some of the records alone
            "c1 and c2 do not acknowledge them within the invisible time of 60 s",
            "defaultInvisibleTimeMills: 60s",
        ),
        (
            "given_again",
            "10ms",
            {},
            [{"at": "30s", "reset_offsets": "g", "topic": "X", "to": "10s"}],
            "they begin anew after offsets of g in X are set back to 10s",
            "resets of offsets",
        ),
        (
            "waiting",
            "10ms",
            {},
            [{"at": "238s", "hang": "c1", "for": "60s"}, {"at": "238s", "hang": "c2", "for": "60s"}],
            "2 records are hidden, as c1 and c2 were given them",
            "enableProxyAutoRenew: true, maxCacheMessageCount: 1024",
        ),
        (
            "waiting",
            "10ms",
            {"client": "SimpleConsumer"},
            [{"at": "238s", "hang": "c1", "for": "60s"}, {"at": "238s", "hang": "c2", "for": "60s"}],
            "2 records are hidden, as c1 and c2 were given them",
            "invisibleDuration: 15s, maxMessageNum: 16",
        ),
        (
            "given_again",
            "10ms",
            {"client": "SimpleConsumer"},
            [{"at": "30s", "lose": "c1"}, {"at": "31s", "restart": "c1"}],
            "c1 does not acknowledge it within the invisible time of 15 s after c1 loses its machine",
            "invisibleDuration: 15s",
        ),
        (
            "skipped",
            "10ms",
            {"retryMaxTimes": 0},
            [POISON, {"at": "20s", "poison": "X-0"}],
            "they go to the dead letters after 1 attempt",
            "retryMaxTimes: 0",
        ),
        (
            "no_progress",
            "10ms",
            {},
            [{"at": "30s", "leave": ["c1", "c2"]}, {"at": "50s", "restart": ["c1", "c2"]}],
            "no member of g runs that reads X for 20 s after c1 and c2 leave",
            "restarts of the members",
        ),
        (
            "skipped",
            "10ms",
            {"retryMaxTimes": 0},
            [POISON],
            "it goes to the dead letters after 1 attempt",
            "retryMaxTimes: 0",
        ),
    ],
)
def test_the_reason_is_what_happened(
    harm: str, handle: str, settings: Mapping[str, object], events: Sequence[Mapping[str, Any]], text: str, setting: str
) -> None:
    members = {name: {"subscribe": ["X"], "handle": handle, "threads": 20} for name in ("c1", "c2")}
    given = made(
        topics={"X": {"queues": 1}},
        systems=[{"system": "rocketmq:POP", "settings": dict(settings)}],
        group={"name": "g", "members": members},
        events=list(events),
        load={"produce": "1/s"},
        run={"for": "4min"},
    )
    (variant,) = ran(given)[1]["variants"]
    reasons = variant["harm"]["because"][harm]
    assert (text, setting) in [(each["mechanism"], each["setting"]) for each in reasons]


def test_a_share_group_keeps_the_place_of_a_process_that_was_started_anew() -> None:
    """Its new process is another member; what nobody else may take waits for the session of the old one."""
    given = made(
        topics={"X": {"queues": 4}},
        systems=["kafka:share"],
        group={"name": "g", "members": {f"c{n}": {"subscribe": ["X"], "handle": "10ms"} for n in (1, 2, 3)}},
        events=[{"at": "34s", "crash": "c1"}, {"at": "43s", "restart": "c1"}],
        load={"produce": "1/s"},
        run={"for": "100s"},
    )
    (variant,) = ran(given)[1]["variants"]
    (why,) = variant["harm"]["because"]["no_progress"]
    assert why["mechanism"].startswith("the group permits nobody but c1 to take records for 4")
    assert why["mechanism"].endswith(" s after c1 crashes")
    assert 40 < why["lasted_s"] < 46


def test_a_simple_consumer_may_be_waiting_at_another_topic() -> None:
    given = made(
        topics={"X": {"queues": 1}, "Y": {"queues": 1}},
        systems=[{"system": "rocketmq:POP", "settings": {"client": "SimpleConsumer"}}],
        group={"name": "g", "members": {"c1": {"subscribe": ["X", "Y"], "handle": "10ms"}}},
        load={"rates": {"X": "1/s", "Y": "4/min"}},
        events=[],
        run={"for": "2min"},
    )
    (variant,) = ran(given)[1]["variants"]
    (why,) = variant["harm"]["because"]["no_progress"]
    assert "candidates: a receive that waits at another topic or broker (awaitDuration), " in why["mechanism"]
