"""What the documentation says of the programs is so."""

import re
from base64 import urlsafe_b64decode
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from zlib import decompress

import pytest

from compare.figures.metrics import NAMES
from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.systems import known_strategies, read_text
from compare.running.systems import read as read_scenario
from compare.running.variants import variants_of
from compare.sweeping.reading import read as read_sweep
from protocols.scenario.reading import read
from protocols.timeline.properties import ONE_OWNER, SETTLES
from tools import four_events
from tools.pages import DOCS, EXPECTED, ROOT, SCENARIOS, claims, comparison_of, examples, pages, printed

BROKEN = {
    ("rebalance-storm", "kafka:cooperative-sticky"): SETTLES,
    ("duplicate-instance-id", "kafka:range"): ONE_OWNER,
    ("duplicate-instance-id", "kafka:cooperative-sticky"): ONE_OWNER,
    ("in-order", "concurrent, 20 threads"): "in_order",
    ("share-poison-record", "kafka:uniform"): SETTLES,
}
"""The check that an example is there to show broken."""
NOBODY_LEFT = {"poison-record"}
"""Examples in which Kafka's group is empty at the end, and everybody believes to own what he had."""

RUN_AGAIN = "python -m tools.pages writes it anew"


def test_pages_that_are_made_are_as_the_programs_are_now() -> None:
    for path, text in pages():
        assert path.read_text(encoding="utf-8") == text, f"{path.relative_to(ROOT)}: {RUN_AGAIN}"


def test_examples_print_what_is_kept_beside_them(subtests: pytest.Subtests) -> None:
    for example in [path.stem for path in examples()]:
        with subtests.test(example=example):
            kept = EXPECTED / f"{example}.md"
            assert printed(SCENARIOS / f"{example}.yaml") == kept.read_text(encoding="utf-8"), RUN_AGAIN


def test_every_example_holds_what_it_expects_and_owns_every_queue_at_the_end(subtests: pytest.Subtests) -> None:
    for example in [path.stem for path in examples()]:
        for variant in comparison_of(example)["variants"]:
            with subtests.test(example=example, variant=variant["label"]):
                broken = [check for check in variant["checks"] if not check["held"]]
                assert variant["timeline"] or variant["shared_delivery"]
                if variant["system"].startswith("rocketmq"):
                    expected = BROKEN.get((example, variant["label"]))
                    assert [check["name"] for check in broken if check["demanded"]] == ([expected] if expected else [])
                elif example not in NOBODY_LEFT:
                    expected = BROKEN.get((example, variant["label"]))
                    assert [check["name"] for check in broken] == ([expected] if expected else [])
                    if expected != SETTLES and variant["shared_delivery"] is None:
                        fairness = variant["fairness"]
                        assert fairness["unowned_queues"] == fairness["double_owned_queues"] == 0


def test_whole_scenarios_and_sweeps_on_pages_can_be_read(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for page in [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]:
        with subtests.test(page=page):
            path = tmp_path / "scenario.yaml"
            for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
                if block.startswith("name:"):
                    path.write_text(block, encoding="utf-8")
                    assert read_sweep(path).sweep.cells if "\nkind:" in block else variants_of(read_scenario(path), ())


def test_no_output_is_kept_of_an_example_that_is_gone() -> None:
    assert sorted(path.stem for path in EXPECTED.glob("*.md")) == [path.stem for path in examples()]


@pytest.mark.parametrize("page", ["side-by-side", "articles"])
def test_every_line_links_to_a_scenario_that_can_be_run(page: str) -> None:
    there = {path.stem for path in examples()}
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert tables
    for table in tables:
        before = text[: text.index(table)].splitlines()
        for line in table.splitlines()[2:]:
            linked = re.findall(r"\(examples\.md#([a-z-]+)\)", line)
            # One table is about one scenario, which the words above it link to.
            linked = linked or re.findall(r"\(examples\.md#([a-z-]+)\)", " ".join(before[-4:]))
            assert linked, f"{page}: {line}"
            assert set(linked) <= there
            assert {where.split(";")[0] for where in claims(line)} <= {*linked}


def test_a_picture_of_an_event_opens_its_scenario_in_the_playground(subtests: pytest.Subtests) -> None:
    for name, shown in four_events.EVENTS.items():
        with subtests.test(event=name):
            page = four_events.with_links(f"![what it shows](../side-by-side/{name}.svg)")
            link = page.removeprefix(f"[![what it shows](../side-by-side/{name}.svg)](../").removesuffix(")")
            packed = parse_qs(urlsplit(link).fragment)["scenario"][0]
            text = decompress(urlsafe_b64decode(f"{packed}=="), wbits=-15).decode()
            assert text == four_events.scenario(shown)
            assert variants_of(read_text(text), tuple(four_events.PANELS))


def test_every_figure_is_explained() -> None:
    text = (DOCS / "figures.md").read_text(encoding="utf-8")
    scenario = read(SCENARIOS / "two-records-twice.yaml", known_strategies())
    (one,) = variants_of(scenario, ())
    others = ("label", "system", "seed", "owners", "causes", "timeline")
    told = [name for name in run_record(run_variant(one)) if name not in others]
    for name in (*NAMES, *told):
        assert f"`{name}`" in text or name == "fairness", name


def test_every_target_that_make_lists_runs_although_a_folder_has_its_name() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert set(phony.split()) == set(listed)
