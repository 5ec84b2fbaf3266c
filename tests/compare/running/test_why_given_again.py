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
            "c1 is taken for gone while having them",
            "channelExpiredTimeout: 120s",
        ),
        (
            "given_again",
            "10ms",
            {},
            [{"at": "30s", "crash": "c1"}],
            "the client of c1 is gone",
            "restarts of the members",
        ),
        (
            "given_again",
            "10ms",
            {},
            [{"at": "30s", "reset_offsets": "g", "topic": "X", "to": "10s"}],
            "they begin anew",
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
    assert (text, setting) in [(each["text"], each["setting"]) for each in reasons]
