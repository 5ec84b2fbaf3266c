"""The whole site, with the reports of all examples: its links and its size."""

from pathlib import Path

import pytest

from tests.site.conftest import built
from tests.site.test_site import Links, lost_links
from tools.site import examples
from tools.site.playground import missing

pytestmark = pytest.mark.slow

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
