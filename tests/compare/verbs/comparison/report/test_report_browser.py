"""The comparison's report in a real browser: nothing fetched, no complaint, and everything a reader does works."""

from functools import cache
from typing import Any

import pytest

from compare.showing.comparison.page import write_comparison
from protocols.scenario.model import Scenario
from tests.compare.browser import Browser
from tests.compare.compared import made, ran


def text_of(*of: Scenario) -> str:
    found = []
    for each in of:
        runs, document = ran(each, with_chart_data=True)
        found.append((each, runs, document))
    return write_comparison(found)


@cache
def four_members() -> str:
    return text_of(made())


@cache
def many() -> str:
    """A hang (two owners), many members and queues, names that are long."""
    members = {f"a-member-with-a-long-name-{number:02d}": ["T"] for number in range(20)}
    return text_of(
        made(
            topics={"T": 90},
            group={"name": "g", "members": members},
            systems=["kafka-zookeeper:range", {"system": "kafka:range", "settings": {"session.timeout.ms": 6000}}],
            events=[{"at": "20s", "hang": "a-member-with-a-long-name-03", "for": "30s"}],
        )
    )


WAIT = "new Promise(done => requestAnimationFrame(() => setTimeout(done, 80)))"


def looked_at(page: Browser, selector: str) -> None:
    """Scroll there and wait until what comes into view is drawn."""
    page.run(f"document.querySelector({selector!r}).scrollIntoView(), 0")
    page.run(WAIT)


def pressed(page: Browser, key: str, text: str = "") -> None:
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text if kind == "keyDown" else "")
    page.run(WAIT)


def clicked(page: Browser, selector: str) -> None:
    page.run(f"document.querySelector({selector!r}).click(), 0")
    page.run(WAIT)


def chosen(page: Browser, selector: str, value: str) -> None:
    """Choose from a list, by the value or the ``last`` there is."""
    page.run(
        f"(list => {{ list.value = {value!r} === 'last' ? [...list.options].pop().value : {value!r};"
        f" list.dispatchEvent(new Event('change')) }})(document.querySelector({selector!r})), 0"
    )
    page.run(WAIT)


def step(page: Browser) -> str:
    return str(page.run("document.querySelector('.controls output').textContent"))


def test_every_variant_is_drawn_when_it_is_looked_at(show: Any) -> None:
    page = show(four_members())
    for at in range(3):
        looked_at(page, f"#v0-{at}")
        assert page.run(f"document.querySelectorAll('#v0-{at} svg.chart').length") == 4
    words = page.run("document.querySelector('#v0-0 svg.ownership').getAttribute('aria-label')")
    assert words.startswith("kafka:range: who owns each of 4 queues over 90 s. ")
    assert words.endswith("Queues at the end: c1 2, c2 2, c3 0, c4 0.")
    assert page.run("document.querySelectorAll('#v0-0 .ownership .events circle').length") == 2
    assert page.run("document.querySelector('#v0-0 .ownership .labels').textContent").startswith("c1")


def test_the_time_shown_is_chosen_for_all_variants_together(show: Any) -> None:
    page = show(four_members())
    looked_at(page, "#v0-0")
    shown = "document.querySelector('.window output').textContent"
    assert page.run(shown) == "0:00 to 1:30"
    chosen(page, ".window select", "1")
    assert page.run(shown) == "0:48 to 1:10"
    clicked(page, '[aria-label="show less time"]')
    clicked(page, '[aria-label="later"]')
    assert page.run(shown) != "0:48 to 1:10"
    for _ in range(5):
        clicked(page, '[aria-label="show more time"]')
    assert page.run(shown) == "0:00 to 1:30"
    assert page.run("document.querySelector('.window select').value") == ""


def test_what_is_under_the_pointer_is_told(show: Any) -> None:
    page = show(four_members())
    looked_at(page, "#v0-0")
    box = page.run(
        "(b => [b.left, b.top, b.width])(document.querySelector('#v0-0 svg.ownership').getBoundingClientRect())"
    )
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] - 20, y=box[1] + 30)
    page.run(WAIT)
    assert "X-0: c1 (" in page.run("document.querySelector('#v0-0 .readout').textContent")
    assert "to the end)" in page.run("document.querySelector('#v0-0 .readout').textContent")
    page.run("document.querySelector('#v0-0 .pictures').focus()")
    pressed(page, "Home")
    assert page.run("document.querySelector('#v0-0 .readout').textContent").endswith("no queue has an owner")
    pressed(page, "End")
    assert "c1 2, c2 2" in page.run("document.querySelector('#v0-0 .readout').textContent")


def test_one_member_can_be_shown_alone(show: Any) -> None:
    page = show(four_members())
    looked_at(page, "#v0-0")
    clicked(page, "#v0-0 .member")
    assert page.run("document.querySelectorAll('#v0-0 .ownership path.faded').length") == 1
    assert page.run("document.querySelector('#v0-0 .member').getAttribute('aria-pressed')") == "true"
    clicked(page, "#v0-0 .member")
    assert page.run("document.querySelectorAll('.faded').length") == 0


def test_the_player_goes_forward_and_back_by_buttons_and_by_keys(show: Any) -> None:
    page = show(four_members())
    looked_at(page, ".player")
    assert step(page).startswith("1 of ")
    clicked(page, '[aria-label="one step forward"]')
    assert step(page).startswith("2 of ")
    page.run("document.querySelector('.stage').focus()")
    pressed(page, "ArrowRight")
    assert step(page).startswith("3 of ")
    pressed(page, "ArrowLeft")
    pressed(page, "End")
    last = step(page).split(" ")[0]
    assert step(page).startswith(f"{last} of {last}")
    pressed(page, "Home")
    assert step(page).startswith("1 of ")
    assert page.run("document.querySelectorAll('.sequence .step.now').length") == 1


