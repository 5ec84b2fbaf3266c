"""Answers are folded wherever a notebook is shown."""

from base64 import b64decode
from xml.etree import ElementTree

import pytest

from compare.lessons.folding import folded
from compare.showing.pictures import Picture


def test_texts_and_pictures_are_inside_of_a_closed_details() -> None:
    shown = folded("a < b", Picture("<svg>\u00e9</svg>", 'two "words"'))._repr_html_()
    root = ElementTree.fromstring(shown)
    assert root.tag == "details"
    assert root.get("open") is None
    assert [each.tag for each in root] == ["summary", "pre", "img"]
    assert root[1].text == "a < b"
    assert root[2].get("alt") == 'two "words"'
    kind, _, data = str(root[2].get("src")).partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert b64decode(data).decode() == "<svg>\u00e9</svg>"


def test_in_words_it_says_all_of_it() -> None:
    assert repr(folded("one", Picture("<svg/>", "two\nthree"))) == "one\ntwo\nthree"


def test_an_error_inside_is_not_swallowed(capsys: pytest.CaptureFixture[str]) -> None:
    def failing() -> None:
        with folded():
            print("so far")
            print(1 / 0)

    with pytest.raises(ZeroDivisionError):
        failing()
    assert capsys.readouterr().out == "so far\n"
    print("and on")
    assert capsys.readouterr().out == "and on\n"
