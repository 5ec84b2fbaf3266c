"""The playground in a real browser: both systems run there, an address brings a scenario, a paste is audited."""

import json
import time
from pathlib import Path

import pytest

from tests.compare.browser import Browser
from tests.site.conftest import Visitor
from tools.site.playground import missing

PATIENCE_S = 120
CAPTURE = Path(__file__).parents[2] / "examples" / "captures" / "kafka" / "all-groups.members-verbose.txt"


@pytest.fixture(scope="module")
def page(visitor: Visitor, served: str) -> Browser:
    """The playground, opened once: the tests go on where the one before them stopped."""
    if missing():
        pytest.skip(missing())
    visitor.browser.size(1280, 900)
    visitor.browser.visit(f"{served}/playground/index.html")
    return visitor.browser


def until(page: Browser, condition: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not page.run(condition):
        assert time.monotonic() < end, f"{condition} does not come true: {said(page)}"
        time.sleep(0.1)


def said(page: Browser) -> str:
    text: str = page.run("document.getElementById('state').textContent")
    return text


def report(page: Browser, told: str) -> str:
    """Wait until the engine is idle and has told this; the report's text."""
    until(page, f"!document.body.hasAttribute('data-busy') && {said_it(told)}")
    text: str = page.run("document.getElementById('report').srcdoc")
    return text


def said_it(told: str) -> str:
    return f"document.getElementById('state').textContent.includes({json.dumps(told)})"


def fill(page: Browser, field: str, text: str) -> None:
    page.run(f"document.getElementById({field!r}).value = {json.dumps(text)}, 0")


def press(page: Browser, button: str) -> None:
    page.run(f"document.getElementById({button!r}).click(), 0")


def test_both_systems_run_in_the_browser(page: Browser) -> None:
    text = report(page, "12 of 12 runs")
    assert ">kafka:range<" in text
    assert ">rocketmq:AVG<" in text
    assert text.index("h2:has(+ .charted)") < text.index("</head>")
    # The report draws in the frame: it is a page of its own, from which nobody can look in.
    assert page.run("document.getElementById('report').getAttribute('sandbox')") == "allow-scripts"


def test_an_address_brings_back_the_scenario_that_somebody_changed(page: Browser) -> None:
    report(page, "12 of 12 runs")
    text = page.run("document.getElementById('scenario').value")
    mine = text.replace("name: the eager and the cooperative join", "name: Ein Beitritt – 加入")
    assert mine != text
    fill(page, "scenario", mine)
    fill(page, "systems", "kafka:uniform")
    press(page, "share")
    until(page, "location.hash.includes('scenario=')")
    address = page.run("location.hash")
    assert len(address) < 1_500
    page.run("location.hash = '#example=four-members-two-topics&on=rocketmq:AVG', 0")
    report(page, "four members, two topics: 6 of 6 runs")
    page.run(f"location.hash = {json.dumps(address)}, 0")
    assert "Ein Beitritt – 加入" in report(page, "Ein Beitritt – 加入: 6 of 6 runs")
    assert page.run("document.getElementById('scenario').value") == mine
    # What was cut on its way is told, not run.
    page.run("location.hash = '#scenario=A', 0")
    until(page, said_it("damaged"))


def test_a_mistake_is_told_in_one_line(page: Browser) -> None:
    fill(page, "systems", "kafka:rang")
    page.run("location.hash = '#example=four-members-two-topics&on=kafka:rang', 0")
    report(page, "did you mean range?")
    assert page.run("document.getElementById('state').className") == "bad"


def test_a_paste_is_audited(page: Browser) -> None:
    until(page, "!document.body.hasAttribute('data-busy')")
    press(page, "audit-tab")
    fill(page, "pasted", "nothing that a tool printed")
    press(page, "judge")
    until(page, "document.getElementById('state').className === 'bad' && !document.body.hasAttribute('data-busy')")
    fill(page, "pasted", CAPTURE.read_text(encoding="utf-8"))
    press(page, "judge")
    assert "how fairly consumer groups share their queues" in report(page, "13 groups")


def test_nothing_left_the_page_and_the_browser_had_nothing_to_say(page: Browser, visitor: Visitor, served: str) -> None:
    assert visitor.asked_elsewhere() == []
    assert page.complaints() == []
    # The page's policy holds even if its code wants otherwise, in its worker, too.
    page.run("fetch('http://elsewhere.example/').then(() => 1, () => 0)")
    assert [each for each in page.complaints() if "connect-src" in json.dumps(each)]
    assert visitor.asked_elsewhere() == []
