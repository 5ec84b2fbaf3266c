"""The whole site, with the reports of all examples: its links and its size."""

import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.site.conftest import NEEDS_DOCS, Quiet, Serving, Visitor, built, visitor
from tests.site.test_site import Links, lost_links
from tools.pages import ROOT
from tools.site import examples
from tools.site.playground import missing

__all__ = ["visitor"]

pytestmark = pytest.mark.slow

hooks = pytest.importorskip("tools.site.hooks", reason=NEEDS_DOCS)

MOST_BYTES = 60_000_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    built(folder, "")
    return folder


def test_everything_that_can_be_looked_at_is_there_in_less_than_60_mb(whole: Path) -> None:
    assert [name for name in examples.names() if not (whole / "reports" / f"{name}.html").is_file()] == []
    assert (whole / "reports" / "audit.html").is_file()
    assert len(list((whole / "notebooks").glob("*.html"))) >= 9
    assert (whole / "playground" / "index.html").is_file() or missing()
    size = sum(path.stat().st_size for path in whole.rglob("*") if path.is_file())
    assert size < MOST_BYTES


def test_every_link_of_the_whole_site_leads_somewhere(whole: Path) -> None:
    pages = {page: Links(page) for page in sorted(whole.rglob("*.html")) if page.name != "404.html"}
    assert lost_links(whole, pages) == []


@pytest.fixture(scope="module")
def address(whole: Path) -> Iterator[str]:
    with Serving(("127.0.0.1", 0), partial(Quiet, directory=str(whole))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


LIVE = [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if path.stem not in hooks.ON_SPARK]
SHOWN = "[...document.querySelectorAll('.output')].map(each => each.textContent).join(' ').replace(/\\s+/g, ' ').trim()"
IDLE = "document.body.hasAttribute('data-live') && !document.body.hasAttribute('data-live-busy')"


@pytest.mark.parametrize("name", LIVE)
def test_a_notebook_run_in_the_browser_puts_out_what_is_committed(visitor: Visitor, address: str, name: str) -> None:
    if missing():
        pytest.skip(missing())
    browser = visitor.browser
    browser.visit(f"{address}/notebooks/{name}.html")
    committed = browser.run(SHOWN)
    for _ in ("make them live", "run all"):
        browser.run("document.querySelector('p.live button').click(), 0")
    until = time.monotonic() + 300
    while not browser.run(IDLE):
        assert time.monotonic() < until, browser.run("document.querySelector('p.live output').textContent")
        time.sleep(0.5)
    assert browser.run(SHOWN) == committed
    assert visitor.asked_elsewhere() == []
    assert browser.complaints() == []
