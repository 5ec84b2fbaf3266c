"""What docs/defects.md says of released systems: its reproductions, and the figures that recordings give."""

import contextlib
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kafka_coordinator.assignors.inputs import AssignorError
from tests.exploration.coordinator_traces import GOLDEN, STORIES
from tests.exploration.written_traces import ASKED, WRITTEN, lines_of

PAGE = Path("docs/defects.md").read_text(encoding="utf-8")
CAPTURES = Path("tests/captures/broker-failures/rocketmq")
_BLOCK = re.compile(r"<!-- (trace|story): (.*?) -->\n```\w*\n(.*?)\n```", re.DOTALL)
BLOCKS = [(kind, name, text.split("\n")) for kind, name, text in _BLOCK.findall(PAGE)]


def _vectors(name: str) -> list[dict[str, Any]]:
    with gzip.open(GOLDEN.parent / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _recording(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CAPTURES / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_each_defect_has_versions_a_reproduction_and_a_workaround() -> None:
    defects = PAGE.split("\n### ")[1:]
    assert len(defects) >= 12
    for defect in defects:
        assert all(part in defect for part in ("**Versions** ", "```", "**Workaround** ")), defect[:80]
        (reproduction,) = re.findall(r"```\w*\n(.*?)\n```", defect, re.DOTALL)
        assert len([line for line in reproduction.split("\n") if line and not line.endswith(" later")]) <= 5, defect[
            :80
        ]


def test_requests_and_answers_are_those_of_the_released_coordinators() -> None:
    kept = {trace["trace_id"]: trace for trace in _vectors("coordinator-stories")}
    shown = [name for kind, name, _ in BLOCKS if kind == "trace"]
    for kind, name, lines in BLOCKS:
        if kind == "trace":
            assert lines == lines_of(kept[name]), name
    assert {name.partition(" ")[0] for name in shown} == {each.name for each in WRITTEN} - {
        "emptied-while-preparing",
        "leader-gives-a-partition-that-does-not-exist",
        "nothing-for-the-newcomer",
    }
    for name in shown:
        written = next(each for each in WRITTEN if each.name == name.partition(" ")[0])
        section = next(part for part in PAGE.split("\n### ") if f"<!-- trace: {name} -->" in part)
        assert [version for version in ASKED if version in section.partition("(asked")[0]] == list(written.versions)


def test_stories_have_the_steps_that_were_confirmed() -> None:
    for kind, name, lines in BLOCKS:
        if kind == "story":
            scenario, system = name.split()
            told = [each for each in STORIES if (each.scenario, each.system) == (scenario, system)]
            section = next(part for part in PAGE.split("\n### ") if f"<!-- story: {name} -->" in part)
            for line in lines:
                (story,) = [each for each in told if f"--property {each.property} " in line]
                assert f"examples/explore/{scenario}.yaml" in line
                assert f"{story.steps} " in section
                assert (f"--client-firings {story.bounds.client_firings}" in line) is True
                assert ("--broker-firings 0" in line) is (story.bounds.server_firings == 0)


def test_what_assignors_give() -> None:
    sticky, share = re.findall(r"```python\n(.*?)\n```", PAGE, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(sticky, {})
    assert printed.getvalue().strip() == "[0, 2]"
    with pytest.raises(AssignorError) as thrown_here:
        exec(share, {})
    assert thrown_here.value.error == "NoSuchElementException"
    quirks = [
        vector
        for name in ("sticky", "cooperative-sticky")
        for vector in _vectors(f"assignors-client-{name}")
        if "assigned_without_subscription" in vector.get("quirk", ())
    ]
    assert f"{len(quirks)} of its recorded answers" in PAGE
    vectors = _vectors("assignors-server-simple-4.4")
    thrown = [vector for vector in vectors if vector.get("expected_error") == "NoSuchElementException"]
    assert f"{len(thrown)} of {len(vectors):,} recorded answers" in PAGE


def test_what_recordings_of_brokers_show() -> None:
    plain = _recording("masters-kill-1")["totals"]["plain"]
    twice, there = plain["handled_twice_same_place"], plain["handled_twice_on_the_broker"]
    assert f"{twice} messages were handled twice in the run, {twice - there} of them" in PAGE
    group = next(each for each in _recording("masters-freeze-20s-1")["group"] if each["listener"] == "concurrent")
    owned = {each["member"]: each["owns"] for each in group["ownership"]}
    queues = {f"broker-{broker}-{number}" for broker in "ab" for number in range(6)}
    nobody = sorted(queues.difference(*owned.values()))
    assert "nobody owns " + " and ".join(f"`{queue}`" for queue in nobody) in PAGE
