"""Cheat sheets: everything fits on the page, both languages say the same things, the numbers are the engine's."""

from itertools import pairwise

import pytest

from compare.pictures.cheat_sheets import LANGUAGES, cheat_sheets, data
from compare.pictures.cheat_sheets.sheets import SHEETS
from compare.pictures.sheet import HIGH, WIDE, Text, width_of, wrapped
from compare.states.machines import machine

NAMES = ("kafka", "rocketmq", "side-by-side")


def left_of(text: Text) -> float:
    wide = width_of(text.written, text.size)
    return {"start": text.x, "middle": text.x - wide / 2, "end": text.x - wide}[text.anchor]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_everything_is_on_the_page_and_no_text_lies_on_another(language: str, name: str) -> None:
    texts = [shape for shape in SHEETS[name](LANGUAGES[language]).shapes if isinstance(shape, Text)]
    assert len(texts) > 80
    for text in texts:
        assert left_of(text) >= 0
        assert left_of(text) + width_of(text.written, text.size) <= WIDE
        assert 0 < text.y <= HIGH - 8
    rows: dict[float, list[Text]] = {}
    for text in texts:
        rows.setdefault(round(text.y, 1), []).append(text)
    for row in rows.values():
        row.sort(key=left_of)
        for one, other in pairwise(row):
            assert left_of(one) + width_of(one.written, one.size) <= left_of(other) + 1, (one, other)


def test_there_is_a_sheet_of_each_name() -> None:
    assert tuple(cheat_sheets()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_have_the_same_numbers_and_messages(name: str) -> None:
    def untranslated(language: str) -> list[str]:
        texts = [shape for shape in SHEETS[name](LANGUAGES[language]).shapes if isinstance(shape, Text)]
        return [text.written for text in texts if text.written.replace(".", "").isdigit() or text.anchor == "middle"]

    assert untranslated("en") == untranslated("zh")
    english, chinese = LANGUAGES["en"], LANGUAGES["zh"]
    for one, other in zip(english, chinese, strict=True):
        assert type(one) is type(other)
        if isinstance(one, tuple):
            assert len(one) == len(other)


def test_chinese_has_a_meaning_for_every_state_that_is_shown() -> None:
    shown = [("kafka", "group"), ("kafka", "consumer group"), ("rocketmq", "process queue")]
    states = {state for system, name in shown for state in machine(system, name).meanings}
    assert states <= set(LANGUAGES["zh"].meanings)


def test_the_figures_are_those_of_the_run() -> None:
    sheet = SHEETS["kafka"](LANGUAGES["en"])
    texts = [shape.written for shape in sheet.shapes if isinstance(shape, Text)]
    crash = data.outcomes("kafka:range")[data.CRASH]
    at = texts.index("kafka:range")
    assert texts[texts.index("a member crashes", at) + 1] == f"{crash['longest_gap_s']:.0f}"
    assert texts[texts.index("session.timeout.ms") + 1] == "45 s"
    assert texts[texts.index("sticky") + 1 : texts.index("sticky") + 3] == ["5 · 5 · 4", "0"]


def test_a_pdf_is_one_page_and_the_same_each_time() -> None:
    pytest.importorskip("reportlab")
    sheet = SHEETS["rocketmq"](LANGUAGES["zh"])
    written = sheet.pdf()
    assert written.startswith(b"%PDF")
    assert written.count(b"/Type /Page\n") + written.count(b"/Type /Page ") == 1
    assert sheet.pdf() == written


def test_lines_break_at_spaces_and_between_chinese_characters() -> None:
    assert wrapped("one two three", 30, 10) == ["one", "two", "three"]
    assert wrapped("成员加入，队列移动", 41, 10) == ["成员加", "入，队列", "移动"]
