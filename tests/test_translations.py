"""Pages in Chinese have the structure of the English ones: headings, lists, tables, code, numbers and links."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CHINESE = sorted((DOCS / "zh").glob("*.md"))
PAGES = ("index.md", "notebooks.md", "quick-start.md", "scale.md", "side-by-side.md", "start.md")

CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
BAR = re.compile(r"(?<!\\)[|]")
LINK = re.compile(r"\]\(([^)]+)\)")


def shape(text: str) -> list[str]:
    """The page line by line without its words: marks of headings, numbers of cells; a paragraph is one line."""
    found: list[str] = []
    for block in re.split(r"\n{2,}|(?<=\n)(?=[|#])", CODE.sub("code", text)):
        line = block.strip()
        if line.startswith("#"):
            heading, _, rest = line.partition("\n")
            found.append(heading.split(" ")[0])
            if rest.strip():
                found.append("text")
        elif line.startswith("|"):
            found.append(f"{len(BAR.findall(line)) - 1} cells")
        elif line:
            found.append("text")
    return found


def links(text: str, folder: Path) -> Counter[str]:
    """Where the page's links lead, from the root, those to what is translated taken for the English ones."""
    found: Counter[str] = Counter()
    for link in LINK.findall(CODE.sub("", text)):
        path, _, anchor = link.partition("#")
        target = (folder / path).resolve()
        assert target.is_file(), link
        english = target.parent.parent / target.name if target.parent.name == "zh" else target
        if english.parent == ROOT / "notebooks":
            english = english.with_suffix(".ipynb")
        found[f"{english.relative_to(ROOT)}#{anchor}"] += 1
    return found


def test_the_pages_for_beginners_are_translated() -> None:
    assert {path.name for path in CHINESE} >= set(PAGES)


def test_both_languages_have_one_structure(subtests: pytest.Subtests) -> None:
    for page in CHINESE:
        with subtests.test(page=page):
            chinese, english = page.read_text(encoding="utf-8"), (DOCS / page.name).read_text(encoding="utf-8")
            assert re.search(r"[一-鿿]", chinese)
            assert shape(chinese) == shape(english)
            assert CODE.findall(chinese) == CODE.findall(english)
            assert Counter(re.findall(r"<!--.*?-->", chinese)) == Counter(re.findall(r"<!--.*?-->", english))
            assert links(chinese, page.parent) == links(english, DOCS)
