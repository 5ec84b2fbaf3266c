"""A mistake in a scenario is told in one line: file, line, field, what was expected."""

from pathlib import Path

import pytest

from compare.running.systems import read, read_text, scenario
from protocols.errors import UserError
from tests.protocols.scenario.texts import TEXT, changed, line_of
from tests.rows import rows

MISTAKES = {
    # Fields
    "unknown field": ("load:", "lod: {produce: 10/s}", 0, "lod: unknown field 'lod', did you mean load?"),
    "unknown field of a member": (
        *("c2:", "      c2: {subscibe: [TopicX]}", 0),
        "groups.seed.members.c2.subscibe: unknown field 'subscibe', did you mean subscribe?",
    ),
    "unknown event": (
        *("- {at: 60s", "  - {at: 60s, crush: c2}", 0),
        "events[1].crush: unknown event 'crush', did you mean crash?",
    ),
    "two events in one": (
        *("- {at: 60s", "  - {at: 60s, crash: c2, leave: c2}", 0),
        "events[1].crash: leave and crash in one event",
    ),
    "no event": ("- {at: 60s", "  - {at: 60s}", 0, "events[1]: nothing happens, expected one of join, leave"),
    "nobody to resolve": (
        *("c2:", "      c2: {pattern: Topic., resolved_by: leader}", 0),
        "groups.seed.members.c2.resolved_by: 'leader' is unknown, expected 'client' or 'broker'",
    ),
    # Units
    "negative time": ("- {at: 60s", "  - {at: -5s, crash: c2}", 0, "events[1].at: '-5s' is negative"),
    "missing unit": (
        "- {at: 60s",
        "  - {at: 60, crash: c2}",
        0,
        "events[1].at: 60 has no unit, expected a number with",
    ),
    "endless": ("run:", f"run: {{for: {'9' * 400}s}}", 0, "run.for: '999"),
    "latency backwards": ("run:", "run: {for: 5min, latency: 5ms..1ms}", 0, "run.latency: '5ms..1ms' is no latency"),
    # Types
    "no mapping": ("c2:", "      c2: 5", 0, "groups.seed.members.c2: 5 is no mapping"),
    "no number": ("TopicX:", "  TopicX: {queues: many}", 0, "topics.TopicX.queues: 'many' is no number of queues"),
    "endless queues": ("TopicX:", f"  TopicX: {{queues: {10**9}}}", 0, "no number of queues, expected one from 0 to 1"),
    "out of bounds": (
        *("expect:", "expect: {max_over_mean: -1}", 0),
        "expect.max_over_mean: -1 is out of bounds, expected at least 0",
    ),
    "truth as a number": ("run:", "run: {for: 5min, seed: true}", 0, "run.seed: True is no whole number"),
    "unknown word": (
        *("- {at: 180s", "  - {at: 180s, broker: broker-a, does: explode}", 0),
        "events[8].does: 'explode' is unknown, expected 'stop', 'kill', 'freeze' or 'return'",
    ),
    "broken pattern": (
        *("c2:", "      c2: {pattern: 'Topic('}", 0),
        "groups.seed.members.c2.pattern: 'Topic(' is no regular expression",
    ),
    "subscription and pattern": (
        *("c2:", "      c2: {subscribe: [TopicX], pattern: 'T.*'}", 0),
        "groups.seed.members.c2.pattern: subscribe and pattern at once",
    ),
    "no subscription": ("c2:", "      c2: {handle: 5ms}", 0, "groups.seed.members.c2: subscribes to nothing"),
    # Members
    "unknown member": (
        *("- {at: 60s", "  - {at: 60s, crash: c9}", 0),
        "events[1].crash: unknown member 'c9', expected one of c1, c2, c3",
    ),
    "unknown group": (
        *("- {at: 60s", "  - {at: 60s, crash: c2, group: sed}", 0),
        "events[1].group: unknown group 'sed', did you mean seed?",
    ),
    "joins twice": (
        *("- {at: 60s", "  - {at: 60s, join: c3, subscribe: [TopicX]}", 0),
        "events[1].join: c3 joins at 60s while it is a member: c3 joins at 10s",
    ),
    "restarts before it joins": (
        *("- {at: 60s", "  - {at: 5s, restart: c3}", 0),
        "events[1].restart: c3 restarts at 5s but never ran before: it joins at 10s",
    ),
    "leaves twice": (
        *("- {at: 60s", "  - {at: 60s, crash: c2}\n  - {at: 61s, leave: c2}", 1),
        "events[2].leave: c2 does not run at 61s: c2 crashes at 60s",
    ),
    "joins without topics": (
        *("- {at: 10s", "  - {at: 10s, join: c3}", 0),
        "events[0].join: c3 joins without subscribe",
    ),
    "hangs within a hang": (
        *("- {at: 90s", "  - {at: 90s, hang: c1, for: 40s}\n  - {at: 95s, hang: c1, for: 1s}", 1),
        "events[3].hang: c1 is still in the previous one until 130s",
    ),
    "one id twice": (
        *("c2:", "      c1: {subscribe: [TopicX]}", 0),
        "groups.seed.members: 'c1' appears twice, first on line 10",
    ),
    "a server's name": (
        *("c2:", "      broker-a: {subscribe: [TopicX]}\n      c2: {subscribe: [TopicX]}", 0),
        "groups.seed.members.broker-a: 'broker-a' is the name of a server",
    ),
    # Topics and brokers
    "unknown topic changes": (
        *("- {at: 120s", "  - {at: 120s, queues: {TopicZ: 8}}", 0),
        "events[4].queues.TopicZ: unknown topic 'TopicZ', did you mean Topic",
    ),
    "known topic is added": (
        *("- {at: 120s", "  - {at: 120s, add_topic: {TopicX: {queues: 2}}}", 0),
        "events[4].add_topic.TopicX: topic 'TopicX' already exists",
    ),
    "unknown queue is committed": (
        *("- {at: 130s", "  - {at: 130s, commit: c1, offsets: {TopicX-8: 5}}", 0),
        "events[5].offsets: unknown queue 'TopicX-8'",
    ),
    "a running broker returns": (
        *("- {at: 180s", "  - {at: 180s, broker: broker-a, does: return}", 0),
        "events[8].does: broker-a runs at 180s: it cannot return",
    ),
    "brokers written twice": (
        *("brokers:", "brokers: [broker-a, broker-b]\nbrokers: [broker-c]", 1),
        "'brokers' appears twice, first on line 3",
    ),
    "loss beyond all": (
        *("- {at: 160s", "  - {at: 160s, network: loss, between: [c1], loss: 1.5, for: 10s}", 0),
        "events[7].loss: 1.5 is not a share of messages",
    ),
    # The run
    "after the end": (
        "- {at: 180s",
        "  - {at: 10min, broker: broker-a, does: stop}",
        0,
        "events[8].at: 10min is after",
    ),
    "unknown system": (
        *("- kafka:range", "  - kafak:range", 0),
        "systems[0]: unknown system 'kafak', did you mean kafka?",
    ),
    "one label twice": (
        *("- kafka:range", "  - kafka:range\n  - kafka:range", 1),
        "systems[1]: the label 'kafka:range' appears twice",
    ),
    # YAML
    "a cycle": ("c2:", "      c2: &me {subscribe: [TopicX], settings: {again: *me}}", 0, "a cycle, the alias &me"),
    "no YAML": ("c2:", "      c2: {subscribe: [TopicX}", 0, "expected YAML"),
    "a tag": ("c2:", "      c2: !!python/object:os.system {}", 0, "has no meaning in a scenario"),
}


