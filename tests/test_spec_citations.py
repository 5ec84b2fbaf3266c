"""Code cites the spec by number, ``spec 2.5`` or ``spec share 3.1``: each number is a section of docs/spec.

A citation without a name means the spec of the package that it stands in."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("protocols", "kafka_coordinator", "rocketmq_selfbalance", "compare", "equipoise", "tests")
NAMES = "grpc|kafka|rocketmq|pop|share"
_STEPS = r",? (?:steps?|no\.|item|rule) \w+(?: (?:to|and) \d+\b(?!\.\d))?"
_NUMBER = rf"\d+(?:\.\d+)?(?:{_STEPS})?"
CITATION = re.compile(rf"\bspec(?: ({NAMES}))? ({_NUMBER}(?:(?:, and|,| to| and) {_NUMBER})*)", re.IGNORECASE)
IRREGULAR = re.compile(
    rf"\bspec(?:/\w+\.md|'s| sections?)(?: (?:{NAMES}|sections?))? \d|\b(?:{NAMES})[ -]spec \d", re.IGNORECASE
)


@cache
def sections(name: str) -> frozenset[str]:
    """The numbers of all sections, each with an anchor of that name before it."""
    page = (ROOT / "docs" / "spec" / f"{name}.md").read_text("utf-8")
    return frozenset(re.findall(r'^#+ <a id="([\d.]+)"></a>\1 ', page, re.MULTILINE))


def cited(path: Path, text: str) -> Iterator[tuple[str, str]]:
    """What a module cites: the spec's name ("" where nothing says which is meant), a section's number."""
    home = {"kafka_coordinator": "kafka", "rocketmq_selfbalance": "rocketmq"}
    own = next((home[part] for part in path.parts if part in home), "")
    for citation in CITATION.finditer(re.sub(r"\s*\n[\s#]*", " ", text)):
        for number in re.findall(r"\d+(?:\.\d+)?", re.sub(_STEPS, "", citation[2])):
            yield citation[1] or own, number


def wrong(path: Path, text: str) -> list[str]:
    found = [
        f"{path}: spec {name} {number}"
        for name, number in cited(path, text)
        if not name or number not in sections(name)
    ]
    return found + [f"{path}: {irregular[0]}" for irregular in IRREGULAR.finditer(text)]


def test_every_citation_is_a_section(subtests: pytest.Subtests) -> None:
    for package in PACKAGES:
        with subtests.test(package=package):
            files = [file for file in (ROOT / package).rglob("*.py") if file != Path(__file__)]
            assert [fault for file in files for fault in wrong(file.relative_to(ROOT), file.read_text("utf-8"))] == []


def test_citations_are_found_in_all_their_forms() -> None:
    text = (
        '"""(spec\n2.3, 2.4 to 2.6; spec 4.4 step 4, 5.2), (spec share 3.1, spec 8, no. 9; spec 4.3, steps 1 and 5)."""'
    )
    kafka = [("kafka", number) for number in ("2.3", "2.4", "2.6", "4.4", "5.2", "8", "4.3")]
    assert list(cited(Path("kafka_coordinator/x.py"), text)) == [*kafka[:5], ("share", "3.1"), *kafka[5:]]


def test_a_wrong_citation_is_noticed(subtests: pytest.Subtests) -> None:
    for text in [
        "(spec 99.1)",
        "(spec 2.5, 2.99)",
        "(spec 2.5 to\n2.99)",
        "(spec pop 2.9)",
        "Spec 2.99: so",
        "(spec section 2.5)",
    ]:
        with subtests.test(text=text):
            assert wrong(Path("kafka_coordinator/planted.py"), text)


def test_outside_of_the_systems_a_citation_says_which_spec_it_means() -> None:
    assert wrong(Path("compare/planted.py"), "(spec 2.5)")
    assert not wrong(Path("compare/planted.py"), "(spec kafka 2.5)")