def test_the_state_graph_is_lit_up_and_the_cause_is_told(show: Any) -> None:
    page = show(four_members())
    looked_at(page, ".player")
    assert page.run("[...document.querySelectorAll('.graph:not(.epochs) h4')].map(each => each.textContent)") == [
        "group",
        "consumer",
    ]
    lit = "[...document.querySelectorAll('.standing + .graph .state.lit')].map(each => each.dataset.state)"
    assert page.run(lit) == []
    states = set()
    for _ in range(40):
        clicked(page, '[aria-label="one step forward"]')
        states.update(page.run(lit))
        assert len(page.run(lit)) <= 1
    assert {"Empty", "PreparingRebalance", "Stable"} <= states
    chosen(page, ".player label + label select", "last")
    assert "c4 joins" in page.run("document.querySelector('.tale h4').textContent")
    for _ in range(12):
        clicked(page, '[aria-label="one step forward"]')
    before = step(page)
    clicked(page, ".causes .link")
    assert step(page) != before
    assert "c1: X-0" in page.run("document.querySelector('.owned').textContent")


def standing(page: Browser) -> list[str]:
    """What is told of the group: its numbers, then its members, a line each."""
    found = page.run(
        "[...document.querySelectorAll('.epochs .numbers div, .epochs tbody tr')].map(each =>"
        " [...each.children].map(cell => cell.textContent).join(' '))"
    )
    assert isinstance(found, list)
    return found


def test_states_and_epochs_stand_beside_the_state_graph(show: Any) -> None:
    page = show(text_of(made(systems=["kafka:uniform", "kafka:range"], load={"produce": "0/s"}, events=JOIN)))
    looked_at(page, ".player")
    assert standing(page) == []
    chosen(page, ".player label + label select", "last")
    assert standing(page) == STABLE_TWO
    seen = [standing(page)]
    last = step(page).split(" ")[2]
    while not step(page).startswith(f"{last} of "):
        clicked(page, '[aria-label="one step forward"]')
        seen += [standing(page)] if standing(page) != seen[-1] else []
    assert any("c3 Unreleased partitions 4" in each and "state Reconciling" in each for each in seen)
    assert any("c2 Unrevoked partitions 3" in each and "assignment epoch 4" in each for each in seen), seen
    assert seen[-1] == ["state Stable", "group epoch 4", "assignment epoch 4", *(f"c{n} Stable 4" for n in (1, 2, 3))]
    drawn = "[...document.querySelectorAll('.graph:not(.epochs) h4')].map(each => each.textContent)"
    assert page.run(drawn) == ["consumer protocol", "consumer group", "consumer group member"]
    chosen(page, ".player select", "1")
    clicked(page, '[aria-label="last step"]')
    assert standing(page) == ["state Stable", "generation 2", *(f"c{n} STABLE 2" for n in (1, 2, 3))]
    assert page.run(drawn) == ["group", "consumer"]


JOIN = [{"at": "20s", "join": "c3", "subscribe": ["X", "Y"]}]
STABLE_TWO = ["state Stable", "group epoch 3", "assignment epoch 3", "c1 Stable 3", "c2 Stable 3"]


def test_gaps_and_double_owners_stand_out_among_many_queues(show: Any) -> None:
    page = show(many())
    looked_at(page, "#v0-0")
    words = page.run("document.querySelector('#v0-0 svg.ownership').getAttribute('aria-label')")
    assert "times a queue has several owners" in words
    assert page.run("document.querySelectorAll('#v0-0 .ownership .twoowners').length") == 1
    assert page.run("document.querySelectorAll('#v0-0 .ownership .nobody').length") == 1
    # A colour that comes again has a pattern of its own.
    assert page.run("document.querySelectorAll('#v0-0 .ownership .over').length") == 13


@pytest.mark.parametrize(("width", "dark"), [(380, True), (1280, False)])
def test_nothing_is_wider_than_the_window(show: Any, width: int, dark: bool) -> None:
    page = show(many(), width, dark)
    for selector in ("#v0-0", "#v0-1", ".player"):
        looked_at(page, selector)
        assert page.run("document.documentElement.scrollWidth") == width


def test_pictures_have_words_and_controls_have_names(show: Any) -> None:
    page = show(four_members())
    looked_at(page, "#v0-0")
    looked_at(page, ".player")
    assert page.run("[...document.querySelectorAll('svg[role=img]')].every(each => each.getAttribute('aria-label'))")
    unnamed = page.run(
        "[...document.querySelectorAll('button, input, select')].filter(each =>"
        " !(each.getAttribute('aria-label') || each.textContent.trim() || each.closest('label'))).length"
    )
    assert unnamed == 0


def test_several_scenarios_have_their_own_pictures_and_players(show: Any) -> None:
    page = show(text_of(made(systems=["kafka:range"]), made(name="another", systems=["kafka:sticky"])))
    looked_at(page, "#s1 .player")
    assert page.run("document.querySelector('#s1 .player select').textContent") == "kafka:sticky"
    looked_at(page, "#v1-0")
    assert page.run("document.querySelector('#v1-0 svg.ownership').getAttribute('aria-label')").startswith(
        "kafka:sticky"
    )