def error_of(text: str) -> str:
    with pytest.raises(UserError) as caught:
        read_text(text, "day.yaml")
    return str(caught.value)


def test_the_unchanged_scenario_is_read() -> None:
    assert read_text(TEXT).name == "a day in short"


@rows("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_line_and_field(mistake: str) -> None:
    beginning, new, below, expected = MISTAKES[mistake]
    error = error_of(changed(beginning, new))
    assert error.startswith(f"day.yaml line {line_of(beginning) + below}: ")
    assert expected in error
    assert "\n" not in error


def test_one_error_in_full() -> None:
    assert error_of(changed("- {at: 60s", "  - {at: 60, crash: c2}")) == (
        "day.yaml line 19: events[1].at: 60 has no unit, expected a number with a unit such as 5s, 300ms or 2min"
    )


def test_what_python_gives_is_checked_alike() -> None:
    with pytest.raises(UserError, match=r"^scenario: events\[0\]\.crash: unknown member 'c9', expected one of c1$"):
        scenario(
            name="short",
            topics={"orders": 4},
            group={"name": "g", "members": {"c1": ["orders"]}},
            run={"for": "1min"},
            events=[{"at": "5s", "crash": "c9"}],
        )
    with pytest.raises(UserError, match=r"^scenario: name: is missing"):
        scenario({})


@rows(
    ("raw", "expected"),
    [
        (b"", "line 1: empty"),
        (b"name: \xff", "line 1: no UTF-8"),
        (b"name: a\nabout: \x00", "line 2: a character"),
        (b"[" * 5000, "line 1"),
        (b"a: 1\n---\nb: 2\n", "line 2: "),
        (b"just words", "line 1: 'just words' is no mapping"),
        (b"name: " + b"9" * 5000, "line 1: '999"),
        (b"? [a, b]\n: c\n", "line 1: a key that is itself"),
        (b"a: &a [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
            b"%c: &%c [%s]\n" % (98 + n, 98 + n, b", ".join([b"*%c" % (97 + n)] * 10)) for n in range(8)
        ), "more than 500000 values"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_yaml_is_told_in_one_line(tmp_path: Path, raw: bytes, expected: str) -> None:
    file = tmp_path / "some.yaml"
    file.write_bytes(raw)
    with pytest.raises(UserError) as caught:
        read(file)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(str(file))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read(tmp_path / "none.yaml")
