"""Scripts that are recorded at real clusters: who does what when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_CONSUMER: Final = {"group.protocol": "consumer"}
_CLASSIC: Final = {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"}
_HANGS: Final = {**_CONSUMER, "max.poll.interval.ms": "6000"}
_QUICK: Final = {"consumer.session.timeout.ms": 12000, "consumer.heartbeat.interval.ms": 3000}
_SHORT: Final = {"consumer.session.timeout.ms": 6000, "consumer.heartbeat.interval.ms": 2000}


class Step(NamedTuple):
    """What is done, in the words of recordings. ``count``: milliseconds without a poll, or a topic's partitions."""

    seconds: float
    what: str
    member: str = ""
    topics: Sequence[str] = ()
    count: int = 0


@dataclass(frozen=True)
class Script:
    """``members``: name to the settings of its client; ``group``: the group's own settings."""

    about: str
    topics: Mapping[str, int]
    members: Mapping[str, Mapping[str, str]]
    steps: Sequence[Step]
    seconds: float
    group: Mapping[str, int] = field(default_factory=dict)

    def in_the_end(self) -> dict[str, int]:
        """The topics' partitions."""
        grown = {each.topics[0]: each.count for each in self.steps if each.what == "add partitions"}
        return {**self.topics, **grown}


def _start(*names: str, at: float = 0.0, topics: Sequence[str] = ()) -> list[Step]:
    return [Step(at, "start member", name, topics) for name in names]


def _close(at: float, name: str) -> Step:
    return Step(at, "stop member (clean close)", name)


def _static(name: str) -> dict[str, str]:
    return {**_CONSUMER, "group.instance.id": f"pod-{name}"}


_THREE: Final = dict.fromkeys(("m1", "m2", "m3"), _CONSUMER)
_STATIC: Final = {name: _static(name.partition("#")[0]) for name in ("m1", "m2", "m3", "m2#again")}
_HANGING: Final = [
    *_start("m1", "m2", "m3"),
    Step(15.25, "stop polling", "m2", count=14_000),
    Step(29.25, "resume polling", "m2"),
]

SCRIPTS: Final[Mapping[str, Script]] = {
    "join-java-848": Script(
        "two members stable on 6 partitions, a third joins",
        {"t": 6},
        _THREE,
        [*_start("m1", "m2"), *_start("m3", at=15.3)],
        32.0,
    ),
    "late-join-java-848": Script(
        "one member stable alone, a second joins late, and a third before the second has all of its share",
        {"t": 6},
        _THREE,
        [*_start("m1"), *_start("m2", at=18.3), *_start("m3", at=20.6)],
        42.0,
    ),
    "leave-java-848": Script(
        "three members stable, one closes", {"t": 6}, _THREE, [*_start("m1", "m2", "m3"), _close(16.4, "m2")], 32.0
    ),
    "crash-java-848": Script(
        "three members stable, one is killed with kill -9 (no leave request)",
        {"t": 6},
        _THREE,
        [*_start("m1", "m2", "m3"), Step(15.5, "kill -9", "m2")],
        34.0,
        _SHORT,
    ),
    "hang-java-848": Script(
        "three members stable; one stops calling poll for longer than max.poll.interval.ms = 6000, then polls again",
        {"t": 6},
        dict.fromkeys(("m1", "m2", "m3"), _HANGS),
        _HANGING,
        46.0,
    ),
    "subscribe-java-848": Script(
        "two members on topic a; m1 adds topic b, then m2 drops a and takes b",
        {"a": 4, "b": 4},
        {"m1": _CONSUMER, "m2": _CONSUMER},
        [
            *_start("m1", "m2", topics=("a",)),
            Step(17.2, "change subscription", "m1", ("a", "b")),
            Step(27.2, "change subscription", "m2", ("b",)),
        ],
        42.0,
    ),
    "static-java-848-close": Script(
        "three static members; one closes cleanly and comes back after 3 s",
        {"t": 6},
        _STATIC,
        [*_start("m1", "m2", "m3"), _close(14.4, "m2"), *_start("m2#again", at=17.4)],
        30.0,
    ),
    "static-java-848-late": Script(
        "three static members; one is killed and comes back as the same instance after 16 s (session timeout 12000 ms)",
        {"t": 6},
        _STATIC,
        [*_start("m1", "m2", "m3"), Step(14.4, "kill -9", "m2"), *_start("m2#again", at=30.4)],
        48.0,
        _QUICK,
    ),
    "static-java-848-quick": Script(
        "three static members; one is killed and comes back after 3 s, is refused, and comes back after its timeout",
        {"t": 6},
        {**_STATIC, "m2#later": _static("m2")},
        [
            *_start("m1", "m2", "m3"),
            Step(14.4, "kill -9", "m2"),
            *_start("m2#again", at=17.4),
            *_start("m2#later", at=32.4),
        ],
        48.0,
        _QUICK,
    ),
    "static-java-848-rolling": Script(
        "three static members are restarted one after another",
        {"t": 6},
        {f"{name}{again}": _static(name) for name in ("m1", "m2", "m3") for again in ("", "#again")},
        [
            *_start("m1", "m2", "m3"),
            *[
                step
                for at, name in ((14.4, "m1"), (20.4, "m2"), (26.4, "m3"))
                for step in (_close(at, name), *_start(f"{name}#again", at=at + 2))
            ],
        ],
        42.0,
    ),
    "static-java-848-away": Script(
        "three static members; one closes cleanly and comes back after its session timeout of 6000 ms",
        {"t": 6},
        _STATIC,
        [*_start("m1", "m2", "m3"), _close(14.4, "m2"), *_start("m2#again", at=26.4)],
        42.0,
        _SHORT,
    ),
    "static-two-java-848": Script(
        "three static members; two close cleanly at once and come back one after another",
        {"t": 6},
        {**_STATIC, "m1#again": _static("m1")},
        [
            *_start("m1", "m2", "m3"),
            _close(14.4, "m1"),
            _close(14.4, "m2"),
            *_start("m1#again", at=17.4),
            *_start("m2#again", at=20.4),
        ],
        40.0,
    ),
    "static-java-848-joins": Script(
        "two static members stable, a third joins and closes for good",
        {"t": 6},
        {name: _static(name) for name in ("m1", "m2", "m3")},
        [*_start("m1", "m2"), *_start("m3", at=14.8), _close(30.1, "m3")],
        44.0,
        _QUICK,
    ),
    "grow-java-848": Script(
        "two members stable on 4 partitions, the topic grows to 7",
        {"t": 4},
        {name: {**_CONSUMER, "metadata.max.age.ms": "3000"} for name in ("m1", "m2")},
        [*_start("m1", "m2"), Step(16.2, "add partitions", topics=("t",), count=7)],
        34.0,
    ),
    "upgrade-classic-to-848": Script(
        "three classic members (cooperative-sticky) are restarted one after another with the consumer protocol",
        {"t": 9},
        {**dict.fromkeys(("m1", "m2", "m3"), _CLASSIC), **dict.fromkeys(("m1#new", "m2#new", "m3#new"), _CONSUMER)},
        [
            *_start("m1", "m2", "m3"),
            *[
                step
                for at, name in ((15.4, "m1"), (28.4, "m2"), (41.4, "m3"))
                for step in (_close(at, name), *_start(f"{name}#new", at=at + 1))
            ],
        ],
        60.0,
    ),
}
