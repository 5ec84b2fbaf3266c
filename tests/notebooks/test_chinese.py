"""The Chinese texts of the notebooks have the structure of the English ones, cell by cell."""

import json
import re
from collections import Counter
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import nbformat
import pytest
from markdown_it import MarkdownIt

from tools.site.translations import NOTEBOOKS, TEXTS, in_chinese, main, texts, with_texts

NAMES = sorted((path.stem for path in NOTEBOOKS.glob("*.ipynb")), key=lambda name: int(name.partition("-")[0]))

COMMONMARK = MarkdownIt("commonmark").enable("table")
KEPT = ("fence", "code_inline", "html_block", "html_inline")
"""Parts of a text whose content is the same in both languages; of HTML only the tags are."""
COUNTED = ("list_item_open", "tr_open", "td_open", "th_open", "strong_open")
CHINESE = re.compile(r"[一-鿿]")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def text_cells(notebook: dict[str, Any]) -> list[str]:
    return [source(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]


def english(name: str) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    return notebook


def structure(text: str) -> Counter[str]:
    """What Jupyter's Markdown finds in a text, without its words."""
    found: Counter[str] = Counter()
    for block in COMMONMARK.parse(text):
        for token in [block, *(block.children or [])]:
            content = token.content
            if token.type.startswith("html"):
                content = " ".join(re.findall(r"</?\w+", content))
            if token.type in KEPT:
                found[f"{token.type} {token.info} {content}"] += 1
            elif token.type == "heading_open":
                found[token.tag] += 1
            elif token.type == "link_open":
                found[f"link {token.attrs['href']}"] += 1
            elif token.type in COUNTED:
                found[token.type] += 1
    return found


def plain(text: str) -> str:
    """The words that a reader sees outside of code."""
    inline = [child for block in COMMONMARK.parse(text) for child in block.children or []]
    return " ".join(child.content for child in inline if child.type == "text")


def test_every_notebook_is_translated_and_no_translation_is_left_over() -> None:
    assert len(NAMES) == 10
    assert {path.stem for path in TEXTS.iterdir()} == set(NAMES)


def test_each_text_has_structure_numbers_and_code_of_the_english_one(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        with subtests.test(name=name):
            ours, theirs = in_chinese(name), english(name)
            for number, (first, second) in enumerate(zip_longest(text_cells(theirs), text_cells(ours), fillvalue="")):
                assert structure(second) == structure(first), f"cell {number}"
                words = plain(second)
                assert CHINESE.search(words) or not re.search(r"[a-z]{3} [a-z]{3}", plain(first)), f"cell {number}"
                assert not Counter(NUMBER.findall(plain(first))) - Counter(NUMBER.findall(words)), f"cell {number}"
                # An asterisk that is still seen is emphasis that Jupyter does not recognise beside Chinese punctuation.
                assert "*" not in words, f"cell {number}"

            assert [cell["cell_type"] for cell in ours["cells"]] == [cell["cell_type"] for cell in theirs["cells"]]
            for mine, other in zip(ours["cells"], theirs["cells"], strict=True):
                assert mine == other or mine["cell_type"] == "markdown"
            assert {key: ours[key] for key in ours if key != "cells"} == {
                key: theirs[key] for key in theirs if key != "cells"
            }


def test_links_lead_from_lesson_to_lesson_in_both_forms() -> None:
    for here, following in pairwise(NAMES):
        assert f"]({following}.md)" in (TEXTS / f"{here}.md").read_text(encoding="utf-8")
        assert f"]({following}.ipynb)" in text_cells(in_chinese(here))[-1]


def test_written_notebooks_are_valid_and_have_the_texts(tmp_path: Path) -> None:
    main(tmp_path / "new")
    for name in NAMES:
        notebook = nbformat.read(tmp_path / "new" / f"{name}.ipynb", as_version=4)
        nbformat.validate(notebook)
        given = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        assert given == text_cells(in_chinese(name))


def test_texts_that_do_not_fit_are_refused() -> None:
    notebook = {"cells": [{"cell_type": "markdown", "source": "a"}, {"cell_type": "code", "source": "b"}]}
    assert with_texts(notebook, ["甲"])["cells"][0]["source"] == ["甲"]
    assert notebook["cells"][0]["source"] == "a"
    with pytest.raises(ValueError, match="1 cells of text, 2 texts"):
        with_texts(notebook, ["甲", "乙"])
    with pytest.raises(ValueError, match="in order"):
        texts("<!-- cell 1 -->\n甲\n")
