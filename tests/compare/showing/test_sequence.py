"""Sequence diagrams as SVG have every message and note of the diagram, one below the other."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from compare.running.run_variant import run_variant
from compare.running.systems import read
from compare.running.variants import variants_of
from compare.showing.pictures.messages import sequence_picture
from protocols.timeline.sequence import Arrow, Note, SequenceDiagram, sequence_diagram
from tests.compare.showing import equipoise

PATH = Path(__file__).parents[3] / "examples" / "scenarios" / "two-owners-at-a-join.yaml"


def texts(svg: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(svg).iter() if each.tag.endswith("}text")]


@pytest.mark.parametrize("label", ["kafka:range", "rocketmq:AVG"])
def test_every_step_is_drawn_below_the_one_before(label: str) -> None:
    (variant,) = variants_of(read(PATH), [label])
    diagram = sequence_diagram(run_variant(variant, tracing=True).timeline)
    picture = sequence_picture(diagram, "title")
    drawn = texts(picture.svg)
    assert [each.text for each in drawn[: len(diagram.participants) + 1]] == ["title", *diagram.participants]
    steps = drawn[len(diagram.participants) + 1 :]
    said = " ".join(step.text for step in diagram.steps)
    assert " ".join(each.text or "" for each in steps).split() == said.split()
    heights = [float(each.attrib["y"]) for each in steps]
    assert heights == sorted(heights)
    width, height = (float(ElementTree.fromstring(picture.svg).attrib[name]) for name in ("width", "height"))
    assert all(0 <= float(each.attrib["x"]) <= width and float(each.attrib["y"]) <= height for each in steps)


def test_lost_messages_are_dashed_and_say_so() -> None:
    diagram = SequenceDiagram(("a", "b"), (Arrow("a", "b", "Beat (1s)", True), Note(None, "a is gone (2s)")))
    picture = sequence_picture(diagram, "loss")
    assert "stroke-dasharray" in picture.svg
    assert picture.words == "loss\na -> b: Beat (1s) (lost)\na is gone (2s)"


def test_the_command_writes_it() -> None:
    done = equipoise("compare", str(PATH), "--sequence", "kafka:range", "--diagram", "svg")
    assert done.returncode == 0
    assert texts(done.stdout)[0].text == "two owners for a while at a join: kafka:range"
