"""The report of logs in a real browser: nothing fetched, no complaint, and everything a reader does works."""

from typing import Any

from compare.logs.document import document
from compare.logs.lines import LogFile
from compare.logs.reading import Sources
from compare.showing.logs.page import write_night
from tests.compare.browser import Browser
from tests.compare.logs.test_report import big, page

WAIT = "new Promise(done => requestAnimationFrame(() => setTimeout(done, 60)))"


def pressed(browser: Browser, *keys: str) -> None:
    browser.run("document.querySelector('.pane').focus(), 0")
    for key in keys:
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=key if len(key) == 1 else "")
    browser.run(WAIT)


def told(browser: Browser) -> str:
    return str(browser.run("document.querySelector('.told').innerText"))


def test_the_picture_in_words(show: Any) -> None:
    browser = show(page())
    words = browser.run("document.querySelector('svg.strip').getAttribute('aria-label')")
    assert words.startswith("11 rebalances over 79.1 s, the longest took 6")
    assert "poll_interval_exceeded 5" in words
    assert browser.run("document.querySelectorAll('svg.lanes text').length") == 3


def test_the_keyboard_goes_from_bar_to_bar_and_opens_the_lines(show: Any) -> None:
    browser = show(page())
    pressed(browser, "ArrowRight", "ArrowRight")
    assert told(browser).startswith("billing-2 left, because a batch took longer than max.poll.interval.ms")
    assert "broker.log:63" in told(browser)
    assert "reason: explicit `LeaveGroup` request for (billing-2-" in told(browser)
    pressed(browser, "End")
    assert "client-billing-2" in told(browser)
    pressed(browser, "Home")
    assert told(browser).startswith("billing-1, billing-2 and billing-3 joined")


def mouse(browser: Browser, kind: str) -> None:
    """The button goes down or up on the last bars of the strip."""
    x, y = browser.run(
        "(box => [box.left + box.width - 30, box.top + 15])"
        "(document.querySelector('svg.strip').getBoundingClientRect())"
    )
    browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def test_a_click_on_a_bar_opens_its_lines_also_while_the_page_moves(show: Any) -> None:
    browser = show(page("slow-rejoin-41"))
    mouse(browser, "mousePressed")
    browser.run("document.querySelector('.chart-place').append('one more line'), 0")
    browser.run(WAIT)
    mouse(browser, "mouseReleased")
    shown = "document.querySelector('.told').innerText"
    browser.run(
        f"new Promise((done, late) => {{ setTimeout(late, 10000);"
        f" (function look() {{ {shown}.startsWith('Choose') ? setTimeout(look, 20) : done() }})() }})"
    )
    assert told(browser).startswith("print-3 joined")
    assert "print-2" in told(browser)


def test_one_cause_alone_and_less_time(show: Any) -> None:
    browser = show(page())
    browser.run(
        "(list => { list.value = [...list.options].find(each => each.text === 'poll_interval_exceeded').value;"
        " list.dispatchEvent(new Event('change')) })(document.querySelector('.window select')), 0"
    )
    pressed(browser, "ArrowRight", "ArrowRight", "+", "+")
    assert told(browser).startswith("billing-2 left")
    assert browser.run("document.querySelectorAll('svg.strip .faded').length") > 0
    shown = browser.run("document.querySelector('.window output').textContent")
    assert shown.startswith("2026-11-22 01:38:4")


def test_a_big_night_is_drawn_at_once(show: Any) -> None:
    log = big(10_000, 10)
    files = [LogFile("broker.log", "broker.log", None)]
    browser = show(write_night([log], document([log], Sources(files, [])), files, {}))
    assert browser.run("document.querySelectorAll('svg.strip path').length") < 50
    spent = browser.run(
        "(() => { const since = performance.now(); [...document.querySelectorAll('.buttons button')]"
        ".find(each => each.textContent === '+').click(); return performance.now() - since })()"
    )
    assert spent < 2000
    pressed(browser, "End")
    assert told(browser).startswith("w9 polled again")
