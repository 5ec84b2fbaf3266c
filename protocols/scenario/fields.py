"""What the fields of a scenario's parts hold: durations, rates and latencies as people write them; topics with their
queues, groups with their members; queues as events name them (``topic-number``, ``topic-broker-number``); and the words
that descriptions of events and results have in common.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from protocols.engine.nodes import TICK
from protocols.errors import UserError

_MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "min": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
_NUMBER = r"\s*([+-]?)\s*(\d+(?:\.\d+)?)\s*"
_DURATION = re.compile(_NUMBER + r"(us|ms|s|min|h|d)\s*", re.ASCII)
_RATE = re.compile(_NUMBER + r"/\s*(s|min|h)\s*", re.ASCII)
_COUNT = re.compile(r"\s*\d{1,9}\s*", re.ASCII)
_BARE = re.compile(_NUMBER, re.ASCII)

_IN_SECONDS = 10_000.0
"""Milliseconds from which on what is no whole number of seconds is written in seconds, too."""

LONGEST = 2.0**42
"""Milliseconds, some 139 years: up to here every sum of two times is exact."""


class Bare(float):
    """A number that somebody wrote without a unit where it may need one: `milliseconds` and `per_second` refuse it."""


def milliseconds(given: object) -> float:
    """``5s``, ``300ms``, ``2min``, ``1.5h`` in milliseconds, rounded to the simulation's ticks.

    A number is taken as milliseconds where a program gives it (a float); raises `ValueError` for anything else.
    """
    if isinstance(given, float) and not isinstance(given, Bare):
        return _ticks(given, given)
    if given == 0 and not isinstance(given, bool):
        return 0.0
    match = _DURATION.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise ValueError(f"{_problem(given, 'duration')}, expected a number with a unit such as 5s, 300ms or 2min")
    return _ticks(float(match[1] + match[2]) * _MILLISECONDS[match[3]], given)


def per_second(given: object) -> float:
    """``10/s``, ``600/min`` per second; a float is taken as it is. Raises `ValueError` for anything else."""
    if isinstance(given, float) and not isinstance(given, Bare):
        return _positive(given, given)
    if given == 0 and not isinstance(given, bool):
        return 0.0
    match = _RATE.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise ValueError(f"{_problem(given, 'rate')}, expected a number per time such as 10/s or 600/min")
    return _positive(float(match[1] + match[2]) * 1000 / _MILLISECONDS[match[3]], given)


def latency_of(given: object) -> tuple[float, float]:
    """``2ms`` or ``1ms..5ms`` as least and most, in milliseconds. Raises `ValueError` for anything else."""
    if isinstance(given, tuple | list) and len(given) == 2:
        least, most = milliseconds(given[0]), milliseconds(given[1])
    elif isinstance(given, str) and given.count("..") <= 1:
        parts = given.split("..")
        least, most = milliseconds(parts[0]), milliseconds(parts[-1])
    else:
        raise ValueError(f"{_problem(given, 'latency')}, expected one such as 2ms or 1ms..5ms")
    if least > most:
        raise ValueError(f"{given!r} is no latency: the least is more than the most")
    return least, most


def count_range(given: object) -> tuple[int, int]:
    """``4..20`` as least and most, or a list of both. Raises `ValueError` for anything else."""
    parts = given.split("..") if isinstance(given, str) else given
    if isinstance(parts, list | tuple) and len(parts) == 2 and all(_COUNT.fullmatch(str(part)) for part in parts):
        least, most = (int(part) for part in parts)
        if 1 <= least <= most:
            return least, most
    raise ValueError(f"{given!r} is no range, expected least and most from 1 on, such as 4..20")


def duration_text(given: float) -> str:
    """Milliseconds as people write them, as a whole number where one is handy: ``90s``, ``5min``, ``211.027s``."""
    for unit in ("h", "min", "s"):
        if given and given % _MILLISECONDS[unit] == 0 and (unit == "s" or given >= 5 * _MILLISECONDS[unit]):
            return f"{given / _MILLISECONDS[unit]:.0f}{unit}"
    if given >= _IN_SECONDS:
        return f"{given / 1000:.6f}".rstrip("0") + "s"
    return f"{given:g}ms" if given else "0s"


def _ticks(value: float, given: object) -> float:
    if value > LONGEST:
        raise ValueError(f"{given!r} is too long, expected a duration of at most 100 years")
    return round(_positive(value, given) / TICK) * TICK


def _positive(value: float, given: object) -> float:
    if not isfinite(value):
        raise ValueError(f"{given!r} is no finite number")
    if value < 0:
        raise ValueError(f"{given!r} is negative, expected 0 or more")
    return value


def _problem(given: object, kind: str) -> str:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if number or (isinstance(given, str) and _BARE.fullmatch(given)):
        return f"{given} has no unit"
    return f"{given!r} is no {kind}"


Duration: TypeAlias = Annotated[float, BeforeValidator(milliseconds)]
"""Milliseconds, not negative."""

Rate: TypeAlias = Annotated[float, BeforeValidator(per_second)]
"""Per second, not negative; written ``10/s``, ``600/min``."""

Count: TypeAlias = Annotated[int, Field(strict=True, ge=0)]
"""A whole number from 0 on."""

Number: TypeAlias = Annotated[int, Field(strict=True, ge=1)]
"""A whole number from 1 on."""

Share: TypeAlias = Annotated[float, Field(ge=0)]
"""A number from 0 on."""

EACH_MEMBER = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
"""Marks the first field of an event of one member: a list or a range of names there means such an event of each."""

EachMember: TypeAlias = Annotated[str, EACH_MEMBER]
"""The name of a member; one may write ``[c1, c2]`` or ``c1..c8`` for an event of each of them."""

LatencyRange: TypeAlias = Annotated[tuple[float, float], BeforeValidator(latency_of)]
"""Least and most, in milliseconds; written ``2ms``, ``1ms..5ms``."""


CountRange: TypeAlias = Annotated[tuple[int, int], BeforeValidator(count_range)]
"""Least and most, from 1 on; written ``4..20``."""

Settings: TypeAlias = dict[str, Any]
"""Settings of clients or brokers by the names that their system gives them; the system checks the values."""


class Part(BaseModel):
    """A part of a scenario: it never changes and has no fields but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False)


