"""The report in a real browser: nothing fetched, no complaint, and everything a reader clicks works."""

from typing import Any

import pytest

from compare.showing.audit.page import write_report
from tests.compare.verbs.audit.report.report_documents import captured, document, group, uneven
from tests.compare.verbs.audit.report.test_report import HOSTILE, hostile

SHOWN = (
    "[...document.querySelectorAll('tr[id^=g]')].filter(row => !row.hidden)"
    ".map(row => row.querySelector('.name').textContent)"
)


@pytest.fixture
def show(show: Any) -> Any:
    return lambda made, width=1280: show(write_report(made), width)


def typed(text: str) -> str:
    return f"search.value = {text!r}, search.dispatchEvent(new Event('input')), 0"


def clicked(selector: str) -> str:
    return f"document.querySelector({selector!r}).click(), 0"


def test_the_worst_group_is_open_with_its_three_pictures(show: Any) -> None:
    page = show(document(uneven("worst"), uneven("other")))
    assert page.run("document.querySelectorAll('.detail').length") == 1
    titles = page.run("[...document.querySelectorAll('figure h4')].map(each => each.firstChild.textContent)")
    assert titles == ["Today", "Best available strategy", "Optimum"]
    labels = page.run("[...document.querySelectorAll('svg.picture')].map(each => each.getAttribute('aria-label'))")
    assert labels[0] == "Today: 4 members drawn, 0 to 9 queues each, 2 idle"
    assert page.run("document.querySelectorAll('figure:first-child .idlewords').length") == 2
    assert page.run("document.querySelectorAll('tr.best').length") == 1


def test_a_group_opens_and_closes_by_mouse_and_keyboard(show: Any) -> None:
    page = show(document(uneven("worst"), uneven("other")))
    page.run(clicked("#g1 .open"))
    assert page.run("document.querySelector('#g1 .open').getAttribute('aria-expanded')") == "true"
    assert page.run("document.querySelector('#g1').nextSibling.id") == "d1"
    page.run("document.querySelector('#g1 .open').focus()")
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
    assert page.run("document.querySelectorAll('#d1').length") == 0


def test_search_finds_groups_by_name_member_topic_and_cause(show: Any) -> None:
    page = show(
        document(
            uneven("alpha"), uneven("beta"), group("gamma", {"pod-7": [["clicks", "", 0]]}, findings=[{"cause": "Odd"}])
        )
    )
    for text, names in {
        "BETA": ["beta"],
        "pod-7": ["gamma"],
        "clicks": ["gamma"],
        "odd": ["gamma"],
        "topic-0 alpha": ["alpha"],
        "nowhere": [],
    }.items():
        page.run(typed(text))
        assert page.run(SHOWN) == names
    assert page.run("nothing.hidden") is False
    page.run(typed(""))
    assert page.run(SHOWN) == ["alpha", "beta", "gamma"]


def test_columns_sort_and_details_stay_with_their_group(show: Any) -> None:
    page = show(document(uneven("b", members=2), uneven("c", members=8), uneven("a", members=4)))
    page.run(clicked("th[data-sort=members] button"))
    assert page.run(SHOWN) == ["c", "a", "b"]
    assert page.run("document.querySelector('th[data-sort=members]').getAttribute('aria-sort')") == "descending"
    assert page.run("d0.previousSibling.id") == "g0"
    page.run("sort.value = 'name', sort.dispatchEvent(new Event('change')), 0")
    assert page.run(SHOWN) == ["a", "b", "c"]
    page.run(clicked("#direction"))
    assert page.run(SHOWN) == ["c", "b", "a"]


def test_the_numbers_on_top_filter(show: Any) -> None:
    page = show(document(uneven("idle"), group("busy", {"c1": [["t", "", 0]]})))
    page.run(clicked("[data-filter=idle]"))
    assert page.run(SHOWN) == ["idle"]
    page.run(clicked("[data-filter=idle]"))
    assert page.run(SHOWN) == ["idle", "busy"]


def test_queues_without_or_with_two_owners_stand_out(show: Any) -> None:
    owners = {"c1": [["t", "b", 0], ["t", "b", 1]], "c2": [["t", "b", 1]]}
    made = group("g", owners, system="rocketmq")
    made["topics"]["t"] |= {"queues": 4, "unowned_queues": 2}
    page = show(document(made))
    assert page.run("document.querySelectorAll('figure:first-child .twice').length") == 2
    assert page.run("document.querySelectorAll('figure:first-child .orphan').length") == 1
    assert page.run("document.querySelector('.value.warn').textContent") == "2, 1 twice"
    assert "2 queues without owner, 1 queue owned twice" in page.run(
        "document.querySelector('svg.picture').getAttribute('aria-label')"
    )


@pytest.mark.parametrize("width", [380, 1280])
def test_nothing_is_wider_than_the_window(show: Any, width: int) -> None:
    long = uneven("long." + "name" * 40, members=60, topics=12, queues=30)
    page = show(document(long, uneven()), width)
    assert page.run("document.documentElement.scrollWidth") == width
    assert "more members" in page.run("document.querySelector('.gap').textContent")


def test_names_are_text(show: Any) -> None:
    made = document(*(each for name in HOSTILE for each in hostile(name)["groups"]))
    page = show(made)
    page.run("document.querySelectorAll('.open[aria-expanded=false]').forEach(each => each.click())")
    assert page.run("document.querySelectorAll('.detail').length") == len(HOSTILE)
    assert (
        page.run("document.querySelectorAll('img, .details script, .groups script, [onload], [onmouseover]').length")
        == 0
    )


@pytest.mark.parametrize("of", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_every_captured_group_can_be_opened(show: Any, of: int) -> None:
    """Every fifth one, or each."""
    made = captured()
    made["groups"] = made["groups"][::of]
    page = show(made)
    page.run("document.querySelectorAll('.open[aria-expanded=false]').forEach(each => each.click())")
    assert page.run("document.querySelectorAll('.detail').length") == len(made["groups"])


def test_a_strategy_without_figures_says_why_and_scores_are_rounded_alike(show: Any) -> None:
    made = uneven("worst")
    broken = {"max": None, "min": None, "idle_members": None, "jain": None, "moves": 0}
    why = "it leaves 2 queues without an owner"
    for strategy in ("AVG", "AVG_BY_CIRCLE"):
        made["what_if"].append({"system": "rocketmq", "strategy": strategy, **broken, "why": why, "reachable": False})
    made |= {"score": 70.0, "score_after": 82.5}
    page = show(document(made))
    notes = page.run("[...document.querySelectorAll('.named + .notes li')].map(each => each.textContent)")
    assert notes == [f"- under AVG, AVG_BY_CIRCLE: {why}."]
    assert "83 expected after the remedy" in page.run("document.querySelector('.meter').textContent")
    assert "83" in page.run("document.querySelector('#g0').textContent")
