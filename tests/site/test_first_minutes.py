"""What a stranger meets in the first ten minutes: an answer within three clicks, a picture before many words."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.rows import rows
from tests.site.conftest import Visitor

CLICKS = 3
WORDS = 150
QUESTIONS = "start.html#ten-questions"
STEPS = "lessons-kafka.html#a-join"


class Asked(NamedTuple):
    """A question, the links that lead from the first page to its answer, and what the answer says."""

    question: str
    clicks: tuple[str, ...]
    answer: str


ASKED = [
    Asked("where is the member fenced", (QUESTIONS, "names.html#kafka-the-coordinator"), "ClassicGroup.validateMember"),
    Asked(
        "what happens to a frozen member",
        (QUESTIONS, "side-by-side.html#what-can-go-wrong-and-for-how-long", "examples.html#frozen-client"),
        "It still believes that it owns its queues",
    ),
    Asked("which setting ends this", (QUESTIONS, "compare.html#what-the-figures-mean"), "setting that would change it"),
    Asked("why did my group rebalance", ("logs.html", "logs.html#causes"), "no heartbeat for the session timeout"),
    Asked("how do I change the strategy", ("plan.html", "plan.html#sources-and-targets"), "Two rolling restarts"),
    Asked("is my group unfair", ("quick-start.html",), "Save the output of the admin tools, and audit it"),
    Asked(
        "which bug does which test find",
        ("testing.html", "testing.html#which-bug-which-assertion"),
        "offsets not committed when partitions are revoked",
    ),
    Asked("can my real client run here", ("serving.html", "serving.html#in-pytest"), "kafka_broker.bootstrap"),
    Asked("what does a join look like", ("start.html", STEPS), "REBALANCE_IN_PROGRESS"),
    Asked(
        "how close is it", ("closeness.html", "closeness.html#kafka-how-a-recording-is-played"), "range of the 50 runs"
    ),
]


class Article(HTMLParser):
    """A page of the site without its bars: its links, and the words of each part, from an anchor to the next one."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.parts: dict[str, str] = {"": ""}
        self._is_in = False
        text = page.read_text(encoding="utf-8")
        # The table of contents is beside the text, and a click on it is a click.
        self.contents = set(re.findall(r'href="(#[^"]+)" class="md-nav__link"', text))
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._is_in |= tag == "article"
        if self._is_in and tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if self._is_in and tag in ("h1", "h2", "h3"):
            self.parts[found.get("id") or ""] = ""

    def handle_endtag(self, tag: str) -> None:
        self._is_in &= tag != "article"

    def handle_data(self, data: str) -> None:
        if self._is_in:
            last = next(reversed(self.parts))
            self.parts[last] += data


@rows("asked", ASKED)
def test_a_question_is_answered_within_three_clicks(asked: Asked, site: Path) -> None:
    assert len(asked.clicks) <= CLICKS
    page, article = "index.html", Article(site / "index.html")
    for link in asked.clicks:
        path, _, anchor = link.partition("#")
        if path == page:
            assert f"#{anchor}" in article.contents, link
            continue
        assert link in article.links, f"{page} has no link {link}"
        page, article = path, Article(site / path)
    _, _, anchor = asked.clicks[-1].partition("#")
    words = article.parts[anchor] if anchor else " ".join(article.parts.values())
    assert asked.answer in " ".join(words.split())


VISIBLE_BEFORE = """(() => {
  const root = document.querySelector('article.md-content__inner') ?? document.body;
  const first = [...root.querySelectorAll('svg, img')].find((picture) => {
    const {width, height} = picture.getBoundingClientRect();
    return width >= 100 && height >= 12;
  });
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let count = 0;
  while (walk.nextNode()) {
    const {parentElement, textContent} = walk.currentNode;
    if (!first || walk.currentNode.compareDocumentPosition(first) & Node.DOCUMENT_POSITION_PRECEDING) break;
    if (parentElement.closest('script, style, svg, option') || !parentElement.checkVisibility()) continue;
    count += textContent.split(/\\s+/).filter(Boolean).length;
  }
  return first ? count : -1;
})()"""


def test_few_words_stand_before_the_first_picture_of_reports_and_of_drawn_pages(
    visitor: Visitor, site: Path, subtests: pytest.Subtests
) -> None:
    drawn = ("lessons-kafka", "lessons-rocketmq", "side-by-side", "atlas", "pop")
    pages = [*sorted((site / "reports").glob("*.html")), *(site / f"{name}.html" for name in drawn)]
    assert len(pages) > len(drawn) + 3
    for page in pages:
        for width in (1280, 400):
            with subtests.test(page=page.name, width=width):
                visitor.browser.size(width, 900)
                visitor.browser.open(page)
                assert 0 < visitor.browser.run(VISIBLE_BEFORE) <= WORDS
                assert visitor.browser.run("document.documentElement.scrollWidth") <= width
