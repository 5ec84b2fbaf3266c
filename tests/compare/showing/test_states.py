"""The verb `states` draws the table from which the model runs, and nothing else."""

import json
import sys
from itertools import combinations
from xml.etree import ElementTree

import pytest

from compare.cli import main
from compare.running.systems import MACHINES, Machine, machine
from compare.showing.states import mermaid, svg
from kafka_coordinator.coordinator.states import GROUP
from protocols.state_machine import BEGINNING, Edge
from tests.compare.showing import equipoise

EVERY = [(system, name) for system, machines in MACHINES.items() for name in machines]


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["equipoise", "states", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_json_has_every_edge_of_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(monkeypatch, "kafka", "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["older_name"]) for each in document["states"]] == [
        (state, GROUP.older_names.get(state)) for state in GROUP.states
    ]
    assert {each["name"]: each["meaning"] for each in document["states"] if each["meaning"]} == GROUP.meanings
    drawn = {(each["state"], each["event"], each["guard"] or "", each["next"]) for each in document["edges"]}
    assert drawn == set(GROUP.edges)
    assert len(document["edges"]) == len(GROUP.edges)


@pytest.mark.parametrize("format", ["text", "table", "markdown"])
def test_text_has_a_line_for_every_edge(
    format: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, "kafka", "--format", format) == 0
    out = capsys.readouterr().out
    assert "CompletingRebalance (AwaitingSync)" in out.replace("\\", "")
    assert len([line for line in out.splitlines() if "Rebalance" in line or "Dead" in line or "Stable" in line]) >= 40


def test_the_picture_shows_every_edge_and_no_label_lies_on_another(subtests: pytest.Subtests) -> None:
    for system, name in EVERY:
        with subtests.test(system=system, name=name):
            drawn = machine(system, name)
            picture = ElementTree.fromstring(svg(drawn))
            texts = [each for each in picture.iter() if each.tag.endswith("text")]
            shown = [each.text for each in texts]
            assert sorted(filter(None, shown)) == sorted(
                [*map(drawn.shown, drawn.states), *(edge.label for edge in drawn.edges)]
            )
            for one, other in combinations(map(_box, texts), 2):
                assert one[1] <= other[0] or other[1] <= one[0] or abs(one[2] - other[2]) >= 12
            width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
            assert all(left >= 0 and right <= width and 0 < base < height for left, right, base in map(_box, texts))


def _box(text: ElementTree.Element) -> tuple[float, float, float]:
    """Left, right and base line, with letters as wide as the drawing takes them to be."""
    x, width = float(text.attrib["x"]), len(text.text or "") * 6.7
    left = {"middle": x - width / 2, "end": x - width}.get(text.attrib["text-anchor"], x)
    return left, left + width, float(text.attrib["y"])


def test_an_edge_that_leads_up_and_an_awkward_name_are_drawn_too() -> None:
    drawn = Machine("s", "m", ("a b", "<c>"), {}, (Edge("a b", "go", "", "<c>"), Edge("<c>", "back", "if", "a b")))
    assert "&lt;c&gt;" in svg(drawn)
    assert "a_b --> _c_: go" in mermaid(drawn)
    assert ElementTree.fromstring(svg(drawn)) is not None


def test_a_machine_that_there_is_not_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, "kafka", "--machine", "broker") == 2
    error = capsys.readouterr().err
    assert "kafka has no such state machine, expected one of group, consumer" in error
    assert error.count("\n") == 1


def test_the_same_picture_under_any_hash_seed() -> None:
    runs = [equipoise("states", "kafka", "--format", "svg", hash_seed=seed) for seed in ("0", "1")]
    assert [run.returncode for run in runs] == [0, 0]
    assert runs[0].stdout == runs[1].stdout


def test_every_state_has_a_meaning(subtests: pytest.Subtests) -> None:
    for system, name in EVERY:
        with subtests.test(system=system, name=name):
            drawn = machine(system, name)
            assert set(drawn.meanings) == set(drawn.states) - {BEGINNING}
