"""The changes of Kafka's coordinator on docs/versions.md as traces, and what shows each before it and since then; the
released coordinators of all versions are asked in `tests.slow.test_coordinator_stories`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_coordinator.versions import VERSIONS as MODELS
from tests.exploration.written_traces import ASKED, DESCRIBES, Step, Written, alive, beats, joins, lines_of, waits

_NO_INTERVAL: Final = {"group.consumer.assignment.interval.ms": 0}


class Change(NamedTuple):
    """``decides``: the step whose answer shows it; ``steps``, ``before`` and ``then`` are given the epoch of a group's
    first member; ``before``, ``then``: what the trace shows in versions before ``since``, and in those since then (as
    `Story.shows`)."""

    name: str
    since: str
    decides: int
    steps: Callable[[int], Sequence[Step]]
    before: Callable[[int], tuple[str, ...]]
    then: Callable[[int], tuple[str, ...]]
    config: Mapping[str, int | str] = {}
    ids: tuple[str, ...] = ()
    topics: Mapping[str, int] = {"A": 4}

    def written(self, version: str) -> Written:
        """The trace for this version, by its whole number."""
        model = MODELS.named(version, "version")
        first = 2 if model.groups_begin_at_one else 1
        shows = self.then(first) if model.name >= self.since else self.before(first)
        return Written(self.name, (version,), self.ids, self.steps(first), shows, self.config, self.topics)


def _commits(member: str, epoch: int, number: int) -> Step:
    return "offset_commit", {
        "member_id": member,
        "instance_id": None,
        "generation_or_epoch": epoch,
        "api_version": 9,
        "offsets": [["A", number, 5]],
    }


def _owns(*numbers: int, topic: str = "A") -> list[list[object]]:
    return [[topic, number] for number in numbers]


CHANGES: Final = (
    Change(
        "first-epoch",
        "4.3",
        0,
        lambda first: [beats("a", 0), DESCRIBES],
        lambda first: ("epoch 1",),
        lambda first: ("epoch 2",),
    ),
    Change(
        "interval",
        "4.3",
        2,
        lambda first: [beats("a", 0), beats("b", 0), DESCRIBES, waits(1000), beats("b", first), DESCRIBES],
        lambda first: ("b to 2 3",),
        lambda first: ("b to", "b to 2 3"),
    ),
    Change(
        "older-epoch",
        "4.3",
        4,
        lambda first: [
            *(beats("a", 0), beats("b", 0), beats("a", first), beats("a", first, owned=_owns(0, 1))),
            _commits("a", first, 0),
        ],
        lambda first: ("STALE_MEMBER_EPOCH",),
        lambda first: (),
        _NO_INTERVAL,
    ),
    Change(
        "full-group",
        "4.4",
        3,
        lambda first: [
            *(beats("a", 0, instance_id="X"), beats("b", 0), beats("a", -2, instance_id="X")),
            beats("c", 0, instance_id="X"),
        ],
        lambda first: ("GROUP_MAX_SIZE_REACHED",),
        lambda first: (),
        {"group.consumer.max.size": 2},
    ),
    Change(
        "disabled-policy",
        "4.2",
        1,
        lambda first: [beats("a", 0), joins("", "c1", "X")],
        lambda first: (),
        lambda first: ("INCONSISTENT_GROUP_PROTOCOL",),
        {"group.consumer.migration.policy": "disabled"},
        ("X",),
    ),
    Change(
        "fewer-topics",
        "4.2",
        3,
        lambda first: [
            *(beats("a", 0, subscribed=["A", "B"]), beats("b", 0, subscribed=["A", "B"]), beats("a", first)),
            beats("a", first, subscribed=["B"], owned=[*_owns(0, 1, 2, 3), *_owns(0, 1, topic="B")]),
            DESCRIBES,
        ],
        lambda first: (),
        lambda first: (),
        _NO_INTERVAL,
        (),
        {"A": 4, "B": 2},
    ),
    Change(
        "described-pending",
        "4.3",
        3,
        lambda first: [beats("a", 0), beats("b", 0), beats("a", first), DESCRIBES],
        lambda first: ("a 0 1",),
        lambda first: ("a 0 1 2 3",),
        _NO_INTERVAL,
    ),
    Change(
        "classic-rejoins",
        "4.3",
        4,
        lambda first: [*(beats("a", 0), waits(1000), joins("", "c1", "X"), beats("b", 0), alive("m1", first + 1))],
        lambda first: ("REBALANCE_IN_PROGRESS",),
        lambda first: (),
        {},
        ("X",),
    ),
    Change(
        "other-assignor",
        "4.4",
        2,
        lambda first: [beats("a", 0, assignor="uniform"), beats("a", first, assignor="range"), DESCRIBES],
        lambda first: (f"epoch {first}",),
        lambda first: (f"epoch {first + 1}",),
    ),
    Change(
        "epoch-zero",
        "4.2",
        4,
        lambda first: [
            *(beats("a", 0), beats("b", 0), beats("a", first), beats("a", first, owned=_owns(0, 1))),
            beats("a", 0),
        ],
        lambda first: ("FENCED_MEMBER_EPOCH",),
        lambda first: (),
        _NO_INTERVAL,
    ),
    Change(
        "emptied",
        "4.4",
        4,
        lambda first: [beats("a", 0), beats("b", 0), beats("a", -1), beats("b", -1), beats("c", 0), DESCRIBES],
        lambda first: (),
        lambda first: ("c to 0 1 2 3",),
    ),
)


def asked_lines(kept: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What the released coordinators answer to each change, those together that answer alike. ``kept``: trace id to
    trace."""
    lines = []
    for change in CHANGES:
        answers: dict[str, list[str]] = {}
        for version in ASKED:
            request, _, answer = lines_of(kept[f"{change.name} {version}"])[change.decides].partition(": ")
            answers.setdefault(answer, []).append(version)
        lines.append(f"{change.name}: {request.partition(',')[0]}")
        lines += [f"  {' '.join(versions):24}{answer}" for answer, versions in answers.items()]
    return lines
