"""Patterns are read as RE2/J reads them: re2j_answers.json has what its release 1.8 answered.

``answers`` maps an expression to those of ``names`` that it matches whole; null: refused.
"""

import json
from pathlib import Path

import pytest

from kafka_coordinator.coordinator.consumer_groups.patterns import BadPattern, compiled, matching

RECORDED = json.loads((Path(__file__).parent / "re2j_answers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("regex", RECORDED["answers"])
def test_an_expression_matches_what_it_matches_in_the_broker(regex: str) -> None:
    expected = RECORDED["answers"][regex]
    if expected is None:
        with pytest.raises(BadPattern):
            compiled(regex)
    else:
        assert matching(regex, frozenset(RECORDED["names"])) == frozenset(expected)


def test_both_kinds_of_answers_are_recorded() -> None:
    refused = [regex for regex, names in RECORDED["answers"].items() if names is None]
    assert 100 < len(refused) < len(RECORDED["answers"]) - 100
