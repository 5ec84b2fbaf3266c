"""The site: links lead somewhere, everything can be reached, nothing is fetched from elsewhere, and what is promised
is there."""

import base64
import json
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

from tests.site.conftest import NEEDS_DOCS, Visitor
from tools.pages import ROOT
from tools.site import examples, home, playground, vendor
from tools.site.notebooks import as_markdown
from tools.site.sources import relinked
from tools.site.steps import steps_of, with_steps

hooks = pytest.importorskip("tools.site.hooks", reason=NEEDS_DOCS)


class Links(HTMLParser):
    """What a page of the site refers to, what it has fetched, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.page = page
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := found.get(name)))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        elif tag in ("script", "img", "link", "iframe", "source"):
            address = found.get("src") or found.get("href") or ""
            if found.get("rel") != "canonical" and not address.startswith("data:"):
                self.fetched.append(address)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    return {page: Links(page) for page in sorted(site.rglob("*.html")) if page.name != "404.html"}


def target_of(page: Path, link: str) -> tuple[Path, str]:
    """The file to which a link leads, and the anchor in it."""
    path, anchor = urldefrag(link)
    target = (page.parent / unquote(path)).resolve() if path else page
    return (target / "index.html" if target.is_dir() else target), anchor


def test_every_link_leads_to_a_page_of_the_site_and_to_its_anchor(site: Path, pages: dict[Path, Links]) -> None:
    assert lost_links(site, pages) == []


def lost_links(site: Path, pages: dict[Path, Links]) -> list[str]:
    return [f"{page.relative_to(site)}: {link}" for page, links in pages.items() for link in _lost(page, links, pages)]


def _lost(page: Path, links: Links, pages: dict[Path, Links]) -> Iterator[str]:
    for link in [*links.links, *links.fetched]:
        if not link or urlsplit(link).scheme or link.startswith("//"):
            continue
        target, anchor = target_of(page, link)
        # What stands behind # in the address of the playground is an example.
        of_page = anchor and target in pages and "=" not in anchor
        if not target.is_file() or (of_page and unquote(anchor) not in pages[target].anchors):
            yield link


def test_every_page_can_be_reached_from_the_first(site: Path, pages: dict[Path, Links]) -> None:
    seen, todo = set(), [site / "index.html"]
    while todo:
        page = todo.pop()
        if page in seen or page not in pages:
            continue
        seen.add(page)
        todo += [target_of(page, link)[0] for link in pages[page].links if not urlsplit(link).scheme]
    assert [str(page.relative_to(site)) for page in pages if page not in seen] == []


def test_every_page_says_its_language(site: Path, pages: dict[Path, Links]) -> None:
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if "__md_scope" in text:
            chinese = "zh" in page.relative_to(site).parts[:-1]
            assert f'<html lang="{"zh" if chinese else "en"}"' in text, page
            assert f'placeholder="{"搜索" if chinese else "Search"}"' in text, page


def test_no_page_names_anything_elsewhere_to_be_fetched(site: Path, pages: dict[Path, Links]) -> None:
    fetched = [each for links in pages.values() for each in links.fetched]
    assert fetched
    assert [each for each in fetched if urlsplit(each).scheme or each.startswith("//")] == []
    styles = [style.read_text(encoding="utf-8") for style in site.rglob("*.css")]
    assert not any(re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style) for style in styles)


def test_each_example_links_its_scenario_its_report_its_code_and_the_test_of_its_claim(site: Path) -> None:
    page = (site / "examples.html").read_text(encoding="utf-8")
    sections = {found[1]: found[0] for found in re.finditer(r'<h2 id="([a-z-]+)".*?(?=<h2|</article)', page, re.DOTALL)}
    assert sorted(sections) == examples.names()
    for name, section in sections.items():
        assert f'href="examples/scenarios/{name}.yaml.html"' in section, name
        assert re.search(r'href="(kafka_coordinator|rocketmq_selfbalance)/[\w/]+\.py\.html"', section), name
        assert re.search(r'href="tests/(?:compare/running/)?test_\w+\.py\.html#__codelineno-0-\d+"', section), name
    for name in hooks.QUICK:
        assert f'href="reports/{name}.html"' in sections[name]
        assert f'src="pictures/{name}-kafka.svg"' in sections[name]
    assert ">test_a_group" not in page


def test_the_anchor_of_a_proof_is_the_line_of_its_function(site: Path) -> None:
    (words, path, anchor), *_ = examples.proofs("eager-and-cooperative")
    page = (site / f"{path}.html").read_text(encoding="utf-8")
    line = re.search(rf'id="{anchor}".*?(?=<a |</span></code>)', page, re.DOTALL)
    assert line
    assert f"test_{words.replace(' ', '_')}" in re.sub("<[^>]*>", "", line[0])


@pytest.mark.parametrize("folder", ["notebooks", "notebooks/zh"])
def test_every_notebook_is_a_page_with_its_pictures(site: Path, folder: str) -> None:
    notebooks = sorted((site / folder).glob("*.ipynb"))
    assert len(notebooks) == 10
    for path in notebooks:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        outputs = [out for cell in cells for out in cell.get("outputs", [])]
        pictures = sum("image/svg+xml" in out.get("data", {}) for out in outputs)
        page = path.with_suffix(".html").read_text(encoding="utf-8")
        assert page.count('<div class="picture"><svg') == pictures
        assert page.count('<div class="output">') == len(outputs)
        # Words in folded parts are Markdown, too, and the next lesson is a page.
        folded = sum("".join(cell["source"]).count("<details>") for cell in cells if cell["cell_type"] == "markdown")
        assert page.count("</summary>\n<p>") + page.count("</summary>\n<ul>") == folded
        assert 'href="2-kafka-coordinator.html"' in page or not path.name.startswith("1-")


def test_a_notebook_shows_the_richest_form_and_keeps_text_as_it_is() -> None:
    rich = {"output_type": "display_data", "data": {"text/plain": "words", "image/svg+xml": "<svg></svg>"}}
    plain = {"output_type": "stream", "name": "stdout", "text": ["a < b\n", "\n", "c\n"]}
    words = "Text\n- one\n- two\n\n[next](2-b.ipynb)\n\n<details>\n"
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", words]},
        {"cell_type": "code", "source": "x = 1", "outputs": [rich, plain]},
    ]
    text = as_markdown({"cells": cells}, "n.ipynb")
    assert text.startswith("# Title\n\n[The notebook itself](n.ipynb)")
    assert "Text\n\n- one\n- two\n\n[next](2-b.md)\n\n<details markdown>\n" in text
    chinese = as_markdown({"cells": cells}, "n.ipynb", live=True, language="zh")
    assert chinese.startswith("# Title\n\n[笔记本文件](n.ipynb)")
    # These pages lie one folder deeper.
    assert 'data-base="../../playground/"' in chinese
    assert 'src="../../assets/live.js"' in chinese
    assert '<div class="picture"><svg></svg></div>' in text
    assert "words" not in text
    assert "<pre>a &lt; b\n\nc</pre>" in text


def test_a_link_out_of_docs_leads_to_its_page_and_another_one_stays() -> None:
    text = "[a](../notebooks/1.ipynb) [b](../x/y.yaml#top) [c](other.md) [d](../gone.py)"
    there = {"notebooks/1.md", "x/y.yaml.md"}
    assert relinked(text, "page.md", there) == "[a](notebooks/1.md) [b](x/y.yaml.md#top) [c](other.md) [d](../gone.py)"
    assert relinked("[a](../../x/y.yaml)", "decisions/page.md", there) == "[a](../x/y.yaml.md)"


READ = (
    "index.html",
    "examples.html",
    "slides.html",
    "lessons-rocketmq.html",
    "gallery.html",
    "notebooks/2-kafka-coordinator.html",
)


@pytest.mark.parametrize("page", READ)
@pytest.mark.parametrize("width", [1280, 400])
def test_no_page_asks_another_host_or_is_wider_than_the_window(
    visitor: Visitor, site: Path, page: str, width: int
) -> None:
    browser, _ = visitor
    browser.size(width, 900, dark=width == 400)
    browser.open(site / page)
    wide = browser.run("document.documentElement.scrollWidth")
    assert wide <= width
    assert visitor.asked_elsewhere() == []
    assert browser.complaints() == []


def test_a_request_to_another_host_would_be_seen(visitor: Visitor, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<!doctype html><img src="http://elsewhere.example/picture.png">', encoding="utf-8")
    visitor.browser.open(page)
    assert visitor.asked_elsewhere() == ["http://elsewhere.example/picture.png"]
    visitor.asked.clear()


@pytest.mark.parametrize(("words", "page"), [("cooperative", "examples.html"), ("协调者分配", "zh/side-by-side.html")])
def test_the_search_finds_without_a_server(visitor: Visitor, site: Path, words: str, page: str) -> None:
    browser = visitor.browser
    browser.size(1280, 900)
    browser.open(site / "index.html")
    browser.run("document.querySelector('.md-search__input').focus(), 0")
    for letter in words:
        browser.call("Input.dispatchKeyEvent", type="char", text=letter)
    until = time.monotonic() + 60
    results = "[...document.querySelectorAll('.md-search-result__link')].map(link => link.getAttribute('href'))"
    # The first results are those of the first letters.
    while not any(page in link for link in browser.run(results)):
        assert time.monotonic() < until, browser.run(results)
        # What was typed before the page's script listened is told to it once more.
        browser.run("document.querySelector('.md-search__input').dispatchEvent(new KeyboardEvent('keyup')), 0")
        time.sleep(0.5)


def test_the_join_on_the_first_page_can_be_played(visitor: Visitor, site: Path) -> None:
    browser = visitor.browser
    browser.size(1280, 900)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    browser.open(site / "index.html")
    loads = "[...document.querySelectorAll('.loads')].map(each => each.textContent)"
    assert browser.run(loads) == ["c1 2 · c2 2 · c3 2"] * 2
    browser.run("document.querySelector('.pace select').value = '1', 0")
    browser.run("document.querySelector('#join .play').click(), 0")
    seen: list[list[str]] = []
    until = time.monotonic() + 60
    while not seen or seen[-1] != ["c1 2 · c2 2 · c3 2"] * 2:
        now = browser.run(loads)
        if now not in seen[-1:]:
            seen.append(now)
        assert time.monotonic() < until, f"the join does not end: {seen}"
    assert seen[0] == ["c1 3 · c2 3 · c3 0"] * 2
    # While RocketMQ's new member waits for its first pass, two queues have no owner.
    assert any(rocketmq == "c1 2 · c2 2 · c3 0" for _, rocketmq in seen)
    assert browser.run("document.documentElement.scrollWidth") <= 1280


def test_each_message_of_a_lesson_is_a_step_with_a_phase_and_a_sentence() -> None:
    for page in (*(ROOT / "docs").glob("lessons-*.md"), ROOT / "docs" / "pop.md"):
        markdown = page.read_text(encoding="utf-8")
        lessons = with_steps(markdown)
        assert lessons.count('<div class="steps"') == markdown.count("mermaid\nsequenceDiagram") > 0
    steps = steps_of(
        "sequenceDiagram\n    participant n1 as c1\n    participant n2 as b\n    Note over n1,n2: c1 joins (1s)\n"
        "    n1->>n2: JoinGroup (1s)\n    n2-xn1: JoinGroupAnswer (1.002s)\n    Note over n1: c1 owns nothing (2s)\n"
    )["steps"]
    assert [(step["from"], step["to"], step["phase"], step["lost"]) for step in steps] == [
        (None, None, "", False),
        (0, 1, "join", False),
        (1, 0, "join", True),
        (0, 0, "join", False),
    ]
    assert steps[2]["says"].endswith("(JoinGroupAnswer to c1). It never arrives.")
    with pytest.raises(ValueError, match="no step of a diagram"):
        steps_of("sequenceDiagram\n    loop forever\n")


def test_each_lesson_has_four_slides_and_the_arrow_keys_turn_them(visitor: Visitor, site: Path) -> None:
    browser = visitor.browser
    browser.size(1280, 900)
    browser.open(site / "slides.html")
    titles = browser.run("[...document.querySelectorAll('.slide h2')].map(title => title.firstChild.textContent)")
    assert [at for at, title in enumerate(titles) if title.startswith("Lesson ")] == list(range(0, 28, 4))
    assert len(titles) == 28
    # A script may not fill the screen by itself.
    browser.run(
        "Object.defineProperty(document, 'fullscreenElement', {get: () => document.querySelector('.slides')}), 0"
    )
    for key, shown in (("ArrowRight", 1), ("End", 27), ("ArrowRight", 27), ("ArrowLeft", 26)):
        browser.run(f"dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}})), 0")
        assert (
            browser.run("[...document.querySelectorAll('.slide')].findIndex(each => each.matches('.shown'))") == shown
        )


def test_a_link_leads_to_a_step_of_a_lesson(visitor: Visitor, site: Path) -> None:
    browser = visitor.browser
    browser.size(400, 900)
    browser.open(site / "lessons-kafka.html")
    browser.run("location.hash = '#join=6', 0")
    told = "document.querySelector('[data-lesson=join] .steptold').textContent"
    until = time.monotonic() + 30
    while "JoinGroup to broker-0" not in browser.run(told):
        assert time.monotonic() < until, browser.run(told)
        time.sleep(0.1)
    browser.run("document.querySelector('[data-lesson=join] [aria-label=\"one step forward\"]').click(), 0")
    assert browser.run(told).startswith("join: ")
    assert "(JoinGroupAnswer to c2)" in browser.run(told)
    assert browser.run("location.hash") == "#join=7"
    assert browser.run("document.documentElement.scrollWidth") <= 400


def test_the_first_page_shows_all_of_it_in_one_screen(visitor: Visitor, site: Path) -> None:
    visitor.browser.size(1280, 900)
    visitor.browser.open(site / "index.html")
    ends = "[...document.querySelectorAll('.doors > div')].map(door => door.getBoundingClientRect().bottom)"
    assert len(found := visitor.browser.run(ends)) == 3
    assert max(found) <= 900


def test_a_diagram_is_drawn_without_network_and_fits(visitor: Visitor, site: Path) -> None:
    if not (site / "assets" / "mermaid.min.js").is_file():
        pytest.skip("Mermaid is not there (python -m tools.site.vendor fetches it with npm)")
    browser = visitor.browser
    browser.size(500, 900)
    browser.open(site / "lessons-rocketmq.html")
    # The theme draws into a closed shadow root; its height tells of it.
    drawn = "document.querySelector('div.mermaid')?.getBoundingClientRect().height ?? 0"
    until = time.monotonic() + 60
    while browser.run(drawn) < 200:
        assert time.monotonic() < until, "the diagram is not drawn"
        time.sleep(0.1)
    assert browser.run("document.documentElement.scrollWidth") <= 500
    assert visitor.asked_elsewhere() == []


@pytest.mark.parametrize("system", ["kafka", "rocketmq"])
def test_a_cheat_sheet_prints_on_one_side_of_a4(visitor: Visitor, site: Path, system: str) -> None:
    visitor.browser.open(site / f"cheat-sheet-{system}.html")
    printed = visitor.browser.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"]
    assert len(re.findall(rb"/Type /Page\b", base64.b64decode(printed))) == 1


def test_every_variant_of_the_join_is_named() -> None:
    page = home.timeline()
    assert [label for label in home.SHOWN if f'"label":"{label}"' not in page] == []


def test_without_npm_the_site_has_no_playground_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(vendor, "PYODIDE", tmp_path / "pyodide")
    monkeypatch.setattr(vendor, "MERMAID", tmp_path / "mermaid")
    assert playground.files() == {}
    page = playground.with_way_in((ROOT / "docs" / "playground.md").read_text(encoding="utf-8"))
    assert "This site was built without the playground: Pyodide is not there" in page
    assert "](playground/index.html)" not in page
    from mkdocs.config import load_config

    config = hooks.on_config(load_config(str(ROOT / "mkdocs.yml")))
    assert config.mdx_configs["pymdownx.superfences"]["custom_fences"] == []
    sections = examples.sections((ROOT / "docs" / "examples.md").read_text(encoding="utf-8"), {}, False)
    assert "playground" not in sections


def test_what_cannot_be_fetched_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(vendor, "FOLDER", tmp_path)
    monkeypatch.setattr(vendor, "_from_pip", lambda: "no network")
    monkeypatch.setenv("PATH", str(tmp_path))
    problems = vendor.fetch()
    assert len(problems) == 2
    assert "npm is not on PATH" in problems[0]
    assert "no network" in problems[1]