class MemberPart(Part):
    """A member of a group: what it subscribes to and how it works."""

    subscribe: tuple[str, ...] = ()
    """Topics, in the order in which the member lists them; they need not exist."""
    pattern: str | None = None
    """A regular expression that matches whole names of topics, instead of ``subscribe``."""
    resolved_by: Literal["client", "broker"] = "client"
    """Who finds the topics that match the pattern: the client, from its metadata, or the group's coordinator, as for
    `SubscriptionPattern` in Kafka's consumer protocol (the pattern is one of RE2 then). Where there is no such thing,
    the client does."""
    instance_id: str | None = None
    """Makes the member static (Kafka)."""
    rack: str | None = None
    """Kafka's rack, RocketMQ's room."""
    client_id: str | None = None
    """What the client calls itself; two members may have the same, as two containers of one image."""
    process: str | None = None
    """Members with equal ``process`` live in one client instance (one process); a member's name may be used."""
    strategy: str | None = None
    """The member's own assignor or strategy, where it differs from the variant's (one name, in Kafka several with
    commas). Every variant's system must have it."""
    handle: Duration = 0.0
    """How long the user's code takes for one record."""
    threads: Number | None = None
    """How many threads of the member handle records at once. Left out: one loop in Kafka and in RocketMQ's pull
    consumers, ``consumeThreadMax`` threads (20) in RocketMQ's push consumer."""
    settings: Settings = Field(default_factory=dict)
    """Client settings of this member alone, under the systems' own names; a system passes over those that only others
    have."""


class GroupPart(Part):
    """A consumer group."""

    members: dict[str, MemberPart] = Field(default_factory=dict)
    """By name. ``c1..c20`` stands for twenty equal members, a list of topics for a member that subscribes to them."""
    settings: Settings = Field(default_factory=dict)
    """Client settings of all its members, also of those that join later (a member's own win); and settings of the group
    itself, as `kafka-configs --entity-type groups` sets them (Kafka's consumer protocol: `consumer.session.timeout.ms`,
    `consumer.heartbeat.interval.ms`). A system passes over those that only others have."""


