"""Members that come and go, as a broker prints it: what looks like one deploy, and what like members that flap."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from tests.compare.logs.scoring import report
from tests.rows import rows

Moves = Sequence[tuple[float, str]]
"""Seconds, and who joins (`+a`) or closes (`-a`) then."""

FIRST: Moves = [(0, "+a +b +c")]


def broker_log(moves: Moves) -> str:
    """What a broker of 4.x prints about the group `g`."""
    lines: list[str] = []

    def say(at: float, text: str) -> None:
        time = (datetime(2026, 11, 23, 10) + timedelta(seconds=at)).isoformat(" ", "milliseconds").replace(".", ",")
        head = f"[{time}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=1]"
        lines.append(f"{head} {text} (org.apache.kafka.coordinator.group.GroupMetadataManager)")

    now: dict[str, str] = {}
    for generation, (at, those) in enumerate(moves):
        for number, move in enumerate(those.split()):
            when, name = at + 0.05 * number, move[1:]
            if move[0] == "+":
                now[name] = member = f"{name}-00000000-0000-4000-8000-{len(lines):012}"
                say(
                    when,
                    f"Pending dynamic member with id {member} joins group g in Stable state. Adding to the group now",
                )
                reason = f"Adding new member {member} with group instance id null; client reason: not provided"
            else:
                member = now.pop(name)
                left = f"Member {member} has left group through explicit `LeaveGroup` request"
                say(when, f"[Group g] {left}; client reason: the consumer is being closed")
                reason = f"explicit `LeaveGroup` request for ({member}) members."
            if not number:
                state = f"in state PreparingRebalance with old generation {generation}"
                say(when, f"Preparing to rebalance group g {state} (reason: {reason}).")
        say(at + 0.5, f"Stabilized group g generation {generation + 1} with {len(now)} members")
    return "\n".join(lines)


def again(text: str, times: int, every: float = 10.0, begin: float = 20.0) -> Moves:
    """The same moves, one after another, again and again."""
    steps = text.split("; ")
    return [
        (begin + every * (turn + place / len(steps)), step) for turn in range(times) for place, step in enumerate(steps)
    ]


ROLL = "-a; +a; -b; +b; -c; +c"


@rows(
    ("moves", "expected"),
    [
        (again("+x; -x", 3), [("flapping", "x")]),
        (again("+x +y; -x -y", 3), [("flapping", "x y")]),
        (again("+x +y; -x -y", 2), [("flapping", "x y")]),
        (again("-a -b; +a +b", 3), [("flapping", "a b")]),
        (again("-a; +a; -b; +b", 3, every=40), [("flapping", "a b")]),
        (again(ROLL, 1, every=60), [("restarts", "a b c")]),
        (again(ROLL, 3, every=60), [("restarts", "a b c")]),
        ([*again(ROLL, 1, every=60), (90, "-a"), (91, "-b"), (92, "-c")], [("restarts", "a b c")]),
        (again("-a -b -c; +a +b +c", 2), [("restarts", "a b c")]),
        # One flaps while the others are deployed.
        (
            sorted([*again(ROLL, 1, every=60), *again("+x; -x", 4, every=16, begin=22)]),
            [("flapping", "x"), ("restarts", "a b c")],
        ),
        # Another one closes for good meanwhile.
        ([*again("-a; +a", 1), (32, "-b"), (38, "-a")], []),
        (again("-a; +a", 1), []),
    ],
)
def test_who_came_and_went(
    moves: Moves, expected: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("moves") / "broker.log"
    path.write_text(broker_log([*FIRST, *moves]), encoding="utf-8")
    (group,) = report([path])["groups"]
    assert [(each["kind"], " ".join(each["who"])) for each in group["deploys"]] == expected
    assert {each["deploy"] for each in group["rebalances"]} - {None} == {each["id"] for each in group["deploys"]}
