"""Fixtures of all tests of `compare`: a browser for each module, and a page shown in it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.compare.browser import Browser, browsing, find_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on PATH")
    with browsing(program, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Browser]]:
    """Shows HTML text, in a window that is ``width`` pixels wide."""

    def opened(text: str, width: int = 1280, dark: bool = False) -> Browser:
        path = tmp_path / "out.html"
        path.write_text(text, encoding="utf-8")
        browser.size(width, 900, dark)
        browser.open(path)
        return browser

    yield opened
    # Whatever a test did: the page asked for itself only, and the browser had nothing to say.
    assert [address.rsplit("/", 1)[1] for address in browser.requests()] == ["out.html"]
    assert browser.complaints() == []
