"""Recordings of share groups on a released broker with released clients, and the same stories in the model.

Times are seconds since production began. ``python -m tests.slow.share_recordings`` makes the recordings.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from compare.running.run_variant import run_variant
from compare.running.systems import scenario
from compare.running.variants import variants_of
from protocols.scenario.model import Scenario

FOLDER = Path(__file__).parents[2] / "captures" / "kafka" / "share"
_BEFORE_S = 12.0
"""So long before production a scenario begins."""
_LONGEST_S = 90.0


class Given(NamedTuple):
    """A record that a member was given."""

    at: float
    member: str
    partition: int
    offset: int
    attempt: int


class Recording(NamedTuple):
    """What was set up, and what members saw: time, kind, member, partition, offset, count of deliveries."""

    head: Mapping[str, Any]
    rows: Sequence[tuple[float, str, str, str, int, int]]

    @property
    def given(self) -> list[Given]:
        return [
            Given(at, member, int(partition.rpartition("-")[2]), offset, count)
            for at, kind, member, partition, offset, count in self.rows
            if kind == "given"
        ]

    def at(self, kind: str) -> dict[str, float]:
        """Member to when it told this."""
        return {member: at for at, told, member, *_ in self.rows if told == kind}


@cache
def recording(name: str) -> Recording:
    head, *rows = map(json.loads, (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    return Recording(head, [tuple(row) for row in rows])


def story(told: Recording) -> Scenario:
    """The same as a scenario: members begin, are killed and close when they did."""
    head, release = told.head, {"on.error": "release"}
    part = {
        "subscribe": ["orders"],
        "handle": f"{head['handle_ms']}ms",
        "settings": {**head["settings"], **(release if head["poison"] else {})},
    }
    every = head["every_ms"] / 1000
    happens: list[tuple[float, dict[str, Any]]] = [
        ((n + 1) * every, {"produce": {f"orders-{number}": 1}})
        for n in range(head["times"])
        for number in range(head["partitions"])
    ]
    happens += [(at, {"join": name, **part}) for name, at in told.at("started").items()]
    happens += [(at, {"crash": name}) for name, at in told.at("killed").items()]
    happens += [(at, {"leave": name}) for name, at in told.at("closing").items()]
    happens += [(at, {"slow": {name: f"{ms}ms"}, "for": f"{ms}ms"}) for at, name, ms in head["slow"]]
    happens += [(at, {"poison": f"orders-{number}"}) for at, number in head["poison"]]
    return scenario(
        name="recorded",
        brokers=["b1"],
        topics={"orders": {"queues": {"b1": head["partitions"]}}},
        groups={"g": {"members": {}, "settings": {"share.auto.offset.reset": "earliest"}}},
        run={"for": f"{_BEFORE_S + _LONGEST_S}s"},
        systems=["kafka:share"],
        events=[{"at": f"{_BEFORE_S + at:.3f}s", **what} for at, what in sorted(happens, key=lambda each: each[0])],
    )


@cache
def played(name: str) -> list[Given]:
    """What members are given in the model."""
    (variant,) = variants_of(story(recording(name)))
    given = [
        Given(each.since / 1000 - _BEFORE_S, each.member, each.queue.number, offset, each.attempt)
        for each in run_variant(variant).timeline.given
        for offset in range(each.first, each.end)
    ]
    return sorted(given)
