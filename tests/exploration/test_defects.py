"""Planted defects are found, with short stories, as docs/explorer.md says; the unchanged models pass the same
searches."""

import pytest

from compare.exploring.answers import document, read_token, retold
from tests.exploration.defects import DEFECTS, Defect
from tests.exploration.defects.record import Search
from tests.exploration.table import PAGE, Row, row, written_rows

WRITTEN = {each.name: each for each in written_rows(PAGE.read_text(encoding="utf-8"))}
MOST_STEPS = {1: 10, 2: 10, 3: 16}
"""Members to steps of a story."""

named = pytest.mark.parametrize("defect", DEFECTS, ids=[each.name for each in DEFECTS])


def test_there_are_twenty_in_all_parts() -> None:
    assert len(DEFECTS) >= 20
    assert list(WRITTEN) == [each.name for each in DEFECTS]
    parts = {each.where.partition(":")[0] for each in DEFECTS}
    assert len(parts) == 6, parts
    wheres = " ".join(each.where for each in DEFECTS)
    assert all(name in wheres for name in ("ConsumerManager", "RebalanceLockManager", "ConsumerOffsetManager"))


@named
def test_it_is_found_with_a_short_story(defect: Defect) -> None:
    found, written = row(defect), WRITTEN[defect.name]
    assert found._replace(states=0) == written._replace(states=0), _remedy(found)
    assert 0.5 < found.states / written.states < 2, _remedy(found)
    assert found.steps <= min(defect.search.steps, MOST_STEPS[found.members])


SEARCHES = {defect.search: defect for defect in DEFECTS}
QUICK = {defect.where.partition(":")[0]: defect.search for defect in SEARCHES.values()}
"""One search in each part; `make test-slow` has the others, too."""


@pytest.mark.parametrize(
    "search",
    [
        pytest.param(search, id=defect.name, marks=() if search in QUICK.values() else pytest.mark.slow)
        for search, defect in SEARCHES.items()
    ],
)
def test_the_unchanged_model_passes_the_same_search(search: Search) -> None:
    _, found = search.answer()
    assert not found.stories


def test_the_story_of_a_defect_violates_only_while_it_is_planted() -> None:
    defect = DEFECTS[0]
    with defect.planted():
        subject, found = defect.search.answer()
        (told,) = document(subject, found)["properties"]
        assert told["token"] is not None
        token = read_token(told["token"])
        assert retold(defect.search.subject(), token).stories
    assert not retold(defect.search.subject(), token).stories


def test_a_node_that_raises_ends_any_search_with_a_story() -> None:
    (defect,) = [each for each in DEFECTS if each.search.property == "model-invariants"]
    with defect.planted():
        subject, found = defect.search._replace(property="single-owner-per-generation").answer()
    told = document(subject, found)["properties"]
    assert [each["name"] for each in told if not each["held"]] == ["model-invariants"]


def _remedy(found: Row) -> str:
    return f"{found.line} is found: python -m tests.exploration.table writes {PAGE.name} anew"
