"""Pages use the words of the field, and in Chinese one word for a record and others for what the protocols send."""

import re
from pathlib import Path

import pytest

from tools.pages import DOCS, ROOT

OWN_WORDS = {
    r"for ever": "forever, without end",
    r"anew": "again",
    r"stands? still|stood still": "hangs, freezes, pauses",
    r"(is|are|was|were) told": "learns, gets, is reported",
    r"tells? of": "shows, describes",
    r"[Ww]hoever": "the member that",
    r"of one's own|one reads": "your own, you read",
    r"he|him|his": "it",
    r"takes? leave|goes? round|comes? about|to be had|made good": "unregisters, repeats, occurs, available, repaired",
    r"beliefs?|believes? (in|to)": "the member's view, acts as the owner",
    r"what hurts": "harm",
}
"""What stands there too often, and better words."""
CHINESE = {r"逐条消息|协议消息|心跳消息|请求消息|消息数量": "报文、请求", r"主题": "Topic", r"没有动作": "不会立即触发"}
"""消息 is a record, 报文 or 请求 what clients and servers say to each other."""

PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "DEVELOPERS")),
    *(page for page in DOCS.rglob("*.md") if page.parent.name != "zh"),
]


def words_of(page: Path) -> str:
    """The text without code."""
    return re.sub(
        r"^```.*?^```|`[^`\n]*`|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pages_use_the_words_of_the_field(language: str, subtests: pytest.Subtests) -> None:
    pages, words = (PAGES, OWN_WORDS) if language == "en" else ([*DOCS.glob("zh/*.md")], CHINESE)
    for page in pages:
        with subtests.test(page=page.relative_to(ROOT)):
            text = words_of(page)
            found = {
                word: better
                for word, better in words.items()
                if re.search(rf"\b({word})\b" if language == "en" else word, text)
            }
            assert found == {}
