"""Patterns are read as RE2/J reads them: re2j_answers.json has what its release 1.8 answered.

``answers`` maps an expression to those of ``names`` that it matches whole; null: refused.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_coordinator.coordinator.consumer_groups import patterns
from kafka_coordinator.coordinator.consumer_groups.patterns import BadPattern, compiled, matching
from tests.rows import rows

RECORDED = json.loads((Path(__file__).parent / "re2j_answers.json").read_text(encoding="utf-8"))

PARTS = re.findall(r"\S+", r"a b A _ . - \. \d \W [ab] [^a-c] [.-] [b-a] ( (?: ) | ^ $ * +? ? {2} {1,} {2,1} {0,2}?")


@pytest.fixture
def without_re2(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As where google-re2 is not installed."""
    monkeypatch.setitem(sys.modules, "re2", None)
    compiled.cache_clear()
    yield
    compiled.cache_clear()


@rows("regex", RECORDED["answers"])
def test_an_expression_matches_what_it_matches_in_the_broker(regex: str) -> None:
    expected = RECORDED["answers"][regex]
    if expected is None:
        with pytest.raises(BadPattern, match=r"^the broker takes no such pattern, expected one of RE2: "):
            compiled(regex)
    else:
        assert matching(regex, frozenset(RECORDED["names"])) == frozenset(expected)


def test_both_kinds_of_answers_are_recorded() -> None:
    refused = [regex for regex, names in RECORDED["answers"].items() if names is None]
    assert 100 < len(refused) < len(RECORDED["answers"]) - 100


def test_a_quoted_backslash_is_no_escape() -> None:
    assert matching(r"\Q\C\E|\\C", frozenset(["C"])) == frozenset()


def test_without_re2_an_expression_is_answered_alike_or_refused(without_re2: None) -> None:
    answered = 0
    for regex, expected in RECORDED["answers"].items():
        try:
            found = matching(regex, frozenset(RECORDED["names"]))
        except BadPattern:
            continue
        assert expected is not None, regex
        assert found == frozenset(expected), regex
        answered += 1
    assert answered > 40


@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join))
def test_what_is_read_without_re2_is_read_by_it_alike(regex: str) -> None:
    read = []
    for reader in (patterns._common, compiled):
        try:
            pattern = reader(regex)
            read.append([name for name in RECORDED["names"] if pattern.fullmatch(name)])
        except BadPattern as error:
            if "not installed" in str(error):
                return
            read.append(None)
    assert read[0] == read[1]


@rows(
    ("regex", "names"),
    [
        (r"orders-.*", {"orders-1", "orders-eu.2"}),
        (r"orders\-\d{1,3}", {"orders-1"}),
        (r"^(?:orders|pay_[a-z0-9]+?)(-[^A-Z.]\w*)?$", {"orders-1", "pay_x"}),
    ],
)
def test_without_re2_ordinary_patterns_are_read(regex: str, names: set[str], without_re2: None) -> None:
    assert matching(regex, frozenset(["orders-1", "orders-eu.2", "pay_x", "Orders", "other"])) == names


@rows("regex", ["(?i)orders", r"\pL+", "(a{2}){2}", "[[:alpha:]]", "a++", r"orders-(?=e)", "é"])
def test_without_re2_what_it_alone_reads_is_refused_with_the_remedy(regex: str, without_re2: None) -> None:
    with pytest.raises(BadPattern, match=r"not installed: expected pip install 'equipoise\[serve\]', or only letters"):
        compiled(regex)