class TopicPart(Part):
    """A topic: its queues per broker, in the order written; Kafka numbers partitions 0, 1, ... in that order."""

    queues: dict[str, Count]
    """Per broker, or one number that is distributed over the brokers in turn."""
    replica_racks: tuple[tuple[str, ...], ...] | None = None
    """For each queue the racks of its replicas (Kafka)."""
    min_insync_replicas: Number | None = None
    """Kafka's `min.insync.replicas` of the topic; left out, the brokers' value of that name counts."""


def listed(names: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


MOST_NAMES = 6
"""Lists of more names, or ranges of them, end in "and 3 more"."""
LEAST_RANGE = 4
"""So many names that are numbered one after the other make a range: "c1 to c4"."""


def listed_members(names: Sequence[str]) -> str:
    """Members in few words: "c1, c2 and c3", "c1 to c8", "c1 to c4 and c9", "a, b, c, d, e and 7 more"."""
    runs = _runs(names)
    if len(runs) <= MOST_NAMES:
        return listed(map(_run_text, runs))
    shown = runs[: MOST_NAMES - 1]
    return listed([*map(_run_text, shown), f"{len(names) - sum(map(len, shown))} more"])


def _runs(names: Iterable[str]) -> list[list[str]]:
    """The names in their order; those numbered one after the other together, where they are enough for a range."""
    runs: list[list[str]] = []
    for name in names:
        if runs and name == next_name(runs[-1][-1]):
            runs[-1].append(name)
        else:
            runs.append([name])
    return [part for run in runs for part in ([run] if len(run) >= LEAST_RANGE else [[name] for name in run])]


def _run_text(run: Sequence[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}"


def next_name(name: str) -> str | None:
    """The name with the next number at its end, as wide as this one where it begins with a zero."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    if not 0 < len(digits) < 10:
        return None
    return f"{stem}{int(digits) + 1:0{len(digits) if digits[0] == '0' else 0}d}"


class NamedOffset(NamedTuple):
    """``broker`` is empty where the text names none: then ``number`` counts the topic's queues in the order written,
    as Kafka does."""

    topic: str
    broker: str
    number: int
    offset: int


class NamedCount(NamedTuple):
    """Records that are written to a queue; ``broker`` as above."""

    topic: str
    broker: str
    number: int
    records: int


def named_queue(queue: str, topics: Mapping[str, Mapping[str, int]]) -> tuple[str, str, int]:
    """Topic, broker (empty where the name has none) and number of a queue.

    ``topics``: topic to its queues per broker. Raises `UserError` for a queue that does not exist.
    """
    place, _, number = queue.rpartition("-")
    if number.isdecimal() and number.isascii() and len(number) < 10:
        if place in topics and int(number) < sum(topics[place].values()):
            return place, "", int(number)
        # Names of topics and of brokers may hold hyphens: the longest topic that fits is meant.
        for topic in sorted(topics, key=len, reverse=True):
            broker = place.removeprefix(f"{topic}-")
            if broker != place and int(number) < topics[topic].get(broker, 0):
                return topic, broker, int(number)
    raise UserError(f"unknown queue {queue!r}, expected topic-number or topic-broker-number of a topic that is there")


Brokers = tuple[str, ...]


def brokers_of(per_broker: Mapping[str, int]) -> Brokers:
    """The broker of every queue, in the order written."""
    return tuple([broker for broker, count in per_broker.items() for _ in range(count)])


def after_growth(before: Brokers, per_broker: Mapping[str, int]) -> Brokers:
    """More queues: those that there were keep their places, new ones go to the brokers that are to have more, in the
    order written."""
    extra = max(0, sum(per_broker.values()) - len(before))
    wanted = [broker for broker, count in per_broker.items() for _ in range(count - before.count(broker))]
    return (*before, *wanted[:extra])


def queue_index(brokers: Brokers, broker: str, number: int) -> int:
    """The place of the n-th queue of a broker; of all of them, where ``broker`` is empty."""
    return [at for at, each in enumerate(brokers) if broker in ("", each)][number]
